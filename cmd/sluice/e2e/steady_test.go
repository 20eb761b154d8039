//go:build linux

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// adminKey gives sluice an admin address.
const adminKey = "admin: {listen: 127.0.0.1:0}\n"

// startAdmin runs one service with an admin address. head is what stands before it in the file.
func startAdmin(t testing.TB, head, keys string, backends ...string) (*parts.Sluice, *parts.Admin, string) {
	t.Helper()
	s := run(t, adminKey+head+service(keys, backends...))
	return s, s.Admin(t), s.Addr(t, "s")
}

// steady are clients that go on with what they do, all the time, until they are stopped; each failure is an error of
// the test.
type steady struct {
	t       *testing.T
	stopped chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
	done    atomic.Int64 // that went well
	failed  atomic.Int64
}

func newSteady(t *testing.T) *steady {
	s := &steady{t: t, stopped: make(chan struct{})}
	t.Cleanup(func() { s.stop() })
	return s
}

// clients has n clients do one thing again and again, at most once in 15 ms each.
func (s *steady) clients(n int, what string, do func() error) {
	for i := range n {
		s.wg.Go(func() {
			tick := time.NewTicker(15 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-s.stopped:
					return
				case <-tick.C:
				}
				if err := do(); err == nil {
					s.done.Add(1)
				} else if s.failed.Add(1) <= 10 { // a few tell as much as all
					s.t.Errorf("%s %d at %s: %v", what, i, time.Now().Format("15:04:05.000"), err)
				}
			}
		})
	}
}

// more waits until n more things have gone well.
func (s *steady) more(n int64) {
	s.t.Helper()
	want := s.done.Load() + n
	parts.Eventually(s.t, parts.Patience, fmt.Sprintf("%d more requests", n), func() bool { return s.done.Load() >= want })
}

// stop ends the clients and returns how often things went well.
func (s *steady) stop() int64 {
	s.once.Do(func() { close(s.stopped) })
	s.wg.Wait()
	if n := s.failed.Load(); n > 0 {
		s.t.Errorf("%d of %d requests failed", n, n+s.done.Load())
	}
	return s.done.Load()
}

// exchangeAnew asks a Greet backend on a connection of its own.
func exchangeAnew(addr string) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := parts.Name(c); err != nil {
		return err
	}
	return parts.Roundtrip(c, "a few words")
}

// keepAlive is an HTTP client that keeps its connection until the server says that it closes it.
type keepAlive struct {
	addr   string
	conn   net.Conn
	reader *bufio.Reader
	opened int
}

// ask makes one request. Unlike http.Client it never repeats one.
func (k *keepAlive) ask() error {
	if k.conn == nil {
		c, err := parts.TryDial("", k.addr)
		if err != nil {
			return err
		}
		k.conn, k.reader = c, bufio.NewReader(c)
		k.opened++
	}
	_ = k.conn.SetDeadline(time.Now().Add(parts.Patience))
	if _, err := fmt.Fprintf(k.conn, "GET / HTTP/1.1\r\nHost: e2e\r\n\r\n"); err != nil {
		return errors.Join(err, k.close())
	}
	res, err := http.ReadResponse(k.reader, nil)
	if err != nil {
		return errors.Join(err, k.close())
	}
	_ = res.Body.Close() // reads what is left
	if res.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("status %d", res.StatusCode), k.close())
	}
	if res.Close {
		return k.close()
	}
	return nil
}

func (k *keepAlive) close() error {
	err := k.conn.Close()
	k.conn = nil
	return err
}

// dialGreeted is a session with a Greet backend that has greeted.
func dialGreeted(t *testing.T, addr string) net.Conn {
	t.Helper()
	c := parts.Dial(t, addr)
	if _, err := parts.Name(c); err != nil {
		t.Fatal(err)
	}
	return c
}
