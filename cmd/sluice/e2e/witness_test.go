//go:build linux

package e2e

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// witnesses is how many well-behaved sessions a process under attack has: so many that, however they are spread, each
// of two loops has some, whose requests would be held up with it.
const witnesses = 8

// witness makes small requests on sessions of its own and on new ones, all the time, until it is stopped.
type witness struct {
	t       *testing.T
	addr    string
	stopped chan struct{}
	wg      sync.WaitGroup
	answers [witnesses + 1]atomic.Int64 // by session; the last one counts sessions that were new
	failed  atomic.Pointer[error]
}

// watch starts a witness at addr, behind which is an echo.
func watch(t *testing.T, addr string) *witness {
	t.Helper()
	w := &witness{t: t, addr: addr, stopped: make(chan struct{})}
	for i := range witnesses {
		c := parts.Dial(t, addr)
		parts.Echoes(t, c, "first")
		w.wg.Go(func() { w.until(i, func(text string) error { return ask(c, text) }); _ = c.Close() })
	}
	w.wg.Go(func() { w.until(witnesses, w.askAnew) })
	t.Cleanup(w.stop)
	return w
}

// until makes requests, at most one in 5 ms, until the witness is stopped or one fails.
func (w *witness) until(i int, request func(text string) error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-w.stopped:
			return
		case <-tick.C:
		}
		if err := request(strings.Repeat(fmt.Sprintf("%d;", n), 1+n%60)); err != nil {
			err = fmt.Errorf("witness %d, request %d: %w", i, n, err)
			w.failed.CompareAndSwap(nil, &err)
			return
		}
		w.answers[i].Add(1)
	}
}

func (w *witness) askAnew(text string) error {
	c, err := parts.TryDial("127.0.0.250", w.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return ask(c, text)
}

// ask makes one request, for whose answer it has patience.
func ask(c net.Conn, text string) error {
	_ = c.SetDeadline(time.Now().Add(parts.Patience))
	return parts.Roundtrip(c, text)
}

// answered waits until every session of the witness has got n more answers.
func (w *witness) answered(n int64) {
	w.t.Helper()
	var before [len(w.answers)]int64
	for i := range before {
		before[i] = w.answers[i].Load()
	}
	parts.Eventually(w.t, 4*parts.Patience, fmt.Sprintf("%d more answers on each session of the witness", n), func() bool {
		for i := range before {
			if w.answers[i].Load() < before[i]+n && w.failed.Load() == nil {
				return false
			}
		}
		return true
	})
	if err := w.failed.Load(); err != nil {
		w.t.Fatal(*err)
	}
}

// stop ends the witness's sessions.
func (w *witness) stop() {
	select {
	case <-w.stopped:
	default:
		close(w.stopped)
	}
	w.wg.Wait()
}
