package app

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/health/history"
)

// Explain implements api.Control.
func (a *App) Explain(svc, backend string, at time.Time) (api.Explanation, error) {
	all := a.history.Of(svc, backend)
	e := api.Explanation{Service: svc, Backend: backend, At: at, Transitions: []api.Transition{}}
	_, b, err := a.lookup(svc, backend)
	switch {
	case err == nil:
		e.Address = b.backend.Address()
	case len(all) == 0: // else it is gone, and may still be asked about
		return e, err
	default:
		e.Address = all[len(all)-1].Address
	}
	then := -1
	for i, t := range all {
		e.Transitions = append(e.Transitions, transitionView(t))
		if !t.Time.After(at) {
			then = i
		}
	}
	switch {
	case then >= 0:
		e.State, e.Since, e.Reason = all[then].To, all[then].Time, all[then].Reason
	case len(all) > 0:
		e.Reason = "nothing so old is kept: the oldest is of " + clock(all[0].Time)
	default:
		e.State, e.Reason = a.stateNow(svc, backend)
	}
	e.Story = story(e, all, then)
	return e, nil
}

// stateNow is of a backend that has had no transition yet.
func (a *App) stateNow(service, backend string) (state, reason string) {
	v, err := a.Service(service)
	if err != nil {
		return "", err.Error()
	}
	for _, b := range v.Backends {
		if b.Name == backend {
			return b.Health, b.Reason
		}
	}
	return "", ""
}

func transitionView(t history.Entry) api.Transition {
	return api.Transition{
		Time: t.Time, Source: t.Source, From: t.From, To: t.To, Reason: t.Reason, Step: t.Step, Saw: t.Saw, Errno: t.Errno,
		Took: api.Duration(t.Took), Streak: t.Streak, Who: t.Who, Sessions: t.Sessions, Usable: t.Usable, Total: t.Total,
	}
}

// storyLength is how many transitions before the time, and after it, a story tells.
const storyLength = 5

// story tells what led to the state of then, and what followed.
func story(e api.Explanation, all []history.Entry, then int) (lines []string) {
	name := e.Service + "/" + e.Backend
	switch {
	case len(all) == 0:
		return []string{fmt.Sprintf("%s: no transition is kept; it is %s: %s", name, e.State, e.Reason)}
	case then < 0:
		lines = append(lines, fmt.Sprintf("What %s was at %s is not known: %s.", name, clock(e.At), e.Reason))
	default:
		lines = append(lines, fmt.Sprintf("At %s %s (%s) was %s, since %s (%s): %s", clock(e.At), name, e.Address, e.State,
			clock(e.Since), e.At.Sub(e.Since).Round(time.Second), e.Reason))
	}
	for i := max(0, then-storyLength); i <= then; i++ {
		lines = append(lines, tell(all[i]))
	}
	for i := then + 1; i < len(all) && i <= then+storyLength; i++ {
		if i == then+1 {
			lines = append(lines, "Then:")
		}
		lines = append(lines, tell(all[i]))
	}
	return lines
}

// tell is a transition with its evidence on a line.
func tell(t history.Entry) string {
	s := fmt.Sprintf("%s  %s -> %s  by %s: %s", clock(t.Time), t.From, t.To, t.Source, t.Reason)
	if t.Step != "" {
		s += "; step: " + t.Step
	}
	if t.Saw != "" {
		s += fmt.Sprintf("; it sent %q", t.Saw)
	}
	if t.Errno != "" {
		s += "; system: " + t.Errno
	}
	if t.Took > 0 {
		s += "; took " + t.Took.Round(10*time.Microsecond).String()
	}
	return s + fmt.Sprintf("; it had %d sessions, %d of %d backends were usable afterwards", t.Sessions, t.Usable, t.Total)
}

// clock is a time for people.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
