package relay

import (
	"fmt"
	"io"
	"testing"
)

// A reset that follows an end of stream cannot be read, and the other end writes
// nothing that would fail: that the system knows it is all there is.
func TestAResetAfterAnOrderlyEndReachesAQuietPeer(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		for _, size := range []int64{0, 1000, 1 << 20} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				t.Parallel()
				l := start(t, e, setup{})
				s := l.side(who)
				sent := async(func() error {
					defer s.near.CloseWrite()
					return flowOf(s.dir).send(s.near, 0, size, 100_000)
				})
				expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 50_000), seen{size, "eof"})
				if err := result(t, "the sender", sent); err != nil {
					t.Fatal(err)
				}
				paced(longestTick*5/4, 1, func() {}) // a deadline of the bulk transfer has passed
				resetClose(s.near)
				eventually(t, "the reset", func() bool { return dead(s.far) })
				if k := kind(pendingError(s.far)); k != "reset" && k != "pipe" {
					t.Errorf("the %v's connection is over with %q", s.other, k)
				}
				l.expectEnd(t, End{who, Reset})
			})
		}
	})
}

// The patrol may see a reset before the pump that waits for it.
func TestAResetAfterAnOrderlyEndIsPassedOnWhoeverFindsIt(t *testing.T) {
	for name, first := range map[string]func(r *run, l *leg){
		"pump":   func(*run, *leg) {},
		"patrol": func(r *run, l *leg) { r.inspect(l) },
	} {
		for _, dir := range []Direction{ToBackend, ToClient} {
			t.Run(name+" "+dir.String(), func(t *testing.T) {
				r, client, backend := unstarted(t, Limits{})
				peers := [2]Conn{client, backend} // by the direction of what they send
				p := &r.pumps[dir]
				peers[dir].CloseWrite()
				if _, err := p.receive(); err != io.EOF {
					t.Fatalf("read %v, want the end of stream", err)
				}
				resetClose(peers[dir])
				eventually(t, "the reset", func() bool { return dead(p.src.conn) })
				first(r, p.src)
				p.awaitDeath()
				if end := r.concluded(); end != (End{p.src.who, Reset}) {
					t.Errorf("ended by %v", end)
				}
				eventually(t, "the reset to be passed on", func() bool { return dead(peers[1-dir]) })
			})
		}
	}
}

// unstarted returns a run that nothing drives, and its far ends.
func unstarted(t *testing.T, limits Limits) (r *run, client, backend Conn) {
	t.Helper()
	nearClient, client := pair(t, "tcp")
	backend, nearBackend := pair(t, "tcp")
	r = newRun(&Portable{}, &Session{Ends: &Ends{Client: nearClient, Backend: nearBackend}, Limits: &limits})
	t.Cleanup(r.stopWatch)
	return r, client, backend
}
