package app

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestABackendIsExplainedThenAndNow(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	before := time.Now()
	e, err := r.Explain("web", "a", before)
	if err != nil || e.State != "unknown" || e.Address != a.address || len(e.Transitions) != 0 || !strings.Contains(e.Story[0], "no transition is kept") {
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
