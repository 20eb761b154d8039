package ctl

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// explain checks the time before it asks: "3 am" must not become an answer about now.
func (e *Env) explain() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "explain SERVICE/BACKEND",
		Short: "Say why a backend is, or was, in or out",
		Long: `Say in what state a backend is, or was at a time, and why: every transition with what
was seen. Times are in your zone. How far back depends on state_dir.`,
		Example: `  sluice explain redis/b1
  sluice explain redis/b1 --at 03:00`,
		Args: between(1, 1, "SERVICE/BACKEND"), ValidArgsFunction: e.completeBackends,
	}
	cmd.Flags().StringVar(&at, "at", "", "at this `TIME`: 15:04[:05] of the last 24 hours, 10m ago, or RFC 3339 (default now)")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		service, backend, err := pair(cmd, args[0])
		if err != nil {
			return err
		}
		r := of(service, backend, "/explain")
		if at != "" {
			when, ok := e.moment(at)
			if !ok {
				return usage(cmd, "--at: %s is not a time: write 15:04, 15:04:05, 10m (ago) or 2006-01-02T15:04:05Z", quote(at))
			}
			r.query = url.Values{"at": {when}}
		}
		var x api.Explanation
		raw, err := c.do(ctx, r, &x)
		if err != nil {
			return err
		}
		return c.show(raw, func() { writeExplanation(c.out, x) })
	})
}

// moment checks a time and writes it for the server. It is taken in the zone that times are
// printed in, which need not be the server's, so that what was printed can be asked for.
func (e *Env) moment(s string) (string, bool) {
	if d, err := time.ParseDuration(strings.TrimSuffix(s, " ago")); err == nil {
		return (-d.Abs()).String(), true
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, e.Zone); err == nil {
			return t.Format(time.RFC3339), true
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return e.last(t).Format(time.RFC3339), true
		}
	}
	_, err := time.Parse(time.RFC3339, s)
	return s, err == nil
}

// last is the newest moment that had this time of day.
func (e *Env) last(clock time.Time) time.Time {
	now := time.Now().In(e.Zone)
	t := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, e.Zone)
	if t.After(now) {
		return t.AddDate(0, 0, -1)
	}
	return t
}

// writeExplanation prints the verdict first, for who has no time, then each transition with
// its evidence, for who does not believe it. The server's story is for readers of the JSON: it
// has the same in sentences.
func writeExplanation(p *printer, x api.Explanation) {
	state := painted{"", x.State}
	switch x.State {
	case "":
		state.text = "not known"
	case "up":
	default:
		state.code = red
	}
	since := ""
	if !x.Since.IsZero() {
		since = ", since " + p.when(x.Since) + " (" + short(x.At.Sub(x.Since)) + ")"
	}
	p.line("%s/%s (%s) at %s: %s%s", x.Service, x.Backend, x.Address, x.At, state, since)
	if x.Reason != "" {
		p.line("  %s", x.Reason)
	}
	if len(x.Transitions) > 0 {
		p.line("")
	}
	for _, t := range x.Transitions {
		writeTransition(p, t)
	}
}

// writeTransition prints a change of state, and below it what was seen.
func writeTransition(p *printer, t api.Transition) {
	if t.Source == "sluice" { // it started or stopped itself
		p.line("%s  sluice %s: %s", t.Time, t.To, t.Reason)
		return
	}
	by := t.Source
	if t.Who != "" {
		by += " (" + t.Who + ")"
	}
	p.line("%s  %s -> %s  %s: %s", t.Time, t.From, t.To, by, t.Reason)
	var evidence []string
	note := func(format string, args ...any) { evidence = append(evidence, p.text(format, args...)) }
	if t.Step != "" {
		note("during %s", t.Step)
	}
	if t.Errno != "" {
		note("%s", t.Errno)
	}
	if t.Took > 0 {
		note("took %s", time.Duration(t.Took))
	}
	if t.Streak > 1 {
		note("%d in a row", t.Streak)
	}
	note("%s", plural(t.Sessions, "session"))
	note("%d of %d usable after it", t.Usable, t.Total)
	p.w.WriteString("    " + strings.Join(evidence, ", ") + "\n")
	if t.Saw != "" {
		p.w.WriteString("    saw " + cut(clean(strconv.Quote(t.Saw)), 500) + "\n")
	}
}
