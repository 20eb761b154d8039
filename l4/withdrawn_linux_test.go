package l4

import (
	"testing"

	"github.com/sluicelb/sluice/picker"
)

// C72: a dial that began before its backend went does not slip through.
func TestADialUnderWayDoesNotReachABackendThatWasWithdrawn(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"it lost the writer's place", Config{Conflict: ConflictKeep}},
		{"it went down, and its sessions are closed", Config{OnDown: OnDownClose}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hole, open := blackholeUntil(t, "old")
			c.cfg.Balance, c.cfg.Connect.Timeout = picker.First, patience
			r := serve(t, c.cfg, hole, backend(t, echo).config("new"))
			r.Pool().SetHealth(r.backends[1], Down, byProbe)
			r.Pool().SetHealth(r.backends[0], Up, byProbe)
			client := r.connect()
			eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
			r.Pool().SetHealth(r.backends[0], Down, byProbe)
			r.Pool().SetHealth(r.backends[1], Up, byProbe)
			open()
			expectEcho(t, client, "x")
			if old := r.Backends()[0]; old.Total != 0 || old.DialFailures["withdrawn"] != 1 || old.Ejected {
				t.Errorf("%+v", old)
			}
		})
	}
}
