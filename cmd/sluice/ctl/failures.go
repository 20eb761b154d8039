package ctl

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// failures answers "a client complains": who was tried for it, and what each said.
func (e *Env) failures() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "failures [SERVICE]",
		Short: "List sessions that failed or were retried, and why",
		Long: `List the newest sessions that failed, or that needed more than one backend, the newest
first, with each backend that was tried in vain. Clients that were turned away before a
backend was chosen for them are counted below, by reason; the log names them.`,
		Example: "  sluice failures web --limit 20",
		Args:    between(0, 1, "[SERVICE]"), ValidArgsFunction: e.completeServices,
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "at most `N` of them; 0 = all")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		if limit < 0 {
			return usage(cmd, "--limit: must not be below 0")
		}
		r := request{path: "/failures", query: url.Values{"limit": {strconv.Itoa(limit)}}}
		if len(args) > 0 {
			r.service = args[0]
			r.query.Set("service", args[0])
		}
		var list []api.Failure
		raw, err := c.do(ctx, r, &list)
		if err == nil && len(list) == 0 {
			err = c.mustBeThere(ctx, r)
		}
		if err != nil {
			return err
		}
		if c.json {
			return c.show(raw, nil)
		}
		writeFailures(c.out, list)
		return c.countTurnedAway(ctx, r.service)
	})
}

// turnedAway tells whether a client that ended so never had a backend chosen for it: of these
// there is no record, only a number, as there may be ten thousand a second.
func turnedAway(why string) bool {
	switch why {
	case "denied", "descriptors", "limit-connections", "limit-per-source", "limit-rate", "paused", "proxy-header", "proxy-timeout":
		return true
	}
	return false
}

// countTurnedAway prints a line for each service that has turned clients away.
func (c *call) countTurnedAway(ctx context.Context, name string) error {
	all, _, err := c.services(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		var parts []string
		for _, why := range slices.Sorted(maps.Keys(s.Ended)) {
			if n := s.Ended[why]; turnedAway(why) && n > 0 {
				parts = append(parts, count(n)+" "+clean(why))
			}
		}
		if len(parts) > 0 && (name == "" || s.Name == name) {
			c.out.line("%s turned away since it began: %s", s.Name, strings.Join(parts, ", "))
		}
	}
	return nil
}

// writeFailures prints records of several lines: attempts do not fit a table of 80 columns.
func writeFailures(p *printer, list []api.Failure) {
	if len(list) == 0 {
		p.line("no session failed or was retried")
	}
	for _, f := range list {
		came := painted{red, "failed"}
		if f.Backend != "" {
			came = painted{yellow, "got " + f.Backend}
		}
		p.line("%s  %s  %s  %s: %s %s after %s", f.Time, f.Service, f.Client, came, f.Who, f.Why, time.Duration(f.Duration))
		if f.Held > 0 {
			p.line("    waited %s for a backend", time.Duration(f.Held))
		}
		for _, a := range f.Attempts {
			p.line("    tried %s: %s (%s)", a.Backend, a.Error, time.Duration(a.Took))
		}
	}
}
