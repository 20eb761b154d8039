package relay

// turns is the queue of sessions with more to do, by slot.
type turns struct {
	queue []int32
	head  int
}

func (t *turns) any() bool { return t.head < len(t.queue) }

func (t *turns) push(slot int32) {
	if t.head > 0 && len(t.queue) == cap(t.queue) {
		t.queue = t.queue[:copy(t.queue, t.queue[t.head:])]
		t.head = 0
	}
	t.queue = append(t.queue, slot)
}

func (t *turns) pop() int32 {
	slot := t.queue[t.head]
	if t.head++; t.head == len(t.queue) {
		t.queue, t.head = t.queue[:0], 0
	}
	return slot
}

// enqueue lets a session go on when those before it have had their turn.
func (l *loop) enqueue(slot int32) {
	if r := l.record(slot); !r.inTurn {
		r.inTurn = true
		l.turns.push(slot)
	}
}

// takeTurns lets one session of those in the queue go on. Between two such turns the
// loop looks for events: sessions with little to do never wait for more than one.
func (l *loop) takeTurns() {
	for l.turns.any() {
		slot := l.turns.pop()
		if r := l.record(slot); r.inTurn { // else it has ended meanwhile
			r.inTurn = false
			l.drive(slot)
			return
		}
	}
}
