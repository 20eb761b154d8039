//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// exchange is one HTTP request on a connection of its own.
type exchange struct {
	begin time.Time
	took  time.Duration
	local string // the client's address
	body  string
	err   error
}

// load makes perSecond new connections a second for d on a fixed schedule, however long each takes.
func load(addr string, perSecond int, d time.Duration) []exchange {
	list := make([]exchange, perSecond*int(d/time.Second))
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	var wg sync.WaitGroup
	for i := range list {
		<-tick.C
		wg.Go(func() {
			e := &list[i]
			e.begin = time.Now()
			e.body, e.local, e.err = parts.HTTPGet("", addr)
			e.took = time.Since(e.begin)
		})
	}
	wg.Wait()
	return list
}

// Serial: it offers load and judges delays.
func TestKilledNginxCostsNoClientItsConnection(t *testing.T) {
	var backends []*parts.Nginx
	var addrs []string
	for i := range 3 {
		n := parts.NginxHTTP(t, fmt.Sprintf("b%d", i+1), false)
		backends, addrs = append(backends, n), append(addrs, n.Addr)
	}
	s, addr := start(t, "check: {type: http, path: /, interval: 500ms, timeout: 500ms}", addrs...)
	s.AwaitUp(t, "b1", "b2", "b3")
	killed := make(chan time.Time, 1)
	timer := time.AfterFunc(3*time.Second, func() {
		backends[1].Kill()
		killed <- time.Now()
	})
	defer timer.Stop()
	list := load(addr, 200, 6*time.Second)
	judge(t, s, list, <-killed)
	mark := s.Log.Len()
	backends[1].Start(t)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b2"}, After: mark})
	again := 0
	for range 60 {
		if body, _, err := parts.HTTPGet("", addr); err != nil {
			t.Errorf("after the restart: %v", err)
		} else if strings.HasPrefix(body, "b2 ") {
			again++
		}
	}
	if again < 10 {
		t.Errorf("the restarted backend served %d of 60 clients, want about 20", again)
	}
}

// judge fails the test for every exchange that failed, except those that ran on b2 when it was killed.
func judge(t *testing.T, s *parts.Sluice, list []exchange, killed time.Time) {
	t.Helper()
	served, running := map[string]int{}, 0
	for _, e := range list {
		switch {
		case e.err == nil:
			served[strings.Fields(e.body)[0]]++
			if e.took > 2*time.Second {
				t.Errorf("an exchange took %v", e.took)
			}
		case e.begin.Before(killed) && wasOn(t, s, e, "b2"):
			running++
		default:
			t.Errorf("client %s, %v after the kill: %v", e.local, e.begin.Sub(killed), e.err)
		}
	}
	t.Logf("served %v; %d exchanges were running on the killed backend", served, running)
	if running > 20 {
		t.Errorf("%d exchanges were cut at the kill, more than can have been running", running)
	}
	for _, b := range []string{"b1", "b2", "b3"} {
		if served[b] < 100 {
			t.Errorf("%s served only %d of %d", b, served[b], len(list))
		}
	}
}

// wasOn tells by the session's record whether the client was connected to the backend. A client whose connect already
// reported the reset does not know its address.
func wasOn(t *testing.T, s *parts.Sluice, e exchange, backend string) bool {
	t.Helper()
	if e.local == "" {
		return errors.Is(e.err, syscall.ECONNRESET)
	}
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": e.local}})
	return r.Get("backend") == backend
}

// C30: a backend that answers to SIGSTOP with silence: its kernel still accepts, only the HTTP check can tell.
func TestFrozenNginxIsTakenOut(t *testing.T) {
	frozen, fine := parts.NginxHTTP(t, "b1", false), parts.NginxHTTP(t, "b2", false)
	s, addr := start(t, "check: {type: http, path: /, interval: 500ms, timeout: 300ms, fall: 2, rise: 2}",
		frozen.Addr, fine.Addr)
	s.AwaitUp(t, "b1", "b2")
	begin := time.Now()
	frozen.Signal(syscall.SIGSTOP)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1", "source": "probe"}})
	elapsed(t, "noticing the frozen backend", begin, 0, 2*(550+300)*time.Millisecond+500*time.Millisecond)
	for range 20 {
		body, _, err := parts.HTTPGet("", addr)
		if err != nil || !strings.HasPrefix(body, "b2 ") {
			t.Fatalf("got %q (%v), want b2 only", body, err)
		}
	}
	mark := s.Log.Len()
	frozen.Signal(syscall.SIGCONT)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
}
