package l4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Listen opens a listener for Serve on host:port or unix:/path. An empty host, or ::,
// is every address of both families, 0.0.0.0 every IPv4 address; port 0 takes a free one. The backlog is the
// system's maximum and multipath TCP is off. A Unix socket that nobody serves any
// more is replaced; one that is served is an error.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	network, addr := splitAddress(address)
	if strings.HasPrefix(addr, "0.0.0.0:") {
		network = "tcp4" // package net takes it for both families
	}
	lc := net.ListenConfig{KeepAlive: -1} // each session sets its own
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, network, addr)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && abandoned(addr) {
		if err := os.Remove(addr); err != nil {
			return nil, fmt.Errorf("l4: %w", err)
		}
		ln, err = lc.Listen(ctx, network, addr)
	}
	if err != nil {
		return nil, fmt.Errorf("l4: %w", withoutAddress(err))
	}
	return newListener(ln, addr), nil
}

// listener is what Listen returns. It tells when it is closed, so that an engine may
// have its socket.
type listener struct {
	socket
	closing sync.Once
	closed  chan struct{}

	file *socketFile // nil = none is removed with the listener

	mu        sync.Mutex      // guards the rest
	listening relay.Listening // the engine's part, once it has one
}

// socketFile is the file of a Unix socket, which goes with the last listener that has it.
type socketFile struct {
	path    string
	info    os.FileInfo
	holders atomic.Int32
}

// letGo leaves the file alone if another process has put its own in the place meanwhile.
func (f *socketFile) letGo() {
	if f == nil || f.holders.Add(-1) > 0 {
		return
	}
	if now, err := os.Lstat(f.path); err == nil && os.SameFile(now, f.info) {
		os.Remove(f.path)
	}
}

// socket is a listener of package net.
type socket interface {
	net.Listener
	syscall.Conn
	SetDeadline(time.Time) error
}

func newListener(ln net.Listener, address string) net.Listener {
	s, ok := ln.(socket)
	if !ok {
		return ln
	}
	l := &listener{socket: s, closed: make(chan struct{})}
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
		if info, err := os.Lstat(address); err == nil { // else an abstract name, or gone already
			l.file = &socketFile{path: address, info: info}
			l.file.holders.Store(1)
		}
	}
	return l
}

// Close closes this listener, and no other one on its socket.
func (l *listener) Close() error {
	err := l.socket.Close()
	l.closing.Do(func() {
		err = nil // an engine that accepts has closed package net's part before
		close(l.closed)
		l.mu.Lock() // Again may be about to share the file
		defer l.mu.Unlock()
		l.file.letGo()
	})
	return err
}

// Adopt returns a listener for Serve of one that others have opened, such as a service
// manager. The file of a Unix socket is theirs.
func Adopt(ln net.Listener) net.Listener { return newListener(ln, "") }

// withoutAddress takes package net's wrapping off: it names the address that the
// system was asked for, which is not always the one that the caller knows.
func withoutAddress(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// abandoned tells whether path is a socket that no process accepts on.
func abandoned(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
