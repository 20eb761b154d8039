//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C79
func TestRefusingBackendCostsNoClientItsConnection(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	for name, keys := range map[string]string{
		"no probes": noCheck, "never ejected": noCheck + "passive: {failures: 0}",
		"before the second probe": "check: {type: tcp, interval: 60s}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, addr := start(t, keys, parts.RefusedAddr(t), addrs[0], addrs[1])
			got := tally(t, 100, addr)
			if got["b1"] == 0 || got["b2"] == 0 { // their names count from 1, their places from 2
				t.Errorf("the two healthy backends served %v of 100", got)
			}
		})
	}
}

// C55. Serial: it judges delays.
func TestSilentBackendCostsADialTimeout(t *testing.T) {
	b := parts.Serve(t, parts.Greet("b2"))
	s, addr := start(t, noCheck+"connect: {timeout: 1s}", parts.Blackhole(t), b.Addr)
	before := parts.CountFDs(t, s.Pid()).Total
	var slow atomic.Int64
	each(t, 500, func(int) error {
		begin := time.Now()
		name, err := parts.Who("", addr)
		d := time.Since(begin)
		if d > 500*time.Millisecond {
			slow.Add(1)
		}
		if err != nil || name != "b2" || d > 1800*time.Millisecond {
			return fmt.Errorf("client got %q (%v) after %v, want b2 within 1.2 s", name, err, d)
		}
		return nil
	})
	if n := slow.Load(); n > 300 {
		t.Errorf("%d of 500 clients waited for the silent backend, want about half", n)
	}
	parts.Eventually(t, 3*time.Second, "the descriptors are back", func() bool {
		return parts.CountFDs(t, s.Pid()).Total <= before+2
	})
	begin := time.Now()
	for range 20 { // the silent one is ejected by now
		whoNow(t, "", addr)
	}
	elapsed(t, "20 clients after the ejection", begin, 0, time.Second)
}

func TestBytesSentDuringASlowDialAreKept(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	_, addr := start(t, noCheck+"balance: first\nconnect: {timeout: 700ms}", parts.Blackhole(t), b.Addr)
	c := parts.Dial(t, addr)
	text := strings.Repeat("early bytes ", 2000)
	parts.Write(t, c, text)
	_ = c.CloseWrite()
	parts.Expect(t, c, text)
	if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != 0 {
		t.Errorf("%v after %d more bytes, want the end of the stream", end, n)
	}
}

func TestEjectedBackendIsTriedAgain(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 2)
	list[0].Close()
	_, addr := start(t, noCheck+"passive: {failures: 1, eject: 1s}", addrs...)
	if got := tally(t, 10, addr); got["b2"] != 10 {
		t.Errorf("got %v, want b2 only", got)
	}
	list[0].Reopen(t)
	parts.Eventually(t, 5*time.Second, "the ejection of b1 ends", func() bool { return whoNow(t, "", addr) == "b1" })
}

func TestLastUsableBackendIsNeverEjected(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 1)
	_, addr := start(t, noCheck+"passive: {failures: 1, eject: 60s}", addrs...)
	whoNow(t, "", addr)
	list[0].Close()
	for range 5 {
		parts.Refused(t, "", addr, time.Second)
	}
	list[0].Reopen(t)
	begin := time.Now()
	whoNow(t, "", addr)
	elapsed(t, "serving again", begin, 0, time.Second)
}

