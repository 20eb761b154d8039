package relay

import (
	"io"
	"syscall"
	"testing"
)

// readEnd reads c to its end and returns the kind of it.
func readEnd(c Conn) string {
	_, err := io.Copy(io.Discard, struct{ io.Reader }{c})
	if err == nil {
		err = io.EOF
	}
	return kind(err)
}

// writeUntil writes to c until that fails with an error of the given kind.
func writeUntil(t *testing.T, c Conn, want string) {
	t.Helper()
	var err error
	eventually(t, "a write to fail", func() bool { _, err = c.Write([]byte("x")); return err != nil })
	if kind(err) != want {
		t.Fatalf("a write failed with %v, want %v", err, want)
	}
}

func TestTheEndsOfATCPConnectionAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name         string
		act          func(t *testing.T, near, far Conn)
		end          string // what reading near ends with
		hidden, dead bool
	}{
		{name: "end of stream", end: "eof",
			act: func(t *testing.T, near, far Conn) { far.CloseWrite() }},
		{name: "end of stream after bytes", end: "eof",
			act: func(t *testing.T, near, far Conn) { far.Write([]byte("x")); far.Close() }},
		{name: "ended by both", end: "eof", dead: true,
			act: func(t *testing.T, near, far Conn) { near.CloseWrite(); readEnd(far); far.Close() }},
		{name: "ended by both, with bytes unread", end: "eof", dead: true,
			act: func(t *testing.T, near, far Conn) {
				near.CloseWrite()
				readEnd(far)
				far.Write([]byte("x"))
				far.Close()
				eventually(t, "the end", func() bool { return dead(near) })
			}},
		{name: "reset", end: "reset", hidden: true, dead: true,
			act: func(t *testing.T, near, far Conn) { resetClose(far) }},
		{name: "reset that a write consumed", end: "eof", hidden: true, dead: true,
			act: func(t *testing.T, near, far Conn) { resetClose(far); writeUntil(t, near, "reset") }},
		{name: "reset that a write consumed, with bytes unread", end: "eof", hidden: true, dead: true,
			act: func(t *testing.T, near, far Conn) {
				far.Write([]byte("x"))
				settle(t, far)
				resetClose(far)
				writeUntil(t, near, "reset")
			}},
		{name: "reset that somebody asked for", end: "eof", hidden: true, dead: true,
			act: func(t *testing.T, near, far Conn) {
				resetClose(far)
				eventually(t, "the reset", func() bool { return pendingError(near) == syscall.ECONNRESET })
				if pendingError(near) != nil {
					t.Error("the error was not taken")
				}
			}},
		{name: "written to after the end of stream", end: "eof", dead: true,
			act: func(t *testing.T, near, far Conn) { far.Close(); writeUntil(t, near, "pipe") }},
		{name: "reset after the end of stream", end: "eof", dead: true,
			act: func(t *testing.T, near, far Conn) {
				near.Write([]byte("unread"))
				settle(t, near)
				far.CloseWrite()
				far.Close()
				eventually(t, "the reset", func() bool { return dead(near) })
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := pair(t, "tcp")
			if dead(near) || pendingError(near) != nil {
				t.Error("dead before anything happened")
			}
			c.act(t, near, far)
			if end := readEnd(near); end != c.end {
				t.Errorf("reading ended with %q, want %q", end, c.end)
			}
			if l := (&leg{conn: near}); l.hidden() != c.hidden {
				t.Errorf("hidden is %v", !c.hidden)
			}
			if dead(near) != c.dead {
				t.Errorf("dead is %v", !c.dead)
			}
		})
	}
}

func TestWhatAPeerHasNotAcknowledgedIsKnown(t *testing.T) {
	near, far := pair(t, "tcp")
	before := ackedBy(near)
	sent := clog(t, near, up)
	queued, known := unacknowledged(near)
	if !known || queued <= 0 || int64(queued) > sent {
		t.Errorf("%d of %d bytes unacknowledged, known %v", queued, sent, known)
	}
	if n := int64(ackedBy(near) - before); n != sent-int64(queued) {
		t.Errorf("%d bytes acknowledged of %d, %d are queued", n, sent, queued)
	}
	if err := up.expect(far, 0, sent); err != nil {
		t.Fatal(err)
	}
	settle(t, near)
	if n := int64(ackedBy(near) - before); n != sent {
		t.Errorf("%d bytes acknowledged, want %d", n, sent)
	}
	clog(t, near, up)
	resetClose(far)
	eventually(t, "the reset", func() bool { return dead(near) })
	if n, known := unacknowledged(near); n <= 0 || !known {
		t.Errorf("%d bytes lost by a reset, known %v", n, known)
	}
}

func TestAClosedConnectionAnswersQuestions(t *testing.T) {
	near, _ := pair(t, "tcp")
	near.Close()
	if n, known := unacknowledged(near); n != 0 || !known {
		t.Errorf("%d bytes unacknowledged, known %v", n, known)
	}
	if dead(near) || pendingError(near) != nil || ackedBy(near) != 0 {
		t.Error("a closed connection has a condition")
	}
	if err := SetUserTimeout(near, 1); err == nil {
		t.Error("a closed connection took an option")
	}
}

func TestAUnixSocketHasNothingQueued(t *testing.T) {
	near, far := pair(t, "unix")
	near.Write([]byte("x"))
	if n, known := unacknowledged(near); n != 0 || !known {
		t.Errorf("%d bytes unacknowledged, known %v", n, known)
	}
	far.Close()
	if dead(near) {
		t.Error("a Unix socket cannot be known to be dead")
	}
}

// ackedBy returns the bytes that c's peer has acknowledged.
func ackedBy(c Conn) uint64 {
	w, _ := windowOf(c)
	return w.acked
}
