package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/stream"
)

// serve runs answer for every connection until the test ends, and returns the address.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				answer(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// serveStream runs the stream server until the test ends.
func serveStream(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stream.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// pongs answers every PING.
func pongs(c net.Conn) {
	request := make([]byte, len(Redis().Request))
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		if _, err := c.Write([]byte("+PONG\r\n")); err != nil {
			return
		}
	}
}

// pages answers one HTTP request on each connection, and waits for the client's end.
func pages(head, body string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
		}
		_, _ = io.WriteString(c, head+"\r\n\r\n"+body)
		_, _ = io.Copy(io.Discard, r)
	}
}

// until returns a context that ends when the tally has so many of either.
func until(t *testing.T, tally *Tally, done, failed int64) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	watcher := make(chan struct{})
	go func() {
		defer close(watcher)
		defer cancel()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && (tally.Done() < done || failures(tally) < failed) {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-watcher
	})
	return ctx
}

func failures(t *Tally) (sum int64) {
	for _, n := range t.Failures() {
		sum += n
	}
	return sum
}

// reset makes the close of c a reset.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}
