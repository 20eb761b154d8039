package load

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"
)

func TestBulkIsCountedInBytes(t *testing.T) {
	addr := serveStream(t)
	for _, tt := range []struct {
		name    string
		streams int
		upload  bool
	}{{"down", 1, false}, {"down, three", 3, false}, {"up", 1, true}, {"up, three", 3, true}} {
		t.Run(tt.name, func(t *testing.T) {
			var tally Tally
			Bulk{Addr: addr, Streams: tt.streams, Upload: tt.upload}.Run(until(t, &tally, 10<<20, 0), &tally)
			if tally.Done() < 10<<20 || tally.Failures() != nil {
				t.Errorf("%d bytes, %v (%v)", tally.Done(), tally.Failures(), tally.Err())
			}
		})
	}
}

func TestBulkThatIsNotWhatWasSentFails(t *testing.T) {
	addr := serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = c.Write(make([]byte, 100))
	})
	var tally Tally
	Bulk{Addr: addr, Streams: 1}.Run(until(t, &tally, 0, 2), &tally)
	if got := slices.Collect(maps.Keys(tally.Failures())); !slices.Equal(got, []Failure{Wrong}) {
		t.Errorf("%v (%v)", tally.Failures(), tally.Err())
	}
}

func TestIdleSessionsStayUntilTheyAreClosed(t *testing.T) {
	addr := serveStream(t)
	var tally Tally
	idle := OpenIdle(t.Context(), addr, 40, &tally)
	defer idle.Close()
	if idle.Len() != 40 || tally.Done() != 40 || tally.Failures() != nil {
		t.Fatalf("%d sessions, %d done, %v (%v)", idle.Len(), tally.Done(), tally.Failures(), tally.Err())
	}
	seen := map[string]bool{}
	for _, c := range idle.clients {
		seen[c.LocalAddr().String()] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d connections", len(seen))
	}
	idle.Close()
	if idle.Len() != 0 {
		t.Errorf("%d sessions after all were closed", idle.Len())
	}
}

func TestIdleSessionsThatCannotBeOpenedAreFailures(t *testing.T) {
	addr := serve(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 200)) })
	var tally Tally
	idle := OpenIdle(t.Context(), addr, 5, &tally)
	defer idle.Close()
	if idle.Len() != 0 || failures(&tally) != 5 {
		t.Errorf("%d sessions, %v", idle.Len(), tally.Failures())
	}
}

func TestOpeningIdleSessionsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var tally Tally
	idle := OpenIdle(ctx, serveStream(t), 1000, &tally)
	defer idle.Close()
	if idle.Len() != 0 || failures(&tally) != 0 {
		t.Errorf("%d sessions, %v", idle.Len(), tally.Failures())
	}
}
