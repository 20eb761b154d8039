package ctl

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// wide is from where on a reason has room beside its backend.
const wide = 120

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
	// One layout for all, or columns would jump from service to service.
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
	name := release(s.Version)
	rest := p.text("  up %s  %s  %d/%d usable  revision %d", time.Duration(s.Uptime), plural(s.Sessions, "session"), s.Usable, s.Backends, int64(s.Revision))
	if p.width > 0 {
		rest = cut(rest, p.width-width(clean(name)))
	}
	p.line("%s%s", painted{bold, name}, rest)
	switch {
	case s.Draining:
		p.line("%s", painted{yellow, "draining: it takes no new clients and ends with the last session"})
	case !s.Ready && s.NotReady == "":
		p.line("%s", painted{yellow, "not ready"})
	case !s.Ready:
		p.line("%s", painted{yellow, "not ready: " + s.NotReady})
	}
	// Who edits a file and sees no effect looks here.
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
	// What the numbers leave of the line is for the name, and then for the addresses.
	if p.width > 0 {
		room := p.width - width(tail) - width(usable.text) - 2
		name = squeeze(name, max(8, room*2/3))
		listen = squeeze(listen, max(6, room-width(name)))
	}
	p.line("%s  %s%s%s", painted{bold, name}, listen, tail, usable)
	if s.Leaving {
		p.line("  %s", painted{yellow, "leaving: removed, its sessions go on until their deadline"})
	}
	for _, lost := range s.Lost {
		p.line("  %s", painted{red, "listener lost: " + clean(lost)})
	}
	if s.Paused != nil {
		p.line("  %s", painted{yellow, "paused: new clients wait, for " + short(time.Duration(*s.Paused)) + " more at most"})
	}
}

// statusTable holds the backends of all services, so that their columns agree, with the
// reason beside each if it is to stand there.
func statusTable(now time.Time, all []api.Service, beside bool) *table {
	prioritised, limited := special(all)
	t := &table{columns: []column{{title: "BACKEND", least: 12}, {title: "STATE"}, {title: "WEIGHT", right: true}}}
	if prioritised {
		t.columns = append(t.columns, column{title: "PRIO", right: true})
	}
	t.columns = append(t.columns, column{title: "SESSIONS", right: true})
	if limited {
		t.columns = append(t.columns, column{title: "MAX", right: true})
	}
	t.columns = append(t.columns,
		column{title: "TOTAL", right: true}, column{title: "CONNECT", right: true}, column{title: "P99", right: true}, column{title: "SINCE", right: true})
	if beside {
		t.columns = append(t.columns, column{title: "REASON", least: 10, prose: true})
	}
	for _, s := range all {
		for _, b := range s.Backends {
			since := "-"
			if !b.Since.IsZero() {
				since = short(now.Sub(b.Since))
			}
			cells := []any{b.Name, painted{tint(b), state(b)}, strconv.Itoa(b.Weight)}
			if prioritised {
				cells = append(cells, strconv.Itoa(b.Priority))
			}
			cells = append(cells, count(b.Sessions))
			if limited {
				cells = append(cells, limit(b))
			}
			cells = append(cells, count(b.Total), latency(b.ConnectP50), latency(b.ConnectP99), since)
			if beside {
				cells = append(cells, why(b))
			}
			t.add(cells...)
		}
	}
	return t
}

// special tells whether any backend has a priority other than the first, or a limit: most
// files have neither, and a terminal is narrow.
func special(all []api.Service) (prioritised, limited bool) {
	for _, s := range all {
		for _, b := range s.Backends {
			prioritised = prioritised || b.Priority > 0
			limited = limited || b.MaxConnections > 0
		}
	}
	return prioritised, limited
}

// limit is how many sessions a backend may have.
func limit(b api.Backend) string {
	if b.MaxConnections == 0 {
		return "-"
	}
	return count(int64(b.MaxConnections))
}

// why is the reason for which a backend is out.
func why(b api.Backend) string {
	if !out(b) {
		return ""
	}
	return b.Reason
}

// tint is red for what broke and yellow for what somebody wants, or nobody knows yet.
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

// latency shows no zero where there was no dial: it would be the best of all.
func latency(d api.Duration) string {
	if d == 0 {
		return "-"
	}
	return short(time.Duration(d))
}
