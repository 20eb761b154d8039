package app

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/health/history"
)

func TestABackendIsExplainedThenAndNow(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	before := time.Now()
	e, err := r.Explain("web", "a", before)
	if err != nil || e.State != "unknown" || e.Reason == "" || e.Address != a.address || len(e.Transitions) != 0 || !strings.Contains(e.Story[0], "no transition is kept") {
		t.Errorf("before anything: %+v, %v", e, err)
	}
	for _, state := range []string{api.Drain, api.Maint, api.Ready} {
		if _, err := r.SetAdmin(someone, "web", "a", state); err != nil {
			t.Fatal(err)
		}
	}
	e, err = r.Explain("web", "a", time.Now())
	if err != nil || e.State != "unknown" || e.Reason != "made ready by ann" || e.Since.IsZero() || len(e.Transitions) != 3 || e.Transitions[0].Who != "ann" {
		t.Errorf("now: %+v, %v", e, err)
	}
	e, err = r.Explain("web", "a", e.Transitions[0].Time)
	if err != nil || e.State != "drain" || len(e.Story) != 5 || e.Story[2] != "Then:" {
		t.Errorf("then: %+v, %v", e, err)
	}
	e, err = r.Explain("web", "a", before)
	if err != nil || e.State != "" || !strings.HasPrefix(e.Reason, "nothing so old is kept") {
		t.Errorf("before: %+v, %v", e, err)
	}
}

func TestABackendThatWasRemovedCanBeExplained(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	r.becomes(web(anyPort, a.yaml()))
	e, err := r.Explain("web", "b", time.Now())
	if err != nil || e.State != "removed" || e.Address != b.address || e.Reason != "the configuration changed by test" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAStoryTellsOfAFewTransitionsOnEachSide(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	for range 10 {
		for _, state := range []string{api.Drain, api.Ready} {
			if _, err := r.SetAdmin(someone, "web", "a", state); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := r.History("web", "a")
	e, err := r.Explain("web", "a", all[9].Time)
	if err != nil || len(e.Transitions) != 20 || len(e.Story) != 1+(storyLength+1)+1+storyLength {
		t.Errorf("%d transitions, a story of %d lines:\n%s", len(e.Transitions), len(e.Story), strings.Join(e.Story, "\n"))
	}
}

// life is an App of which others use the state_dir before and after; it is to be ended.
func life(t *testing.T, dir string, yaml string) *rig {
	t.Helper()
	r := prepare(t, "state_dir: "+dir+"\n"+yaml, Options{})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// end ends it at once.
func (r *rig) end() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.Drain(ctx, nil)
}

func TestExplainKnowsWhenSluiceDidNotRun(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	dir, yaml := t.TempDir(), web(anyPort, a.yaml(), b.yaml())
	first := life(t, dir, yaml)
	if _, err := first.SetAdmin(someone, "web", "a", api.Maint); err != nil {
		t.Fatal(err)
	}
	maint := time.Now()
	first.end()
	between := time.Now()
	second := life(t, dir, yaml)
	defer second.end()

	e, err := second.Explain("web", "a", maint)
	if err != nil || e.State != "maint" || len(e.Transitions) != 3 || e.Transitions[1].To != "stopped" || e.Transitions[2].To != "started" {
		t.Errorf("in the first life: %+v, %v", e, err)
	}
	e, err = second.Explain("web", "a", between)
	if err != nil || e.State != "" || e.Reason != "sluice was not running" || !strings.Contains(e.Story[0], "sluice was not running, since") {
		t.Errorf("between: %+v, %v", e, err)
	}
	e, err = second.Explain("web", "a", time.Now())
	if err != nil || e.State != "unknown" || !strings.Contains(strings.Join(e.Story, "\n"), "sluice started: it had stopped at ") {
		t.Errorf("in the second life: %+v, %v", e, err)
	}
}

func TestExplainTellsAnEndWithoutAWord(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	dir, yaml := t.TempDir(), web(anyPort, a.yaml(), b.yaml())
	// What a process leaves that was killed.
	h := history.New(history.Config{Dir: dir})
	then := time.Now().Add(-time.Hour)
	h.Add(history.Entry{Time: then.Add(-time.Minute), Service: history.Process, Backend: history.Process, To: started})
	h.Add(history.Entry{Time: then, Service: "web", Backend: "a", From: "up", To: "down", Source: "probe", Reason: "connection refused"})
	h.Close()
	r := life(t, dir, yaml)
	defer r.end()
	e, err := r.Explain("web", "a", then.Add(time.Minute))
	if err != nil || e.State != "down" || !strings.Contains(e.Reason, "that is the last that is known before sluice started again") || !strings.Contains(e.Reason, "ended without a word, some time after "+clock(then)) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestExplainAgreesWithThePoolWhateverWasDone(t *testing.T) {
	a, b, c := talk(t, "a"), talk(t, "b"), talk(t, "c")
	all := web(anyPort, a.yaml(), b.yaml(), c.yaml())
	r := run(t, all)
	agree := func(after string) {
		t.Helper()
		v, err := r.Service("web")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range v.Backends {
			if b.Leaving {
				continue
			}
			e, err := r.Explain("web", b.Name, time.Now())
			if err != nil || e.State != b.State || e.Reason != b.Reason || !e.Since.Equal(b.Since) {
				t.Errorf("after %s: explained as %s, %q, since %v (%v); it is %s, %q, since %v", after, e.State, e.Reason, e.Since, err, b.State, b.Reason, b.Since)
			}
		}
	}
	agree("the start")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		name := []string{"a", "b", "c"}[rng.IntN(3)]
		what := ""
		switch n := rng.IntN(6); n {
		case 0, 1, 2:
			what = []string{api.Drain, api.Maint, api.Ready}[n]
			_, _ = r.SetAdmin(someone, "web", name, what)
		case 3:
			what = "remove"
			_, _ = r.Remove(someone, "web", name, nil)
		case 4:
			what = "add"
			_, _ = r.Add(someone, "web", api.NewBackend{Name: name, Address: a.address})
		case 5:
			what = "reload"
			r.becomes(all)
		}
		agree(what + " " + name)
	}
}

func TestABackendThatIsBackIsNotExplainedAsRemoved(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	both := web(anyPort, a.yaml(), b.yaml())
	r := run(t, both)
	r.becomes(web(anyPort, a.yaml()))
	r.becomes(both)
	e, err := r.Explain("web", "b", time.Now())
	last := e.Transitions[len(e.Transitions)-1]
	if err != nil || e.State != "unknown" || last.From != "removed" || last.To != "unknown" || last.Reason != "in the file again" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestABackendWhoseServiceWentIsExplainedAsRemoved(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	r.becomes(strings.ReplaceAll(web(anyPort, a.yaml(), b.yaml()), "name: web", "name: other"))
	eventually(t, "the service is gone", func() bool { _, err := r.Service("web"); return err != nil })
	e, err := r.Explain("web", "b", time.Now())
	if err != nil || e.State != "removed" || e.Reason != "its service was removed by test" {
		t.Errorf("%+v, %v", e, err)
	}
}
