//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// healthPage is an HTTP server whose answers follow a script: answer gets the number of the request, from 1.
type healthPage struct {
	addr     string
	requests atomic.Int64
	answer   atomic.Pointer[func(n int64) int]
}

func serveHealth(t *testing.T, answer func(n int64) int) *healthPage {
	t.Helper()
	return serveHealthAt(t, "127.0.0.1:0", answer)
}

func serveHealthAt(t *testing.T, addr string, answer func(n int64) int) *healthPage {
	t.Helper()
	h := &healthPage{}
	h.answer.Store(&answer)
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	server := &http.Server{ReadHeaderTimeout: parts.Patience, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader((*h.answer.Load())(h.requests.Add(1))) })}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return h
}

// awaitRequests waits until n more probes have been answered.
func (h *healthPage) awaitRequests(t *testing.T, n int64) {
	t.Helper()
	want := h.requests.Load() + n
	parts.Eventually(t, parts.Patience, fmt.Sprintf("%d more probes", n), func() bool { return h.requests.Load() >= want })
}

const httpCheck = "check: {type: http, path: /health, interval: 50ms, timeout: 1s, rise: 2, fall: 2}\n"

// C32
func TestSingleFailuresNeverTakeABackendDown(t *testing.T) {
	t.Parallel()
	h := serveHealth(t, func(n int64) int {
		if n%3 == 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	s, _ := start(t, httpCheck, h.addr)
	s.AwaitUp(t, "b1")
	h.awaitRequests(t, 30)
	if downs := s.Log.All(parts.Match{Msg: "backend down"}); len(downs) > 0 {
		t.Errorf("every third probe failing with fall 2 took it down: %s", downs[0].Raw)
	}
}

// C32
func TestFlappingCheckIsDownAfterFallAndUpAfterRise(t *testing.T) {
	t.Parallel()
	ok := func(int64) int { return http.StatusOK }
	sick := func(int64) int { return http.StatusServiceUnavailable }
	h := serveHealth(t, ok)
	spare := serveHealth(t, ok)
	s, _ := start(t, httpCheck, h.addr, spare.addr)
	s.AwaitUp(t, "b1", "b2")
	for range 3 {
		mark := s.Log.Len()
		h.answer.Store(&sick)
		r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down",
			Fields: parts.Fields{"backend": "b1", "source": "probe"}, After: mark})
		if r.Get("reason") == "" {
			t.Errorf("no reason: %s", r.Raw)
		}
		h.answer.Store(&ok)
		s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
	}
	if n := len(s.Log.All(parts.Match{Msg: "backend down"})); n != 3 {
		t.Errorf("%d transitions to down for 3 sick spells", n)
	}
}

// C34
func TestMuteBackendHoldsOneProbeAtATime(t *testing.T) {
	t.Parallel()
	mute := parts.Serve(t, func(c net.Conn) { parts.Ends(t, c, parts.Patience) })
	fine := serveHealth(t, func(int64) int { return http.StatusOK })
	s, _ := start(t, "check: {type: http, path: /, interval: 100ms, timeout: 300ms, fall: 2}", mute.Addr, fine.addr)
	s.AwaitUp(t, "b2")
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1"}})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); parts.Pause(20 * time.Millisecond) {
		one := func() bool { return parts.CountTo(t, s.Pid(), mute.Addr) <= 1 }
		if !parts.Within(100*time.Millisecond, one) { // a single look may see the last probe and the next
			t.Fatal("more than one probe of a backend at once")
		}
	}
	if downs := s.Log.All(parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b2"}}); len(downs) > 0 {
		t.Errorf("the other backend was taken down too: %s", downs[0].Raw)
	}
}

// sessionsByBackend opens n sessions and sorts them by who serves them.
func sessionsByBackend(t *testing.T, n int, addr string) map[string][]net.Conn {
	t.Helper()
	on := map[string][]net.Conn{}
	for range n {
		c := parts.Dial(t, addr)
		name, err := parts.Name(c)
		if err != nil {
			t.Fatal(err)
		}
		on[name] = append(on[name], c)
	}
	return on
}
