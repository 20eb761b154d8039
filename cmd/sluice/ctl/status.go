package ctl

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// status is the first thing that is typed when something is wrong, so it works with no argument
// and prints all there is in one go.
func (e *Env) status() *cobra.Command {
	var problems bool
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "status [SERVICE]",
		Short: "Show services and backends",
		Long: `Show what runs: a line about the process, then each service with its backends.

The state of a backend is one word: up, down (its check says so), ejected (clients'
dials failed), unknown (not checked yet), drain or maint (a person says so), leaving
(removed, its last sessions go on). CONNECT is how long dials to it take: the median
and the 99th percentile. A reason stands there when no new session may go to it.

On a terminal the table fits it; elsewhere nothing is shortened, and a backend is one
line.`,
		Example: `  sluice status
  sluice status web --watch
  sluice status --problems`,
		Args:              between(0, 2, "[SERVICE]"),
		ValidArgsFunction: e.completeServices,
	}
	cmd = e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		watching := cmd.Flags().Changed("watch")
		if n := len(args) - 1; n >= 0 && watching {
			// A flag that may stand alone takes no separate value, as in --watch 5s.
			if d, err := time.ParseDuration(args[n]); err == nil {
				watch, args = d, args[:n]
			}
		}
		if len(args) > 1 {
			return usage(cmd, "status: one argument too many: %s; it takes [SERVICE]", quote(args[1]))
		}
		name := strings.Join(args, "")
		if watching {
			return c.watchStatus(ctx, watch, name, problems)
		}
		return c.showStatus(ctx, name, problems)
	})
	f := cmd.Flags()
	f.BoolVar(&problems, "problems", false, "only services with something out")
	f.DurationVarP(&watch, "watch", "w", 0, "draw again every `TIME` until interrupted")
	f.Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

// view is what status shows, and the JSON that it came as.
type view struct {
	process    api.Status
	services   []api.Service
	processRaw json.RawMessage
	each       []json.RawMessage // one for each service
}

// fetch gets a view of all services, or of the one that is named.
func (c *call) fetch(ctx context.Context, name string) (v view, err error) {
	if v.process, v.processRaw, err = c.client.status(ctx); err != nil {
		return v, err
	}
	if name != "" {
		one, raw, err := c.service(ctx, name)
		v.services, v.each = []api.Service{one}, []json.RawMessage{raw}
		return v, err
	}
	var raw []byte
	if v.services, raw, err = c.services(ctx); err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v.each); err != nil {
		return v, c.garbage(raw, err)
	}
	return v, nil
}

// onlyTroubled leaves services out that are well.
func (v view) onlyTroubled() view {
	all, each := v.services, v.each
	v.services, v.each = nil, []json.RawMessage{}
	for i, s := range all {
		if troubled(s) {
			v.services, v.each = append(v.services, s), append(v.each, each[i])
		}
	}
	return v
}

// showStatus prints a view once.
func (c *call) showStatus(ctx context.Context, name string, problems bool) error {
	v, err := c.fetch(ctx, name)
	if err != nil {
		return err
	}
	if !c.json {
		writeStatus(c.out, v, problems)
		return nil
	}
	if problems {
		v = v.onlyTroubled()
	}
	text, err := json.Marshal(struct {
		Status   json.RawMessage   `json:"status"`
		Services []json.RawMessage `json:"services"`
	}{v.processRaw, v.each})
	if err != nil {
		return err
	}
	return c.out.json(text)
}

// state is a backend's state in one word. What people want goes before what probes say.
func state(b api.Backend) string {
	switch {
	case b.Leaving:
		return "leaving"
	case b.Admin == api.Drain, b.Admin == api.Maint:
		return b.Admin
	case b.Health == "down":
		return "down"
	case b.Ejected:
		return "ejected"
	case b.State == "conflict":
		return b.State // up, and claims to be the writer, which another is
	}
	return b.Health
}

// out tells whether a backend gets no new sessions, other than by its weight.
func out(b api.Backend) bool {
	return state(b) != "up" && state(b) != "unknown" || !b.Usable && b.Weight > 0
}

// troubled tells whether a service is worth a look.
func troubled(s api.Service) bool {
	if s.Paused != nil || s.Leaving || s.Usable == 0 || len(s.Lost) > 0 {
		return true
	}
	for _, b := range s.Backends {
		if out(b) {
			return true
		}
	}
	return false
}
