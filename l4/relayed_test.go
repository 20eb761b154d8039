package l4

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

var sizes = []int{0, 1, 1000, 4095, 4096, 4097, 64 << 10, 1<<20 - 3, 1 << 20}

// text is n bytes in step with no buffer.
func text(n int) string { return strings.Repeat("0123456789abc", n/13+1)[:n] }

// C01: the client's end of stream does not cost it the answer.
func TestBytesAndEndsOfStreamComeThrough(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		cfg := Config{}
		header := ""
		if proxied {
			cfg.Proxy, header = trustLoopback, line4
		}
		r := serve(t, cfg, backend(t, func(c relay.Conn) {
			b, _ := io.ReadAll(c) // to the end, before a byte is sent
			c.Write(b)
		}).config("b"))
		for _, size := range sizes {
			t.Run(fmt.Sprintf("proxy %v/%d", proxied, size), func(t *testing.T) {
				want := text(size)
				c := r.connect()
				send(t, c, header+want)
				c.CloseWrite()
				if got, end := drain(c); got != want || end != "eof" {
					t.Errorf("%d bytes came back, then %s", len(got), end)
				}
			})
		}
	}
}

// C03: the backend's end of stream does not end the client's upload.
func TestAnUploadGoesOnAfterTheBackendsEnd(t *testing.T) {
	for _, size := range sizes {
		got := make(chan int, 1)
		r := serve(t, Config{}, backend(t, func(c relay.Conn) {
			c.Write([]byte("hello"))
			c.CloseWrite()
			b, err := io.ReadAll(c)
			if err != nil { // an orderly end is not to become a reset
				t.Errorf("the upload ended with %v", err)
			}
			got <- len(b)
		}).config("b"))
		c := r.connect()
		expectDrain(t, c, "hello", "eof")
		send(t, c, text(size))
		c.CloseWrite()
		if n := result(t, "the upload", got); n != size {
			t.Errorf("%d bytes of %d", n, size)
		}
	}
}

// C63: nothing waits for the client's first byte.
func TestABackendMaySpeakFirst(t *testing.T) {
	greeting := text(78)
	r := serve(t, Config{}, backend(t, says(greeting)).config("b"))
	c := r.connect()
	expectRead(t, c, greeting)
	c.CloseWrite()
	expectDrain(t, c, "", "eof")
}

// C07, C08: a reset comes through as one, after the bytes before it.
func TestABackendsResetComesAfterItsBytes(t *testing.T) {
	for _, size := range []int{1, 1000, 64 << 10} {
		r := serve(t, Config{}, backend(t, func(c relay.Conn) {
			io.WriteString(c, text(size))
			read(t, c, 1) // the client has it all
			abort(c)
		}).config("b"))
		c := r.connect()
		if got := read(t, c, size); got != text(size) {
			t.Errorf("%d bytes came", len(got))
		}
		send(t, c, "x")
		expectReset(t, c)
	}
}

// A client whose bytes and end of stream are there before its backend is.
func TestOneShotClients(t *testing.T) {
	r := serve(t, Config{}, append(echoes(t, 2), refusing(t, "dead"))...)
	parallel(8, func(i int) {
		for n := range 25 {
			want := text(i*1000 + n)
			c, err := dialer("").Dial("tcp", r.address)
			if err != nil {
				t.Error(err)
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			io.WriteString(c, want)
			c.(relay.Conn).CloseWrite()
			if got, end := drain(c); got != want || end != "eof" {
				t.Errorf("%d bytes of %d came back, then %s", len(got), len(want), end)
			}
			c.Close()
		}
	})
	r.awaitEnded(relay.EOF, 200)
}

// C10: sessions that end in every way leave nothing; the helper checks the counts,
// leaktest the descriptors.
func TestSessionsThatEndInEveryWayLeaveNothing(t *testing.T) {
	shy := backend(t, func(c relay.Conn) { read(t, c, 1); c.Write([]byte("x")) })
	rude := backend(t, func(c relay.Conn) { read(t, c, 1); abort(c) })
	r := serve(t, Config{}, append(echoes(t, 1), shy.config("shy"), rude.config("rude"), refusing(t, "dead"))...)
	parallel(6, func(i int) {
		for n := range 30 {
			c, err := dialer("").Dial("tcp", r.address)
			if err != nil {
				t.Error(err)
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			send(t, c, "x")
			switch (i + n) % 4 {
			case 0:
				c.(relay.Conn).CloseWrite()
				drain(c)
			case 1:
				abort(c)
			case 2:
				c.Read(make([]byte, 1))
			}
			c.Close()
		}
	})
	r.awaitActive(0)
}
