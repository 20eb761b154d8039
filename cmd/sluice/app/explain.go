package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/health/history"
)

// Explain implements api.Control.
func (a *App) Explain(svc, backend string, at time.Time) (api.Explanation, error) {
	own, err := a.history.Around(svc, backend, at, explained)
	if err != nil {
		a.log.Warn("history cannot be read", "error", err.Error()) // what memory holds is still true
	}
	e := api.Explanation{Service: svc, Backend: backend, At: at, Transitions: []api.Transition{}}
	_, b, err := a.lookup(svc, backend)
	switch {
	case err == nil:
		e.Address = b.backend.Address()
	case len(own) == 0: // else it is gone, and may still be asked about
		return e, err
	default:
		e.Address = own[len(own)-1].Address
	}
	all := a.withProcess(own, at)
	then := -1
	for i, t := range all {
		e.Transitions = append(e.Transitions, transitionView(t))
		if !t.Time.After(at) {
			then = i
		}
	}
	if then == len(all)-1 && err == nil {
		a.present(&e) // the pool knows better than the last that was told: why a state lasts
	} else {
		a.verdict(&e, all, then)
	}
	e.Story = story(e, all, then)
	return e, nil
}

// explained is how many transitions on each side of a time are shown.
const explained = 64

// What an entry of this process says in To.
const (
	started = "started"
	stopped = "stopped"
)

// lived keeps that this process started or stopped.
func (a *App) lived(to, reason string) {
	a.history.Add(history.Entry{Time: time.Now(), Service: history.Process, Backend: history.Process, Source: "sluice", To: to, Reason: reason})
}

// cameUp is lived for a start: it says what is known of the time before.
func (a *App) cameUp() {
	reason := "nothing is known from before"
	if before := a.history.Of(history.Process, history.Process); len(before) > 0 {
		switch last := before[len(before)-1]; last.To {
		case stopped:
			reason = "it had stopped at " + clock(last.Time)
		default:
			reason = "it had ended without a word, some time after " + clock(a.history.Last())
		}
	}
	a.lived(started, reason)
}

// withProcess adds when this process started and stopped to a backend's transitions: those
// that lie between them, and the one before. A start that nothing precedes is left out.
func (a *App) withProcess(own []history.Entry, at time.Time) []history.Entry {
	lives, err := a.history.Around(history.Process, history.Process, at, explained)
	if err != nil || len(lives) > 0 && lives[0].To == started {
		lives = lives[min(1, len(lives)):] // what a first start ends is not known
	}
	if len(own) > 0 {
		first := own[0].Time
		lives = slices.DeleteFunc(lives, func(e history.Entry) bool { return e.Time.Before(first) })
	}
	all := slices.Concat(own, lives)
	slices.SortStableFunc(all, func(x, y history.Entry) int { return x.Time.Compare(y.Time) })
	return all
}

// verdict says in what state a backend was: all[then] was the last thing that happened.
func (a *App) verdict(e *api.Explanation, all []history.Entry, then int) {
	switch {
	case then < 0 && len(all) > 0:
		e.Reason = "nothing so old is kept: the oldest is of " + clock(all[0].Time)
	case then < 0: // and nothing is kept at all
		e.Reason = "nothing is kept of it"
	case all[then].To == started:
		e.State, e.Since, e.Reason = "unknown", all[then].Time, "sluice had just started: nothing had happened to it yet"
	case all[then].To == stopped:
		e.Since, e.Reason = all[then].Time, "sluice was not running"
	default:
		e.State, e.Since, e.Reason = all[then].To, all[then].Time, all[then].Reason
	}
	if then >= 0 && then+1 < len(all) && all[then+1].To == started && all[then].To != stopped {
		e.Reason += "; that is the last that is known before sluice started again at " + clock(all[then+1].Time) + ": " + all[then+1].Reason
	}
}

// present says in what state a backend is now, as everything else that shows it does.
func (a *App) present(e *api.Explanation) {
	v, err := a.Service(e.Service)
	if err != nil {
		e.Reason = err.Error()
		return
	}
	for _, b := range v.Backends {
		if b.Name == e.Backend && !b.Leaving {
			e.State, e.Reason, e.Since = b.State, b.Reason, b.Since
		}
	}
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
	case e.State == "":
		lines = append(lines, fmt.Sprintf("At %s it is not known what %s was: %s, since %s.", clock(e.At), name, e.Reason, clock(e.Since)))
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
	if t.Service == history.Process {
		return fmt.Sprintf("%s  sluice %s: %s", clock(t.Time), t.To, t.Reason)
	}
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
