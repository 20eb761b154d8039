package ctl

import "strings"

// gap stands between columns.
const gap = 2

// column of a table.
type column struct {
	title string
	right bool
	least int  // columns to which it may be squeezed; 0 = it is not
	prose bool // shortened at its end, not in its middle
}

// table lays rows out. All of them are known before the first is printed.
type table struct {
	columns []column
	rows    [][]painted
	widths  []int
}

// add appends a row of strings and painted.
func (t *table) add(cells ...any) {
	row := make([]painted, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case painted:
			row[i] = painted{c.code, clean(c.text)}
		case string:
			row[i] = painted{"", clean(c)}
		}
	}
	t.rows = append(t.rows, row)
}

// fit decides the widths, within total columns if that is above 0.
func (t *table) fit(total int) {
	t.widths = make([]int, len(t.columns))
	for i, c := range t.columns {
		t.widths[i] = width(c.title)
	}
	for _, row := range t.rows {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], width(c.text))
		}
	}
	used := gap * (len(t.columns) - 1)
	for _, w := range t.widths {
		used += w
	}
	for total > 0 && used > total && t.narrow() {
		used--
	}
}

// narrow takes one column from the widest that may give one.
func (t *table) narrow() bool {
	widest := -1
	for i, c := range t.columns {
		if c.least > 0 && t.widths[i] > c.least && (widest < 0 || t.widths[i] > t.widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	t.widths[widest]--
	return true
}

// print writes the title and all rows.
func (t *table) print(p *printer) {
	t.fit(p.width)
	t.title(p, "")
	for i := range t.rows {
		t.row(p, "", i)
	}
}

// title writes the columns' titles; a table that is printed in blocks has them above each.
func (t *table) title(p *printer, indent string) {
	cells := make([]painted, len(t.columns))
	for i, c := range t.columns {
		cells[i] = painted{dim, c.title}
	}
	t.write(p, indent, cells)
}

// row writes one row; fit comes before it.
func (t *table) row(p *printer, indent string, i int) { t.write(p, indent, t.rows[i]) }

// write writes cells in their columns. Colors come last, when the widths are decided: a terminal
// does not show them, so they must not be counted.
func (t *table) write(p *printer, indent string, cells []painted) {
	var b strings.Builder
	b.WriteString(indent)
	pending := 0 // spaces, so that none stand at the end of a line
	for i, c := range cells {
		text := squeeze(c.text, t.widths[i])
		if t.columns[i].prose {
			text = cut(c.text, t.widths[i])
		}
		fill := t.widths[i] - width(text)
		if t.columns[i].right {
			pending += fill
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", pending) + p.paint(c.code, text))
			pending = 0
		}
		if !t.columns[i].right {
			pending += fill
		}
		pending += gap
	}
	p.w.WriteString(b.String() + "\n")
}
