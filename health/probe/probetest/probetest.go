package probetest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

// patience bounds what a test waits for.
const patience = 10 * time.Second

// Serve starts a backend that has each connection handled by handle, one goroutine each,
// and returns where it is. Connections are closed after handle.
func Serve(t testing.TB, handle func(net.Conn)) health.Endpoint {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			wg.Go(func() {
				defer c.Close()
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return health.Endpoint{Network: "tcp", Address: ln.Addr().String()}
}

// Says writes the parts one after the other, then reads to the end, or ends.
func Says(stay bool, parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		for _, part := range parts {
			io.WriteString(c, part)
		}
		if !stay {
			c.(*net.TCPConn).CloseWrite()
		}
		io.Copy(io.Discard, c)
	}
}

// Mute reads and says nothing.
func Mute(c net.Conn) { io.Copy(io.Discard, c) }

// Endless writes b again and again until it cannot any more.
func Endless(b string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, strings.Repeat(b, 1000)); err != nil {
				return
			}
		}
	}
}

// Probe has p probe once, within the given time.
func Probe(p health.Prober, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return p.Probe(ctx)
}

// Expect checks that a probe's error says what is wanted, "" being none, and that it names
// its step.
func Expect(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("failed: %v", err)
	case want != "" && err == nil:
		t.Errorf("passed, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("said %q, want %q", err, want)
	case err != nil && !errors.As(err, new(*health.Failure)):
		t.Errorf("%q names no step", err)
	}
}
