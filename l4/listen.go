package l4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
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
	if u, ok := ln.(*net.UnixListener); ok {
		return ownSocket(u, addr), nil
	}
	return ln, nil
}

// unixListener removes its socket's file when it is closed, unless another process has
// put its own in the place meanwhile.
type unixListener struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

func ownSocket(ln *net.UnixListener, path string) net.Listener {
	file, err := os.Lstat(path)
	if err != nil { // an abstract name, or gone already
		return ln
	}
	ln.SetUnlinkOnClose(false)
	return &unixListener{ln, path, file}
}

func (u *unixListener) Close() error {
	err := u.UnixListener.Close()
	if now, statErr := os.Lstat(u.path); err == nil && statErr == nil && os.SameFile(now, u.file) {
		os.Remove(u.path)
	}
	return err
}

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
