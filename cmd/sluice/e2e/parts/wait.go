//go:build linux

package parts

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Eventually polls ok every 10 ms, and fails the test if it has not become true within the given time.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(within, ok) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// Within polls ok every 10 ms and tells whether it became true in time.
func Within(within time.Duration, ok func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(within)
	defer end.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			return ok()
		}
	}
	return true
}

// Pause waits for d: for a peer whose slowness is the case, or the length of a measurement.
// It is never a wait for something to happen.
func Pause(d time.Duration) { <-time.After(d) }

// FreeAddr returns a loopback address whose port was free a moment ago. The port lies below the ephemeral range, so
// that no outgoing connection takes it meanwhile, and none to it can meet itself.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err == nil {
			defer ln.Close()
			return ln.Addr().String()
		}
	}
	t.Fatal("no free port between 10000 and 32000")
	return ""
}

// awaitListening waits until addr accepts connections, and fails the test if the process ends before.
func awaitListening(t testing.TB, p *Process, addr string) {
	t.Helper()
	ready := func() bool {
		if p.Ended() {
			return true
		}
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}
	Eventually(t, 2*Patience, p.Name+" listens on "+addr, ready)
	if p.Ended() {
		t.Fatalf("%s ended at its start:\n%s", p.Name, p.Output.Last(30))
	}
}
