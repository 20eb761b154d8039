package relay

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const tcpClose = 7 // TCP_CLOSE of linux/tcp.h's socket states

// descriptor is the socket of a descriptor. Whoever asks keeps it open meanwhile.
type descriptor struct {
	fd  int
	tcp bool
}

func (d descriptor) info() *unix.TCPInfo {
	if !d.tcp {
		return nil
	}
	info, err := unix.GetsockoptTCPInfo(d.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil
	}
	return info
}

func (d descriptor) dead() bool {
	info := d.info()
	return info != nil && info.State == tcpClose
}

// orderly asks with TCP_INQ, which adds to an answer of no bytes one for an end of
// stream in the receive queue's past.
func (d descriptor) orderly() (sent, known bool) {
	if !d.tcp {
		return false, false
	}
	if !d.dead() {
		return true, true
	}
	if unix.SetsockoptInt(d.fd, unix.IPPROTO_TCP, unix.TCP_INQ, 1) != nil {
		return false, false
	}
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(d.fd, b[:], oob, unix.MSG_DONTWAIT|unix.MSG_PEEK)
	if n != 0 || err != nil {
		return false, false
	}
	messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if m.Header.Level == unix.IPPROTO_TCP && m.Header.Type == unix.TCP_INQ && len(m.Data) >= 4 {
			sent, known = binary.NativeEndian.Uint32(m.Data) > 0, true
		}
	}
	return sent, known
}

func (d descriptor) pendingError() error {
	n, err := unix.GetsockoptInt(d.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || n == 0 {
		return nil
	}
	return unix.Errno(n)
}

func (d descriptor) unacknowledged() (n int, known bool) {
	if !d.tcp {
		return 0, true // what a Unix socket took is with its peer
	}
	n, _ = unix.IoctlGetInt(d.fd, unix.SIOCOUTQ)
	return n, true
}

func (d descriptor) window() (w window, known bool) {
	info := d.info()
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

func (d descriptor) setUserTimeout(t time.Duration) error {
	if !d.tcp {
		return nil
	}
	return unix.SetsockoptInt(d.fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(t.Milliseconds()))
}

// control calls f with c's descriptor; not at all when c is closed.
func control(c Conn, f func(d descriptor)) {
	_, tcp := c.(*net.TCPConn)
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f(descriptor{int(fd), tcp}) })
	}
}

func dead(c Conn) (is bool) {
	control(c, func(d descriptor) { is = d.dead() })
	return is
}

func orderly(c Conn) (sent, known bool) {
	control(c, func(d descriptor) { sent, known = d.orderly() })
	return sent, known
}

func pendingError(c Conn) (pending error) {
	control(c, func(d descriptor) { pending = d.pendingError() })
	return pending
}

func unacknowledged(c Conn) (n int, known bool) {
	control(c, func(d descriptor) { n, _ = d.unacknowledged() })
	return n, true
}

func windowOf(c Conn) (w window, known bool) {
	control(c, func(d descriptor) { w, known = d.window() })
	return w, known
}

func setUserTimeout(c Conn, t time.Duration) error {
	failed := net.ErrClosed // unless control gets to it
	control(c, func(d descriptor) { failed = d.setUserTimeout(t) })
	return failed
}

func splicer(dst, src Conn) (io.ReaderFrom, bool) {
	to, ok := dst.(*net.TCPConn)
	return to, ok
}
