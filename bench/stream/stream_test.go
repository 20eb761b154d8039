package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// serving runs a server until the test ends.
func serving(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// faking answers one connection in a way that no server does.
func faking(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.ReadFull(c, make([]byte, 1))
		answer(c)
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-ended
	})
	return ln.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// counter ends a context after so many bytes.
type counter struct {
	n, most int
	cancel  context.CancelFunc
}

func (c *counter) moved(n int) {
	if c.n += n; c.n >= c.most {
		c.cancel()
	}
}

func TestDataIsMovedUntilTheContextEnds(t *testing.T) {
	for name, move := range map[string]func(context.Context, net.Conn, func(int)) error{"download": Download, "upload": Upload} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := counter{most: 20 << 20, cancel: cancel}
			if err := move(ctx, dial(t, serving(t)), c.moved); err != nil {
				t.Fatal(err)
			}
			if c.n < c.most {
				t.Errorf("%d bytes were moved", c.n)
			}
		})
	}
}

func TestDataIsMovedThoughNobodyCounts(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Download(ended, dial(t, serving(t)), nil); err != nil {
		t.Error(err)
	}
	if err := Upload(ended, dial(t, serving(t)), nil); err != nil {
		t.Error(err)
	}
}

func TestEchoComesBack(t *testing.T) {
	c := dial(t, serving(t))
	if err := StartEcho(c); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 100, 1 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		if err := Echo(c, make([]byte, n)); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		stop()
		cancel()
	}
}

func TestADownloadThatIsCutIsNoEnd(t *testing.T) {
	addr := faking(t, func(c net.Conn) { _, _ = c.Write(newWriter().blocks()) })
	if err := Download(t.Context(), dial(t, addr), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestAWrongDownloadIsNoticed(t *testing.T) {
	addr := faking(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n")) })
	if err := Download(t.Context(), dial(t, addr), nil); !errors.Is(err, ErrWrong) {
		t.Errorf("%v", err)
	}
}

func TestAnUploadOfWhichTooLittleArrivedIsNoticed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	addr := faking(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, blockSize))
		_, _ = c.Write([]byte{0, 0, 0, 0, 0, 0, 0, 9})
	})
	if err := Upload(ctx, dial(t, addr), nil); !errors.Is(err, ErrWrong) {
		t.Errorf("%v", err)
	}
}

func TestAWrongEchoIsNoticed(t *testing.T) {
	addr := faking(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 3))
		_, _ = c.Write([]byte("abd"))
	})
	c := dial(t, addr)
	if err := StartEcho(c); err != nil {
		t.Fatal(err)
	}
	if err := Echo(c, []byte("abc")); !errors.Is(err, ErrWrong) {
		t.Errorf("%v", err)
	}
}

func TestAServerEndsWithItsContextWhateverClientsDo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln) }()
	for _, first := range []string{"", "D", "U", "E", "?"} { // they read and write no more
		c := dial(t, ln.Addr().String())
		if _, err := io.WriteString(c, first); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it still runs")
	}
}

func TestAServerWhoseListenerIsClosedSaysSo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestAClientThatAsksForNothingKnownIsSentAway(t *testing.T) {
	c := dial(t, serving(t))
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
