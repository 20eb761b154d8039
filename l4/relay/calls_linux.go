package relay

import (
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

// pollEvents asks for events without waiting.
func pollEvents(epoll int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

func count(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
