package l4

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// A reader may pause for as long as it likes, in a first flight too: the user timeout must
// not cut it, since it answers.
func TestAPausedReaderInTheFirstFlightIsNotCut(t *testing.T) {
	const size, timeout = 4 << 20, 500 * time.Millisecond
	b := backend(t, func(c relay.Conn) {
		c.(*net.TCPConn).SetReadBuffer(32 << 10)
		<-time.After(3 * timeout)
		n, err := io.Copy(io.Discard, c)
		fmt.Fprintf(c, "%d %s", n, kind(err))
	})
	cfg := replaying(2 * size)
	cfg.Limits.User = timeout
	r := serve(t, cfg, b.config("b1"))
	c := r.connect()
	go func() {
		io.WriteString(c, text(size))
		c.CloseWrite()
	}()
	expectDrain(t, c, fmt.Sprint(size, " eof"), "eof")
}

// What a client has said before it resets its connection must reach the backend, however
// late that reads, and then the reset must.
func TestAResetInTheFirstFlightComesAfterTheBytesBeforeIt(t *testing.T) {
	const size = 200 << 10
	for _, replay := range []int{size / 2, 1 << 20} {
		t.Run(fmt.Sprint("replay=", replay), func(t *testing.T) {
			reset, got := make(chan struct{}), make(chan string, 1)
			b := backend(t, func(c relay.Conn) {
				c.(*net.TCPConn).SetReadBuffer(32 << 10) // the rest waits in sluice's queue
				<-reset
				<-time.After(100 * time.Millisecond)
				n, end := 0, ""
				for piece := make([]byte, 8<<10); end == ""; {
					k, err := c.Read(piece)
					if n += k; err != nil {
						end = kind(err)
					}
				}
				got <- fmt.Sprint(n, " ", end)
			})
			r := serve(t, replaying(replay), b.config("b1"))
			c := r.connect()
			send(t, c, text(size))
			relay.LetThrough(c, patience)
			abort(c)
			close(reset)
			if s, want := result(t, "the backend", got), fmt.Sprint(size, " reset"); s != want {
				t.Errorf("the backend got %s, want %s", s, want)
			}
		})
	}
}
