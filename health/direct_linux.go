package health

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"time"
)

const haveDirect = true

// sockaddr is an address as the system takes it, and its family.
func sockaddr(addr netip.AddrPort) (syscall.Sockaddr, int) {
	if addr.Addr().Is4() {
		return &syscall.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}, syscall.AF_INET
	}
	return &syscall.SockaddrInet6{Addr: addr.Addr().As16(), Port: int(addr.Port())}, syscall.AF_INET6
}

// connect returns a connection that is not one to itself.
func (d *direct) connect(ctx context.Context) (fd int, err error) {
	sa, family := sockaddr(d.addr)
	fd, err = syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, syscall.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	// The handshake's last packet goes with our end of stream, which follows at once. If this
	// fails there is one packet more.
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0)
	if err = tryConnect(fd, sa); pending(err) {
		// On loopback the answer is there by the end of the call that asked for it: the second
		// one finds it.
		if err = tryConnect(fd, sa); pending(err) {
			fd, err = await(ctx, fd, sa)
		}
	}
	if err == nil && d.isPeer(fd) {
		err = errItself
		// A close in order would leave the backend's port in TIME_WAIT. If this fails, such a
		// close is still right.
		_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	}
	if err != nil {
		if fd >= 0 {
			closeFD(fd)
		}
		return -1, err
	}
	return fd, nil
}

// tryConnect connects, or asks what has become of that.
func tryConnect(fd int, sa syscall.Sockaddr) error {
	for {
		switch err := syscall.Connect(fd, sa); err {
		case syscall.EINTR:
		case nil, syscall.EISCONN:
			return nil
		default:
			return os.NewSyscallError("connect", err)
		}
	}
}

// pending tells whether a connection is being made.
func pending(err error) bool {
	return errors.Is(err, syscall.EINPROGRESS) || errors.Is(err, syscall.EALREADY)
}

// await waits for a connection that is being made, in the runtime's poller. It returns a
// descriptor that is the caller's, or -1.
func await(ctx context.Context, fd int, sa syscall.Sockaddr) (int, error) {
	f := os.NewFile(uintptr(fd), "probe")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	defer context.AfterFunc(ctx, func() { f.SetDeadline(time.Unix(1, 0)) })()
	connected := -1
	if e := raw.Write(func(fd uintptr) bool {
		if err = tryConnect(int(fd), sa); pending(err) {
			return false
		}
		if err == nil {
			connected, err = duplicate(fd) // f closes its own
		}
		return true
	}); e != nil {
		return -1, e
	}
	return connected, err
}

func duplicate(fd uintptr) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("fcntl", errno)
	}
	return int(n), nil
}

// isPeer tells whether a connection is its own peer.
func (d *direct) isPeer(fd int) bool {
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return false
	}
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return d.addr == netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *syscall.SockaddrInet6:
		return d.addr == netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return false
}

// endStream ends our direction, and tells whether the connection is still there.
func endStream(fd int) bool {
	if syscall.Shutdown(fd, syscall.SHUT_WR) != nil {
		closeFD(fd)
		return false
	}
	return true
}

func closeFD(fd int) { _ = syscall.Close(fd) } // after which it is gone, whatever it returns

// take reads what is there, up to left bytes, and tells whether no more is to come, or wanted.
func take(fd int, left *int) (ended bool) {
	var b [1 << 10]byte
	for *left > 0 {
		n, err := syscall.Read(fd, b[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		case err != nil || n == 0:
			return true
		}
		*left -= n
	}
	return true
}
