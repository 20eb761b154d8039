package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// recent is how many events --follow begins with.
const recent = 10

// events has one order for both of its modes: what has happened is asked for first, then the
// stream goes on after it, so nothing is missed or shown twice.
func (e *Env) events() *cobra.Command {
	var follow bool
	var since string
	cmd := &cobra.Command{
		Use:   "events [SERVICE]",
		Short: "Show what happened, and follow it",
		Long: `Show what happened: transitions of backends, what people did, reloads, outages. With
--follow what comes is printed as it comes, until an interrupt; a connection that is
lost is made again. --json prints one event a line.`,
		Example: `  sluice events --since 10m
  sluice events web --follow`,
		Args: between(0, 1, "[SERVICE]"), ValidArgsFunction: e.completeServices,
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with what comes; without --since, after the newest 10")
	f.StringVar(&since, "since", "", "begin `SINCE` a time: 10m (ago), 15:04[:05] of the last 24 hours, or RFC 3339; or after the event with this number")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		begin, ok := e.beginning(since)
		if !ok {
			return usage(cmd, "--since: %s is not a time such as 10m (ago), 15:04 or 2006-01-02T15:04:05Z, nor the number of an event", quote(since))
		}
		if follow && since == "" {
			begin.most = recent
		}
		return c.runEvents(ctx, strings.Join(args, ""), begin, follow)
	})
}

// beginning is where a list of events begins.
type beginning struct {
	id   uint64        // after this one
	ago  time.Duration // not before that, by the process's clock; 0 = whenever
	at   time.Time     // not before that; zero = whenever
	most int           // the newest of them; 0 = all
}

// runEvents prints what has happened, and then what happens.
func (c *call) runEvents(ctx context.Context, service string, begin beginning, follow bool) error {
	// The process is asked first: should it be another one by the time that the stream is
	// open, its events are counted anew.
	s, _, err := c.client.status(ctx)
	if err != nil {
		return err
	}
	list, raw, err := c.past(ctx, begin.id, service)
	if err != nil {
		return err
	}
	f := &follower{c: c, service: service, last: begin.id, started: s.Started}
	first := 0
	if begin.most > 0 {
		first = max(0, len(list.Events)-begin.most)
	}
	for i, event := range list.Events {
		f.last = max(f.last, event.ID)
		if i >= first && (begin.ago == 0 || !event.Time.Before(now(s).Add(-begin.ago))) && !event.Time.Before(begin.at) {
			c.printEvent(event, raw[i])
		}
	}
	if err := c.out.flush(); err != nil || !follow {
		return err
	}
	// Each event is flushed, for who follows waits for it.
	f.print = func(e api.Event, raw []byte) error { c.printEvent(e, raw); return c.out.flush() }
	return f.follow(ctx)
}

// beginning reads a time as explain takes it, or a number.
func (e *Env) beginning(s string) (begin beginning, ok bool) {
	if s == "" {
		return beginning{}, true
	}
	if id, err := strconv.ParseUint(s, 10, 64); err == nil {
		return beginning{id: id}, true
	}
	when, ok := e.moment(s)
	if !ok {
		return beginning{}, false
	}
	if ago, err := time.ParseDuration(when); err == nil {
		return beginning{ago: ago.Abs()}, true
	}
	at, err := time.Parse(time.RFC3339, when)
	return beginning{at: at}, err == nil
}

// past returns events that have happened, each also as the server wrote it.
func (c *call) past(ctx context.Context, id uint64, service string) (list api.Events, each []json.RawMessage, err error) {
	r := request{path: "/events", query: url.Values{"since": {strconv.FormatUint(id, 10)}}, service: service}
	if service != "" {
		r.query.Set("service", service)
	}
	raw, err := c.do(ctx, r, &list)
	if err == nil && len(list.Events) == 0 {
		err = c.mustBeThere(ctx, r)
	}
	if err != nil {
		return list, nil, err
	}
	var same struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(raw, &same); err != nil {
		return list, nil, c.garbage(raw, err)
	}
	if list.Lost && id > 0 {
		c.warn("events right after %d are no longer kept", int64(id))
	}
	return list, same.Events, nil
}

// printEvent prints one line. As JSON it is the server's own text, so that fields which are
// younger than this program are not lost.
func (c *call) printEvent(e api.Event, raw []byte) {
	if c.json {
		var line bytes.Buffer
		if json.Compact(&line, raw) == nil {
			c.out.w.Write(append(escaped(line.Bytes()), '\n'))
		}
		return
	}
	text, where := e.Text, e.Service
	if e.Backend != "" {
		where += "/" + e.Backend
	}
	if where != "" {
		where += ": "
	}
	if e.Who != "" && !strings.HasSuffix(text, " by "+e.Who) { // a transition's reason names them
		text += " (" + e.Who + ")"
	}
	c.out.line("%d  %s  %s  %s%s", int64(e.ID), e.Time, painted{eventColor(e), fill(e.Kind, len("transition"))}, where, text)
}

// fill appends spaces, so that what follows stands in a column.
func fill(s string, n int) string {
	for len(s) < n {
		s += " "
	}
	return s
}

// eventColor marks what an eye that skims is to stop at: clients were refused, or may soon be.
func eventColor(e api.Event) string {
	switch {
	case e.Kind == "outage":
		return red
	case e.Kind == "transition" && e.To != "up":
		return yellow
	}
	return ""
}
