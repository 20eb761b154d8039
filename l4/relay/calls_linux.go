package relay

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls never wait, so the scheduler need not hear of them. Each is made again
// when a signal interrupts it.

func recv(fd int32, b []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return count(n, errno)
		}
	}
}

func send(fd int32, b []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return count(n, errno)
		}
	}
}

// splice moves at most n bytes; one of the two is a pipe, the other a socket that
// does not block.
func splice(from, to int32, n int) (int, unix.Errno) {
	const flags = unix.SPLICE_F_MOVE | unix.SPLICE_F_NONBLOCK
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(n), flags)
		if errno != unix.EINTR {
			return count(n, errno)
		}
	}
}

func shutdownWrite(fd int32) {
	unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), unix.SHUT_WR, 0) // fails only if the peer has reset it
}

// closeNow closes a descriptor, with a reset if that is wanted and fd is a TCP socket's.
func closeNow(fd int32, reset bool) {
	if reset {
		resetLinger(fd)
	}
	unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// resetLinger makes the coming close of a TCP socket send a reset.
func resetLinger(fd int32) {
	unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// pollEvents waits for events for so many ms.
func pollEvents(epoll int, events []unix.EpollEvent, timeout int) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(timeout), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// accept takes a client off a listening socket's queue.
func accept(fd int32, peer *rawAddress) (int32, unix.Errno) {
	peer.any.Addr.Family = unix.AF_UNSPEC
	for {
		peer.len = unix.SizeofSockaddrAny
		n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&peer.any)),
			uintptr(unsafe.Pointer(&peer.len)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		if errno != unix.EINTR {
			return int32(n), errno
		}
	}
}

// newSocket makes a stream socket that does not block.
func newSocket(family uint16) (int32, unix.Errno) {
	const kind = unix.SOCK_STREAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(family), kind, 0)
	if errno != 0 {
		return none, errno
	}
	return int32(fd), 0
}

// connect returns EINPROGRESS if the peer has still to answer.
func connect(fd int32, to *rawAddress) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&to.any)), uintptr(to.len))
	if errno == unix.EINTR { // it goes on all the same
		errno = unix.EINPROGRESS
	}
	return errno
}

func nameOf(fd int32, a *rawAddress) unix.Errno { return askName(unix.SYS_GETSOCKNAME, fd, a) }

func peerOf(fd int32, a *rawAddress) unix.Errno { return askName(unix.SYS_GETPEERNAME, fd, a) }

func askName(call uintptr, fd int32, a *rawAddress) unix.Errno {
	a.len = unix.SizeofSockaddrAny
	_, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&a.any)), uintptr(unsafe.Pointer(&a.len)))
	return errno
}

// localAddress is invalid for what is no TCP socket.
func localAddress(fd int32) netip.AddrPort {
	var a rawAddress
	if nameOf(fd, &a) != 0 {
		return netip.AddrPort{}
	}
	return a.get()
}

func setOption(fd int32, level, option, value int) unix.Errno {
	v := int32(value)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option),
		uintptr(unsafe.Pointer(&v)), unsafe.Sizeof(v), 0)
	return errno
}

func epollControl(epoll, how int, fd int32, e *unix.EpollEvent) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(how), uintptr(fd), uintptr(unsafe.Pointer(e)), 0, 0)
	return errno
}

func count(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