// C81
func TestRequestReadByAResettingBackendIsNeverRepeated(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{} // request → backend
	record := func(t *testing.T, backend, request string) {
		mu.Lock()
		defer mu.Unlock()
		if other, twice := seen[request]; twice && request != "" {
			t.Errorf("request %s reached both %s and %s", request, other, backend)
		}
		seen[request] = backend
	}
	b1 := parts.Serve(t, func(c net.Conn) {
		buf := make([]byte, 16)
		n, _ := c.Read(buf)
		record(t, "b1", string(buf[:n]))
		parts.Reset(c)
	})
	b2 := parts.Serve(t, func(c net.Conn) {
		buf := make([]byte, 16)
		n, _ := io.ReadFull(c, buf)
		record(t, "b2", string(buf[:n]))
		_, _ = c.Write(buf[:n])
	})
	_, addr := start(t, noCheck, b1.Addr, b2.Addr)
	var served, reset atomic.Int64
	each(t, 50, func(i int) error {
		c, err := parts.TryDial("", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if parts.Roundtrip(c, fmt.Sprintf("request %08d", i)) == nil {
			served.Add(1)
		} else {
			reset.Add(1)
		}
		return nil
	})
	if served.Load() == 0 || reset.Load() == 0 {
		t.Errorf("%d served and %d reset, want some of both", served.Load(), reset.Load())
	}
}

// C81
func TestBackendThatResetsAtOnceIsPassedOn(t *testing.T) {
	t.Parallel()
	b1 := parts.Serve(t, parts.Reset)
	_, addr := start(t, noCheck, b1.Addr)
	for range 10 {
		c, err := parts.TryDial("", addr)
		if errors.Is(err, syscall.ECONNRESET) {
			continue // so early that the connect reports it
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if end := parts.Ends(t, c, 500*time.Millisecond); end != parts.EndReset {
			t.Errorf("a silent client of a resetting backend saw %v, want a reset", end)
		}
	}
}

// C41
func TestAllBackendsDownRefusesAtOnceAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	s, addr := start(t, fastCheck, parts.RefusedAddr(t), parts.RefusedAddr(t))
	s.Log.Await(t, parts.Patience, 2, parts.Match{Msg: "backend down"})
	for range 20 {
		begin := time.Now()
		parts.Refused(t, "", addr, time.Second)
		elapsed(t, "the refusal", begin, 0, 300*time.Millisecond)
	}
	s.Log.Await(t, time.Second, 1, parts.Match{Msg: "no usable backend"})
	if n := len(s.Log.All(parts.Match{Msg: "no usable backend"})); n != 1 {
		t.Errorf("no usable backend was logged %d times for 20 clients, want once", n)
	}
}

func TestNoUsableBackendIsSaidAgainAfterARecovery(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s, addr := start(t, fastCheck, b.Addr)
	s.AwaitUp(t, "b1")
	for round := 1; round <= 2; round++ {
		mark := s.Log.Len()
		b.Close()
		s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", After: mark})
		parts.Refused(t, "", addr, time.Second)
		s.Log.Await(t, time.Second, round, parts.Match{Msg: "no usable backend"})
		mark = s.Log.Len()
		b.Reopen(t)
		s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", After: mark})
		whoNow(t, "", addr)
	}
}

func TestDeadBackendIsReportedOnceWithItsReason(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 2)
	s, addr := start(t, fastCheck, addrs...)
	s.AwaitUp(t, "b1", "b2")
	list[0].Close()
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{
		"service": "s", "backend": "b1", "address": addrs[0], "source": "*", "reason": "*", "from": "*",
		"sessions": "*", "usable": "1", "total": "2"}})
	for range 20 {
		if got := whoNow(t, "", addr); got != "b2" {
			t.Errorf("got %s after %s", got, r.Raw)
		}
	}
	parts.Pause(time.Second) // ten more probes
	if n := len(s.Log.All(parts.Match{Msg: "backend down"})); n != 1 {
		t.Errorf("one death was logged %d times", n)
	}
	mark := s.Log.Len()
	list[0].Reopen(t)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
	if got := tally(t, 20, addr); got["b1"] != 10 {
		t.Errorf("after the return: %v, want 10 each", got)
	}
}

// C36
func TestNoClientIsRefusedWhileTheFirstProbesRun(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b2"))
	_, addr := start(t, "check: {type: tcp, interval: 5s}", parts.RefusedAddr(t), b.Addr)
	if got := tally(t, 50, addr); got["b2"] != 50 {
		t.Errorf("the live backend served %v of the first 50", got)
	}
}

// C08: a client that is refused must not take it for an answer. All backends fail after the client has been accepted.
func TestEveryBackendIsTriedOnceBeforeAClientIsRefused(t *testing.T) {
	t.Parallel()
	s, addr := start(t, noCheck, parts.RefusedAddr(t), parts.RefusedAddr(t), parts.RefusedAddr(t))
	parts.Refused(t, "", addr, time.Second)
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session"})
	if got := r.Get("attempts"); got != "3" {
		t.Errorf("%s attempts, want each of the three backends tried once: %s", got, r.Raw)
	}
}

// A burst over a listener that closes half way: nobody may hang.
func TestBurstDuringADeathEndsForEveryClient(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 3)
	s, addr := start(t, noCheck, addrs...)
	each(t, 300, func(i int) error {
		if i == 100 {
			list[0].Close()
		}
		_, err := parts.Who("", addr)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return fmt.Errorf("client %d hangs", i)
		}
		return nil
	})
	for _, r := range s.Log.All(parts.Match{Msg: "session"}) {
		if r.Get("backend") != "b1" && !strings.Contains(r.Raw, `"why":"eof"`) {
			t.Errorf("lost although its backend lives: %s", r.Raw)
		}
	}
}

// C81: who accepts and resets again and again is taken out.
func TestBackendThatResetsEverySessionIsEjected(t *testing.T) {
	t.Parallel()
	late := func(c net.Conn) { // so that it is not the dial that sees it
		parts.Pause(10 * time.Millisecond)
		parts.Reset(c)
	}
	b1, b2 := parts.Serve(t, late), parts.Serve(t, parts.Greet("b2"))
	s, addr := start(t, noCheck, b1.Addr, b2.Addr)
	for range 30 {
		_, _ = parts.Who("", addr)
	}
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1", "source": "dial"}})
	if !strings.Contains(r.Get("reason"), "at once") {
		t.Errorf("the reason is not that it ends sessions at once: %s", r.Raw)
	}
	for range 10 {
		if name := whoNow(t, "", addr); name != "b2" {
			t.Errorf("%s served", name)
		}
	}
}
