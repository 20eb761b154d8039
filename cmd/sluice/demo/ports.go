package demo

import (
	"net"
	"strconv"
)

// Where things are, from the balancer's port on: the backends take the ports right
// after it.
const (
	controlOffset = 9

	// usualAdminPort is where the commands look for a running sluice.
	usualAdminPort = 9090

	// A port that is taken is replaced by the one a step further, so that nobody takes
	// the place another prefers, and all stay below the range the system dials from: a
	// killed backend's port must not become some connection's own.
	portStep  = 10
	portSteps = 20
)

// firstFree calls try with the preferred port, then with others, the last being zero
// for any, until it succeeds. It returns the last error. Which error is not looked at,
// since each system has its own for a port that is taken.
func firstFree(preferred int, try func(port int) error) error {
	var err error
	for step := range portSteps {
		port := preferred + step*portStep
		if port > 65535 {
			break
		}
		if err = try(port); err == nil {
			return nil
		}
	}
	if err = try(0); err == nil {
		return nil
	}
	return err
}

// listenNear listens on loopback, on the preferred port or the next best.
func listenNear(preferred int) (ln net.Listener, err error) {
	err = firstFree(preferred, func(port int) (err error) {
		ln, err = net.Listen("tcp", loopback(port))
		return err
	})
	return ln, err
}

// freeNear returns a loopback address that nobody listens on at the moment, on the preferred
// port or the next best.
func freeNear(preferred int) (string, error) {
	ln, err := listenNear(preferred)
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
