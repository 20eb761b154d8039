package l4

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// moody reads a random part of what a client says first, and then resets, ends or answers
// as an echo does; it never dies once it has answered.
func moody(c relay.Conn) {
	first := make([]byte, 1+rand.IntN(300))
	n, err := c.Read(first)
	if err != nil {
		return
	}
	switch rand.IntN(3) {
	case 0:
		abort(c)
		return
	case 1:
		c.CloseWrite()
		io.Copy(io.Discard, c)
		return
	}
	c.Write(first[:n])
	echo(c)
}

// Whatever its backends do before their first byte, a client gets back what it said, whole
// and once, as long as one of them answers.
func TestFirstFlightsOverMoodyBackendsLoseNoByte(t *testing.T) {
	const kept = 1 << 10
	r := serve(t, Config{Connect: ConnectConfig{Replay: kept, HedgeAfter: 20 * time.Millisecond}},
		backend(t, moody).config("m1"), backend(t, moody).config("m2"), backend(t, echo).config("sane"))
	var moved atomic.Int64
	parallel(8, func(i int) {
		for n := range 60 {
			said := text(1 + rand.IntN(kept))
			c := r.connect()
			go func() {
				for rest := said; rest != ""; {
					k := 1 + rand.IntN(len(rest))
					if _, err := io.WriteString(c, rest[:k]); err != nil {
						return
					}
					rest = rest[k:]
				}
				if n%2 == 0 {
					c.CloseWrite()
				}
			}()
			got := make([]byte, len(said))
			if k, err := io.ReadFull(c, got); err != nil || string(got) != said {
				// An end in order after the client's own is an answer of no bytes.
				if n%2 != 0 || k != 0 || err != io.EOF {
					t.Errorf("client %d.%d: %d bytes of %d (%v), equal: %v", i, n, k, len(said), err, strings.HasPrefix(said, string(got[:k])))
				}
			} else {
				moved.Add(1)
			}
			c.Close()
		}
	})
	if moved.Load() < 200 {
		t.Error(fmt.Sprint(moved.Load(), " clients were served"))
	}
}
