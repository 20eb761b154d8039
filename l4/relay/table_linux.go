package relay

// A loop makes room for its sessions in chunks: a table that grew by copying itself
// would leave several times its size to the collector.
const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	chunkMask = chunkSize - 1
)

// table holds a loop's sessions. Records hold no pointer, so that the collector looks
// at the owners only.
type table struct {
	records []*[chunkSize]record
	owners  []*[chunkSize]*Session
	used    int32   // slots that were ever
	vacant  []int32 // those of them that are free
}

func (t *table) record(slot int32) *record { return &t.records[slot>>chunkBits][slot&chunkMask] }

// owner returns nil for a vacant slot.
func (t *table) owner(slot int32) *Session { return t.owners[slot>>chunkBits][slot&chunkMask] }

func (t *table) setOwner(slot int32, s *Session) { t.owners[slot>>chunkBits][slot&chunkMask] = s }

// slotOf returns the place of a session, none if it has ended.
func (t *table) slotOf(s *Session) int32 {
	if slot := s.slot; slot < t.used && t.owner(slot) == s {
		return slot
	}
	return none
}

// newSlot returns a vacant place in the tables.
func (l *loop) newSlot() int32 {
	if n := len(l.vacant); n > 0 {
		slot := l.vacant[n-1]
		l.vacant = l.vacant[:n-1]
		return slot
	}
	if l.used&chunkMask == 0 {
		l.records = append(l.records, new([chunkSize]record))
		l.owners = append(l.owners, new([chunkSize]*Session))
		l.wheel.grow()
	}
	l.used++
	return l.used - 1
}

// vacate frees a slot.
func (l *loop) vacate(slot int32) {
	r := l.record(slot)
	*r = record{generation: r.generation + 1}
	l.setOwner(slot, nil)
	l.vacant = append(l.vacant, slot)
	l.sessions.Add(-1)
}
