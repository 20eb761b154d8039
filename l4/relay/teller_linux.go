package relay

import "sync"

// teller tells owners of the ends of their sessions, in a goroutine of its own: what
// an owner does then (count, log) is not the loop's to wait for.
type teller struct {
	engine *Loops
	wake   chan struct{}

	mu   sync.Mutex // guards ends
	ends []ending
}

type ending struct {
	s   *Session
	end End
}

func newTeller(e *Loops) *teller { return &teller{engine: e, wake: make(chan struct{}, 1)} }

// add hands over what ended in one turn of the loop.
func (t *teller) add(ends []ending) {
	t.mu.Lock()
	t.ends = append(t.ends, ends...)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // it is awake, or will be
	}
}

// run tells until wake is closed.
func (t *teller) run() {
	var told []ending
	for range t.wake {
		t.mu.Lock()
		told, t.ends = t.ends, told[:0]
		t.mu.Unlock()
		for i := range told {
			told[i].s.Owner.RelayEnded(told[i].end)
			told[i] = ending{}
			t.engine.sessions.Done()
		}
	}
}
