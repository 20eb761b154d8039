package ctl

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// printed returns what f prints.
func printed(width int, color bool, f func(p *printer)) string {
	var b bytes.Buffer
	p := newPrinter(&b)
	p.width, p.color, p.zone = width, color, time.UTC
	f(p)
	p.flush()
	return b.String()
}

func sample() *table {
	t := &table{columns: []column{{title: "NAME", least: 6}, {title: "N", right: true}, {title: "WHY", least: 5, prose: true}}}
	t.add("first-of-the-names", "1", "")
	t.add(painted{red, "b"}, "1234", "because it is so")
	return t
}

func TestTablesAreAlignedAndFit(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `
NAME                   N  WHY
first-of-the-names     1
b                   1234  because it is so
`},
		{30, `
NAME            N  WHY
first…names     1
b            1234  because it…
`},
		{10, `
NAME       N  WHY
fi…mes     1
b       1234  beca…
`},
	} {
		got := printed(c.width, false, sample().print)
		if got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("in %d columns:\n%s\nwant:%s", c.width, got, c.want)
		}
	}
}

func TestColorsTakeNoColumns(t *testing.T) {
	plain, color := printed(30, false, sample().print), printed(30, true, sample().print)
	if !strings.Contains(color, "\x1b[31mb\x1b[0m") {
		t.Errorf("no color: %q", color)
	}
	for _, code := range []string{"\x1b[31m", "\x1b[2m", "\x1b[0m"} {
		color = strings.ReplaceAll(color, code, "")
	}
	if color != plain {
		t.Errorf("%q, want %q", color, plain)
	}
}

func TestCellsAreClean(t *testing.T) {
	tab := &table{columns: []column{{title: "A"}, {title: "B"}}}
	tab.add("\x1b[2J", painted{red, "\u009b2J"})
	got := printed(0, true, tab.print)
	if !strings.Contains(got, `\x1b[2J`) || !strings.Contains(got, `\u009b2J`) || strings.Contains(got, "\x1b[2J") {
		t.Errorf("%q", got)
	}
}

func TestEveryArgumentOfALineIsClean(t *testing.T) {
	got := printed(0, false, func(p *printer) {
		p.line("%s %s %d %s %s", "\x1b[H", painted{red, "\a"}, 3, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), 90*time.Second)
		p.line("%s", errInterrupted)
		p.line("%s %s", time.Time{}, []string{"\x1b"})
	})
	if want := `\x1b[H \a 3 2026-01-02 03:04:05 1m30s` + "\ninterrupted\n- [\\x1b]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSONIsIndentedAndPrintable(t *testing.T) {
	got := printed(0, false, func(p *printer) {
		if err := p.json([]byte("{\"a\":\"\u009b\x7f\u202e\U000e0001\xffü\",\"b\":[1]}\n")); err != nil {
			t.Error(err)
		}
	})
	want := "{\n  \"a\": \"\\u009b\\u007f\\u202e\\udb40\\udc01\\ufffdü\",\n  \"b\": [\n    1\n  ]\n}\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b bytes.Buffer
	if err := newPrinter(&b).json([]byte("<html>\x1b")); err == nil || !strings.Contains(err.Error(), `<html>\x1b`) {
		t.Errorf("no JSON: %v", err)
	}
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	d := newDesk(t, newFake())
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"sessions"}, {"drain", "web/b1"}, {"failures"}} {
		if err := d.runTo(full{}, full{}, args...); err == nil || !strings.Contains(err.Error(), "output:") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
