package fault

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the clock that is the same in all processes and is never set.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return ts.Nano()
}

// arrived is how long ago, at least, the system received the last data of c. It counts in
// ticks of some milliseconds, so that one less may have passed. Zero if it does not say.
func arrived(c *net.TCPConn) time.Duration {
	var ago time.Duration
	_ = control(c, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			ago = time.Duration(info.Last_data_recv) * time.Millisecond
		}
		return err
	})
	var tick unix.Timespec
	_ = unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick) // it cannot fail
	return max(0, ago-time.Duration(tick.Nano()))
}

// finish closes a listener and returns the connections that wait to be accepted: closing
// alone would reset them. One whose handshake goes on in that very moment may still be.
func finish(ln *net.TCPListener) (last []*net.TCPConn, err error) {
	defer ln.Close()
	err = control(ln, func(fd int) error {
		for {
			switch c, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err {
			case nil:
				last = append(last, connection(c))
			case unix.EINTR, unix.ECONNABORTED:
			default: // none waits
				return unix.Shutdown(fd, unix.SHUT_RD)
			}
		}
	})
	return slices.DeleteFunc(last, func(c *net.TCPConn) bool { return c == nil }), err
}

// connection makes one of a socket; nil if there is no descriptor for it.
func connection(fd int) *net.TCPConn {
	file := os.NewFile(uintptr(fd), "")
	defer file.Close() // the connection has its own
	c, _ := net.FileConn(file)
	tcp, _ := c.(*net.TCPConn)
	return tcp
}

// deafen makes the system drop, silently, whatever comes for a socket: of a listener that
// is what begins connections, of a connection also what acknowledges. The filter accepts
// none of a packet's bytes.
func deafen(s syscall.Conn) error {
	none := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
	return control(s, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &none})
	})
}

// undeafen undoes deafen.
func undeafen(s syscall.Conn) error {
	return control(s, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
	})
}

func control(s syscall.Conn, f func(fd int) error) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// The signals by which a process is broken.
func terminate(pid int) error { return unix.Kill(pid, unix.SIGTERM) }
func stop(pid int) error      { return unix.Kill(pid, unix.SIGSTOP) }
func cont(pid int) error      { return unix.Kill(pid, unix.SIGCONT) }

// stopped tells whether a process stands still: the state in its stat file, behind the
// name in parentheses, which may hold anything.
func stopped(pid int) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	return bytes.HasPrefix(text[bytes.LastIndexByte(text, ')')+1:], []byte(" T ")), nil
}
