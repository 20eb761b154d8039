package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Figure is one cell: a value and what is said of it. Any part may be empty.
type Figure struct {
	Value  string
	Spread string // "±3%"
	Ratio  string // "0.74×"
	// Bad is true if the value is not to be trusted; it is shown with a "!".
	Bad bool
}

// Row is one line of a table.
type Row struct {
	Label   string
	Unit    string
	Figures []Figure
	// First is true if the row begins a group.
	First bool
}

// Table has a column of figures for each name of its head.
type Table struct {
	Head []string
	Rows []Row
}

// Control sequences of a terminal (ECMA-48, select graphic rendition).
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

// widths of a column's parts.
type widths struct{ value, spread, ratio int }

func (w widths) total() int { return w.value + 2 + w.spread + 1 + w.ratio }

// WriteText writes the table with aligned columns, in color if asked for. The error is
// w's.
func (t Table) WriteText(w io.Writer, color bool) error {
	label, unit, columns := t.measure()
	var b strings.Builder
	b.WriteString(pad("", label+1+unit))
	for i, name := range t.Head {
		b.WriteString("   " + paint(color, bold, padLeft(name, columns[i].total())))
	}
	b.WriteByte('\n')
	for i, row := range t.Rows {
		if row.First && i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(pad(row.Label, label) + " " + paint(color, faint, pad(row.Unit, unit)))
		for j, f := range row.Figures {
			b.WriteString("   " + f.text(columns[j], color))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// text writes a figure in a column's widths.
func (f Figure) text(w widths, color bool) string {
	mark := " "
	if f.Bad {
		mark = paint(color, red, "!")
	}
	return padLeft(f.Value, w.value) + mark + " " + paint(color, faint, pad(f.Spread, w.spread)) + " " + padLeft(f.Ratio, w.ratio)
}

// measure returns how wide labels, units and columns are.
func (t Table) measure() (label, unit int, columns []widths) {
	columns = make([]widths, len(t.Head))
	for _, row := range t.Rows {
		label, unit = max(label, width(row.Label)), max(unit, width(row.Unit))
		for i, f := range row.Figures {
			c := &columns[i]
			c.value, c.spread, c.ratio = max(c.value, width(f.Value)), max(c.spread, width(f.Spread)), max(c.ratio, width(f.Ratio))
		}
	}
	for i, name := range t.Head {
		columns[i].value += max(0, width(name)-columns[i].total())
	}
	return label, unit, columns
}

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

func paint(color bool, how, s string) string {
	if !color || strings.TrimSpace(s) == "" {
		return s
	}
	return how + s + plain
}

// trimLines removes what columns leave empty at the end of lines.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
