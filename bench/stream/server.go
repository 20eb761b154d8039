package stream

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Serve answers clients on ln until ctx ends; then it closes ln and every connection,
// waits for its goroutines and returns nil. An accept that fails before is returned.
func Serve(ctx context.Context, ln net.Listener) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			_ = ln.Close()
			return err
		}
		conns.Go(func() { serve(ctx, c) })
	}
}

// serve answers one client; its errors are the client's to notice.
func serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var kind [1]byte
	if _, err := io.ReadFull(c, kind[:]); err != nil {
		return
	}
	switch kind[0] {
	case download:
		_ = serveDownload(c)
	case upload:
		_ = serveUpload(c)
	case echo:
		serveEcho(c)
	}
}

// serveDownload sends blocks until a byte, or the end, comes from the client.
func serveDownload(c net.Conn) error {
	var stop atomic.Bool
	reader := make(chan struct{})
	go func() {
		defer close(reader)
		defer stop.Store(true)
		var b [1]byte
		_, _ = c.Read(b[:]) // whatever it is
	}()
	defer func() {
		_ = c.Close()
		<-reader
	}()
	w := newWriter()
	for !stop.Load() {
		if _, err := c.Write(w.blocks()); err != nil {
			return err
		}
	}
	_, err := c.Write(w.end())
	return err
}

// serveUpload checks blocks and answers with their number.
func serveUpload(c net.Conn) error {
	check, buf := newChecker(), make([]byte, batch*blockSize)
	for !check.ended {
		n, err := c.Read(buf)
		if wrong := check.feed(buf[:n]); wrong != nil {
			return wrong
		}
		if err != nil && !check.ended {
			return err
		}
	}
	var answer [8]byte
	binary.BigEndian.PutUint64(answer[:], check.next)
	_, err := c.Write(answer[:])
	return err
}

// serveEcho uses a small buffer, because thousands of clients are idle at once.
func serveEcho(c net.Conn) {
	buf := make([]byte, 1<<10)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
