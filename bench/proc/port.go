package proc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Ports that are handed out: below the range the system dials from (32768 on), so
// that no outgoing connection takes one, and none to it can meet itself.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// FreePorts returns n different loopback ports on which nobody listened a moment ago.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range 100 + 10*n {
		if len(ports) == n {
			break
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		ln, err := net.Listen("tcp4", Loopback(port))
		if err != nil {
			continue
		}
		defer ln.Close() // held until all are found, so that they differ
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("proc: no %d free ports between %d and %d", n, firstPort, lastPort)
	}
	return ports, nil
}

// Loopback is the address of a port on 127.0.0.1.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// startTries is how often a program is started whose ports somebody else took between
// being found free and being bound.
const startTries = 5

// startWithin bounds how long a program may take to listen.
const startWithin = 10 * time.Second

// StartListening finds n free ports, starts what command returns for them, and waits
// until it listens on all. It tries again with others if somebody else takes one in
// that moment. The error is command's, Start's or AwaitListening's.
func StartListening(ctx context.Context, n int, command func(ports []int) (Command, error)) (*Process, error) {
	var err error
	for range startTries {
		var ports []int
		if ports, err = FreePorts(n); err != nil {
			return nil, err
		}
		var c Command
		if c, err = command(ports); err != nil {
			return nil, err
		}
		var p *Process
		if p, err = startOn(ctx, c, ports); err == nil {
			return p, nil
		}
		if !errors.Is(err, ErrEnded) || !anyTaken(ports) {
			break
		}
	}
	return nil, err
}

// startOn starts c and waits until it listens.
func startOn(ctx context.Context, c Command, ports []int) (*Process, error) {
	p, err := Start(c)
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(ports))
	for i, port := range ports {
		addrs[i] = Loopback(port)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := p.AwaitListening(ctx, addrs...); err != nil {
		p.Stop(0)
		return nil, err
	}
	return p, nil
}

// anyTaken tells whether somebody else listens on one of the ports.
func anyTaken(ports []int) bool {
	for _, port := range ports {
		ln, err := net.Listen("tcp4", Loopback(port))
		if err == nil {
			_ = ln.Close()
		} else if portTaken(err) {
			return true
		}
	}
	return false
}

// accepts tells whether a connection to addr succeeds.
func accepts(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
