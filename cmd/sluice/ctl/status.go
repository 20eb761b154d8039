package ctl

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// wide is from where on a reason has room beside its backend.
const wide = 120

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
	}
	return b.Health
}

// out tells whether a backend gets no new sessions, other than by its weight.
func out(b api.Backend) bool {
	return state(b) != "up" && state(b) != "unknown" || !b.Usable && b.Weight > 0
}

func troubled(s api.Service) bool {
	if s.Paused != nil || s.Leaving || s.Usable == 0 {
		return true
	}
	for _, b := range s.Backends {
		if out(b) {
			return true
		}
	}
	return false
}

// writeStatus prints the whole of it.
func writeStatus(p *printer, v view, problems bool) {
	writeProcess(p, v.process)
	shown := v.services
	if problems {
		if shown = v.onlyTroubled().services; len(shown) == 0 {
			backends := 0
			for _, s := range v.services {
				backends += len(s.Backends)
			}
			p.line("\nnothing is out: %s, %s", plural(len(v.services), "service"), plural(backends, "backend"))
		}
	}
	beside := p.width == 0 || p.width >= wide
	t := statusTable(now(v.process), shown, beside)
	t.fit(max(0, p.width-2))
	row := 0
	for _, one := range shown {
		p.line("")
		writeService(p, one)
		t.title(p, "  ")
		for _, b := range one.Backends {
			t.row(p, "  ", row)
			row++
			if reason := why(b); reason != "" && !beside {
				p.w.WriteString("    " + cut(clean(reason), p.width-4) + "\n")
			}
		}
	}
}

// writeProcess prints the lines about the process.
func writeProcess(p *printer, s api.Status) {
	p.line("%s  up %s  %s  %d of %d backends usable  revision %d", painted{bold, release(s.Version)}, time.Duration(s.Uptime),
		plural(s.Sessions, "session"), s.Usable, s.Backends, int64(s.Revision))
	switch {
	case s.Draining:
		p.line("%s", painted{yellow, "draining: it takes no new clients and ends with the last session"})
	case !s.Ready:
		p.line("%s", painted{yellow, "not ready: " + s.NotReady})
	}
	if s.Reload.Error != "" {
		p.line("%s", painted{red, "reload refused " + short(now(s).Sub(s.Reload.Time)) + " ago, the file before it is in force:"})
		for l := range strings.Lines(s.Reload.Error) {
			p.line("  %s", strings.TrimRight(l, "\r\n"))
		}
	}
	if s.Descriptors.Shed > 0 {
		p.line("%s", painted{red, plural(s.Descriptors.Shed, "client") + " closed for want of descriptors, the limit is " + strconv.Itoa(s.Descriptors.Limit)})
	}
	if s.LogDropped > 0 {
		p.line("%s", painted{yellow, plural(s.LogDropped, "log record") + " dropped"})
	}
}

// release is what an operator asks for of a version, which also names the commit, Go and
// the system.
func release(version string) string {
	words := strings.Fields(strings.TrimPrefix(version, "sluice "))
	if len(words) == 0 {
		return "sluice"
	}
	return "sluice " + words[0]
}

// writeService prints the line above a service's backends, and one below it for each thing
// that is special.
func writeService(p *printer, s api.Service) {
	usable := painted{"", strconv.Itoa(s.Usable) + "/" + strconv.Itoa(len(s.Backends)) + " usable"}
	if s.Usable == 0 {
		usable.code = red
	}
	tail := "  " + s.Balance + "  " + plural(s.Sessions, "session") + "  "
	if s.Held > 0 {
		tail += "(" + strconv.FormatInt(s.Held, 10) + " waiting)  "
	}
	name, listen := clean(s.Name), clean(strings.Join(s.Listen, ", "))
	if p.width > 0 {
		name = squeeze(name, p.width/3)
		listen = squeeze(listen, max(12, p.width-width(name)-2-width(tail)-width(usable.text)))
	}
	p.line("%s  %s%s%s", painted{bold, name}, listen, tail, usable)
	if s.Leaving {
		p.line("  %s", painted{yellow, "leaving: removed, its sessions go on until their deadline"})
	}
	if s.Paused != nil {
		p.line("  %s", painted{yellow, "paused: new clients wait, for " + short(time.Duration(*s.Paused)) + " more at most"})
	}
}

// statusTable holds the backends of all services, so that their columns agree, with the
// reason beside each if it is to stand there.
func statusTable(now time.Time, all []api.Service, beside bool) *table {
	t := &table{columns: []column{
		{title: "BACKEND", least: 12}, {title: "STATE"}, {title: "WEIGHT", right: true}, {title: "SESSIONS", right: true},
		{title: "TOTAL", right: true}, {title: "CONNECT", right: true}, {title: "P99", right: true}, {title: "SINCE", right: true},
	}}
	if beside {
		t.columns = append(t.columns, column{title: "REASON", least: 10, prose: true})
	}
	for _, s := range all {
		for _, b := range s.Backends {
			since := "-"
			if !b.Since.IsZero() {
				since = short(now.Sub(b.Since))
			}
			cells := []any{b.Name, painted{tint(b), state(b)}, strconv.Itoa(b.Weight), count(b.Sessions), count(b.Total),
				latency(b.ConnectP50), latency(b.ConnectP99), since}
			if beside {
				cells = append(cells, why(b))
			}
			t.add(cells...)
		}
	}
	return t
}

// why is the reason for which a backend is out.
func why(b api.Backend) string {
	if !out(b) {
		return ""
	}
	return b.Reason
}

func tint(b api.Backend) string {
	switch state(b) {
	case "down", "ejected":
		return red
	case "up":
		if b.Usable || b.Weight == 0 {
			return ""
		}
	}
	return yellow
}

func latency(d api.Duration) string {
	if d == 0 {
		return "-"
	}
	return short(time.Duration(d))
}
