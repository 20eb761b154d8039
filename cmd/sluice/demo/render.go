package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/l4"
)

const (
	// width leaves the last of 80 columns free: some terminals wrap as soon as it is
	// written.
	width    = 79
	barWidth = 8
)

// picture is all that the display shows, at one instant.
type picture struct {
	rows  []row
	tally tally
	chaos string // what chaos did so far; "" without it
}

// row is a backend as the balancer sees it.
type row struct {
	name   string
	status string // up, down, ejected or unknown
	age    time.Duration
	now    int64   // sessions
	total  int64   // sessions since the start
	share  float64 // of the recent ones, 0 to 1
	reason string  // of the last change of state
}

// rowOf takes what the display shows from a backend's numbers.
func rowOf(b l4.BackendStats, share float64, now time.Time) row {
	status := b.Health.String()
	if b.Ejected && b.Health != l4.Down {
		status = "ejected"
	}
	return row{b.Name, status, now.Sub(b.Since), b.Sessions, b.Total, share, b.Reason}
}

// draw returns the display for a terminal.
func (p picture) draw(color bool) []string {
	lines := []string{"", clip(fmt.Sprintf("%-8s%-11s%4s%7s  %-*s  %s",
		"backend", "state", "now", "total", barWidth+5, "last 5s", "why"))}
	for _, r := range p.rows {
		lines = append(lines, r.draw(color))
	}
	lines = append(lines, "", clip(p.tally.String()))
	if p.chaos != "" {
		lines = append(lines, clip(p.chaos))
	}
	if p.tally.failed > 0 {
		last := fold("last failure: "+p.tally.last.String(), width, width-2, "  ")
		for l := range strings.SplitSeq(last, "\n") {
			lines = append(lines, clip(l))
		}
	}
	return lines
}

// draw clips before it paints: colors take no column.
func (r row) draw(color bool) string {
	bar := strings.Repeat("#", int(r.share*barWidth+0.5))
	state := fmt.Sprintf("%-7s %3s", r.status, age(r.age))
	before := fmt.Sprintf("%-8s", r.name)
	after := fmt.Sprintf("%4d%7d  %-*s %3.0f%%  ", r.now, r.total, barWidth, bar, 100*r.share)
	// The log above the display tells the rest, how often and for how long.
	reason, _, _ := strings.Cut(r.reason, " (")
	rest := clip(before + state + after + reason)[len(before)+len(state):]
	return before + paint(state, colorOf(r.status), color) + rest
}

// line returns the numbers in one line, for where nothing can be redrawn.
func (p picture) line() string {
	parts := make([]string, 0, len(p.rows)+1)
	for _, r := range p.rows {
		parts = append(parts, fmt.Sprintf("%s %s %.0f%%", r.name, r.status, 100*r.share))
	}
	return strings.Join(append(parts, p.tally.String()), ", ")
}

// String returns the totals.
func (t tally) String() string {
	return fmt.Sprintf("requests: %d sent, %d ok, %d failed", t.sent, t.ok, t.failed)
}

// age rounds a duration to three characters, as long as it is less than four days.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Truncate(time.Second).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Truncate(time.Minute).Minutes())
	}
	return fmt.Sprintf("%.0fh", d.Truncate(time.Hour).Hours())
}

// clip cuts a line to the width of the display, and drops spaces at its end.
func clip(s string) string {
	r := []rune(strings.TrimRight(s, " "))
	if len(r) > width {
		r = append(r[:width-3], []rune("...")...)
	}
	return string(r)
}

// Colors (ECMA-48 SGR).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	plain  = ""
)

func colorOf(status string) string {
	switch status {
	case "up":
		return green
	case "down":
		return red
	case "ejected":
		return yellow
	}
	return plain
}

func paint(s, code string, color bool) string {
	if !color || code == plain {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
