package ctl

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// defaultLimit is the server's own.
const defaultLimit = 1000

// sessions leaves sorting to the server: with a limit it decides which are seen at all.
func (e *Env) sessions() *cobra.Command {
	var q query
	var sort string
	var limit int
	sorts := []string{"age", "bytes", "client", "backend"}
	cmd := &cobra.Command{
		Use:   "sessions [SERVICE | SERVICE/BACKEND]",
		Short: "List sessions",
		Long: `List sessions, the oldest first. The phase is connecting (a backend is being dialled),
held (it waits for one) or relaying. SENT goes to the backend, RECEIVED comes from it.`,
		Example: `  sluice sessions web --sort bytes --limit 20
  sluice sessions web/b1 --client 10.1.0.0/16 --min-age 1h`,
		Args: between(0, 1, "SERVICE or SERVICE/BACKEND"), ValidArgsFunction: e.completeBackends,
	}
	q.register(cmd)
	f := cmd.Flags()
	f.StringVar(&sort, "sort", "age", "`ORDER`: "+strings.Join(sorts, ", "))
	f.IntVar(&limit, "limit", defaultLimit, "at most `N` of them; 0 = all")
	choices(cmd, "sort", sorts...)
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		filter, err := q.filter(cmd, args)
		switch {
		case err != nil:
			return err
		case !slices.Contains(sorts, sort):
			return usage(cmd, "--sort: %s is not one of %s", quote(sort), strings.Join(sorts, ", "))
		case limit < 0:
			return usage(cmd, "--limit: must not be below 0")
		}
		var s api.Sessions
		r := sessionsRequest(filter, sort, limit)
		raw, err := c.do(ctx, r, &s)
		if err == nil && s.Total == 0 {
			err = c.mustBeThere(ctx, r)
		}
		if err != nil {
			return err
		}
		return c.show(raw, func() { writeSessions(c.out, s) })
	})
}

// writeSessions never shortens an ID, for that is what kill wants to hear.
func writeSessions(p *printer, s api.Sessions) {
	if len(s.Sessions) == 0 {
		p.line("no sessions")
		return
	}
	t := &table{columns: []column{
		{title: "ID"}, {title: "CLIENT", least: 12}, {title: "BACKEND", least: 8}, {title: "PHASE"}, {title: "AGE", right: true},
		{title: "SENT", right: true}, {title: "RECEIVED", right: true},
	}}
	for _, one := range s.Sessions {
		backend := one.Backend
		if backend == "" {
			backend = "-"
		}
		t.add(one.ID, one.Client, backend, one.Phase, short(time.Duration(one.Age)), size(one.BytesToBackend), size(one.BytesToClient))
	}
	t.print(p)
	if s.Total > len(s.Sessions) {
		p.line("%d of %s; --limit 0 shows all", len(s.Sessions), plural(s.Total, "session"))
	}
}
