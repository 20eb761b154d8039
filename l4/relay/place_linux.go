package relay

// place is where a Loops keeps a session. The loop is fixed before the session has one;
// the slot is that loop's affair.
type place struct{ loop, slot int32 }
