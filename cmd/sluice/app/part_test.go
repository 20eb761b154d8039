package app

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// pair is a file of two services; keys are for the second.
func pair(a, b *talker, keys string) string {
	return named("stays", anyPort, a.yaml()) + second("goes", b, keys)
}

func second(name string, b *talker, keys string) string {
	return strings.Replace(strings.TrimPrefix(webWith(keys, anyPort, b.yaml()), "services:\n"), "name: web", "name: "+name, 1)
}

func TestARemovedServicesSessionsHaveItsDrainTimeout(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, pair(a, b, ", drain_timeout: 1h"))
	address := r.listen("goes")
	g := visit(t, address)
	r.becomes(named("stays", anyPort, a.yaml()))
	if _, err := knock(address); err == nil {
		t.Error("it still takes clients")
	}
	g.lives()
	all := r.Services()
	if len(all) != 2 || all[1].Name != "goes" || !all[1].Leaving || len(all[1].Listen) != 0 || all[1].Sessions != 1 || all[0].Leaving {
		t.Errorf("%+v", all)
	}
	if st := r.Status(); st.Sessions != 1 || st.Services != 1 || st.Backends != 1 {
		t.Errorf("status %+v", st)
	}
	if v, err := r.Service("goes"); err != nil || !v.Leaving || v.Sessions != 1 {
		t.Errorf("by its name: %+v, %v", v, err)
	}
	g.Close()
	r.log.waitFor(t, "msg=drained service=goes forced=0")
	eventually(t, "it is gone", func() bool { return len(r.Services()) == 1 })
	_, err := r.Service("goes")
	refused(t, err, api.CodeNotFound, `no service "goes": there is stays`)
}

func TestARemovedServicesSessionsAreResetWhenTheTimeIsOver(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, pair(a, b, ", drain_timeout: 30ms"))
	g := visit(t, r.listen("goes"))
	r.becomes(named("stays", anyPort, a.yaml()))
	if err := g.ended(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the session ended with %v, want a reset", err)
	}
	r.log.waitFor(t, "msg=drained service=goes forced=1")
	eventually(t, "its metrics are forgotten", func() bool {
		p50, _ := r.metrics.ConnectQuantiles("goes", "b")
		return p50 == 0
	})
}

func TestSessionsOfAServiceThatLeavesCanBeListedAndKilled(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, pair(a, b, ", drain_timeout: 0s"))
	g := visit(t, r.listen("goes"))
	r.becomes(named("stays", anyPort, a.yaml()))
	all, err := r.Sessions(api.Filter{Service: "goes", Backend: "b"}, "", 0)
	if err != nil || all.Total != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if n, err := r.Kill(someone, api.Filter{ID: all.Sessions[0].ID}); n != 1 || err != nil {
		t.Errorf("%d killed, %v", n, err)
	}
	if g.ended() == nil {
		t.Error("the session goes on")
	}
	r.log.waitFor(t, "msg=drained service=goes forced=0")
}

func TestAServiceMayComeBackWhileItLeaves(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	file := pair(a, b, ", drain_timeout: 0s")
	r := run(t, file)
	old := visit(t, r.listen("goes"))
	r.becomes(named("stays", anyPort, a.yaml()))
	r.becomes(file)
	fresh := visit(t, r.listen("goes"))
	old.lives()
	fresh.lives()
	shown := r.Services()
	if len(shown) != 3 || shown[1].Leaving || !shown[2].Leaving || shown[2].Name != "goes" || shown[2].Sessions != 1 {
		t.Errorf("the one that leaves is not shown beside its successor: %+v", shown)
	}
	if all, err := r.Sessions(api.Filter{Service: "goes"}, "", 0); all.Total != 2 || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := r.SetWeight(someone, "goes", "b", 5); err != nil {
		t.Fatal(err)
	}
	agree(t, r.App)
	old.Close()
	r.log.waitFor(t, "msg=drained service=goes")
	if b := r.backend("goes", "b"); b.ConnectP50 == 0 || b.Sessions != 1 {
		t.Errorf("what it knows went with the one before it: %+v", b)
	}
}

// The end of the process is the end of what leaves, too, but not before its time.
func TestADrainWaitsForServicesThatLeave(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, pair(a, b, ", drain_timeout: 0s"))
	g, other := visit(t, r.listen("goes")), visit(t, r.listen("goes"))
	r.becomes(named("stays", anyPort, a.yaml()))
	ctx, cancel := context.WithCancel(t.Context())
	forced := make(chan int)
	go func() { forced <- r.Drain(ctx, nil) }()
	r.log.waitFor(t, "msg=draining sessions=2")
	g.lives()
	g.Close()
	eventually(t, "one session is left", func() bool { return r.sessions() == 1 })
	other.lives()
	cancel()
	if n := <-forced; n != 1 {
		t.Errorf("%d sessions were reset, want 1", n)
	}
	if other.ended() == nil {
		t.Error("the session goes on")
	}
}
