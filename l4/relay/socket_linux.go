package relay

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const tcpClose = 7 // TCP_CLOSE of linux/tcp.h's socket states

func tcpInfo(c Conn) (info *unix.TCPInfo) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	control(t, func(fd int) { info, _ = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO) })
	return info
}

func control(c Conn, f func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}

func dead(c Conn) bool {
	info := tcpInfo(c)
	return info != nil && info.State == tcpClose
}

// orderly asks with TCP_INQ, which adds to an answer of no bytes one for an end of
// stream in the receive queue's past.
func orderly(c Conn) (sent, known bool) {
	if _, ok := c.(*net.TCPConn); !ok {
		return false, false
	}
	if !dead(c) {
		return true, true
	}
	control(c, func(fd int) {
		if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_INQ, 1) != nil {
			return
		}
		var b [1]byte
		oob := make([]byte, unix.CmsgSpace(4))
		n, oobn, _, _, err := unix.Recvmsg(fd, b[:], oob, unix.MSG_DONTWAIT|unix.MSG_PEEK)
		if n != 0 || err != nil {
			return
		}
		messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for _, m := range messages {
			if m.Header.Level == unix.IPPROTO_TCP && m.Header.Type == unix.TCP_INQ && len(m.Data) >= 4 {
				sent, known = binary.NativeEndian.Uint32(m.Data) > 0, true
			}
		}
	})
	return sent, known
}

func pendingError(c Conn) (pending error) {
	control(c, func(fd int) {
		if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
			pending = unix.Errno(n)
		}
	})
	return pending
}

func unacknowledged(c Conn) (n int, known bool) {
	if _, ok := c.(*net.TCPConn); !ok {
		return 0, true // what a Unix socket took is with its peer
	}
	control(c, func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	return n, true
}

func windowOf(c Conn) (w window, known bool) {
	info := tcpInfo(c)
	if info == nil {
		return window{}, false
	}
	return window{
		dead:       info.State == tcpClose,
		queued:     info.Unacked > 0 || info.Notsent_bytes > 0,
		acked:      info.Bytes_acked,
		closed:     info.Snd_wnd == 0 || info.Notsent_bytes > 0 && info.Unacked == 0,
		silent:     time.Duration(info.Last_ack_recv) * time.Millisecond,
		unanswered: int(info.Probes) + int(info.Retransmits),
	}, true
}

func setUserTimeout(c Conn, d time.Duration) error {
	if _, ok := c.(*net.TCPConn); !ok {
		return nil
	}
	failed := net.ErrClosed // unless control gets to it
	control(c, func(fd int) {
		failed = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	return failed
}

func splicer(dst, src Conn) (io.ReaderFrom, bool) {
	to, ok := dst.(*net.TCPConn)
	return to, ok
}
