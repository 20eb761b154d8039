package relay

// place is where a Loops keeps a session: fixed by Start, the slot by the loop. Only
// the loop reads the slot.
type place struct{ loop, slot int32 }
