package l4

import (
	"fmt"
	"testing"
	"time"
)

// Probes may find another fault in a backend that is down: people must see that one, and
// must not be told of the same one with every probe.
func TestAnotherReasonForBeingDownIsToldOnce(t *testing.T) {
	var told []Transition
	j := &journal{}
	r := assemble(t, Config{Log: j.logger(), Transition: func(tr Transition) { told = append(told, tr) }}, echoes(t, 2)...)
	p, b := r.Pool(), r.backends[0]
	refused := Cause{Source: "probe", Reason: "connection refused", Errno: "ECONNREFUSED", Took: time.Millisecond}
	loading := Cause{Source: "probe", Reason: "LOADING", Saw: "-LOADING", Streak: 3}
	p.SetHealth(b, Down, refused)
	since := r.Backends()[0].Since
	p.SetHealth(b, Down, refused)
	if len(told) != 1 || len(j.of("backend still down")) != 0 || !r.Backends()[0].Since.Equal(since) {
		t.Fatalf("the same reason again: told %v", told)
	}
	j.said()
	for range 3 {
		p.SetHealth(b, Down, loading)
	}
	if len(told) != 2 {
		t.Fatalf("told %v", told)
	}
	if tr := told[1]; tr.From != "down" || tr.To != "down" || tr.Cause != loading || tr.Backend != b.Name() || tr.Usable != 1 {
		t.Errorf("told %+v", tr)
	}
	l := j.of("backend still down")
	if len(l) != 1 || len(j.all()) != 1 || l[0]["level"] != "DEBUG" || l[0]["reason"] != "LOADING" || l[0]["from"] != "down" || l[0]["to"] != "down" {
		t.Errorf("logged %v", j.all())
	}
	if st := r.Backends()[0]; st.Reason != "LOADING" || st.Health != Down || st.Usable {
		t.Errorf("%+v", st)
	}
}

// That it is not sure any more, or is, is another reason in the same words.
func TestAReasonThatBecomesSureIsToldOnce(t *testing.T) {
	p, b, j := pool(t, "round-robin", plain(2)...)
	p.SetHealth(b[0], Down, byHunch)
	j.said()
	sure := byHunch
	sure.Unsure = false
	for _, c := range []Cause{byHunch, sure, sure, byHunch} {
		p.SetHealth(b[0], Down, c)
	}
	if got, want := fmt.Sprint(j.said()), "[DEBUG backend still down DEBUG backend still down]"; got != want {
		t.Errorf("logged %s, want %s", got, want)
	}
}

// One that people have taken out is out for that: what its probes find besides must not be
// told as if it were why.
func TestAnotherReasonIsNotToldOfADrainedBackend(t *testing.T) {
	p, b, j := pool(t, "round-robin", plain(2)...)
	p.SetHealth(b[0], Down, byProbe)
	p.SetAdmin(b[0], Drain, byAdmin)
	j.said()
	p.SetHealth(b[0], Down, Cause{Source: "probe", Reason: "LOADING"})
	if said := j.said(); len(said) != 0 {
		t.Errorf("logged %v", said)
	}
	p.SetAdmin(b[0], Ready, byAdmin)
	if l := j.of("backend still down"); len(l) != 1 || l[0]["reason"] != "asked to, but its check fails: LOADING" {
		t.Errorf("logged %v", l)
	}
}
