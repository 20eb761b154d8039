package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestNumbersHaveTheDigitsThatCount(t *testing.T) {
	tests := []struct {
		v    float64
		want string
	}{
		{0, "0"}, {2, "2"}, {3000, "3,000"}, {1234567, "1,234,567"}, {-1234, "-1,234"}, {100, "100"},
		{0.28714, "0.287"}, {0.0004, "0.000"}, {0.9996, "1.00"}, {1.234, "1.23"}, {9.994, "9.99"}, {9.996, "10.0"},
		{31.44, "31.4"}, {99.94, "99.9"}, {99.96, "100"}, {216.4, "216"}, {999.6, "1,000"}, {12345.6, "12,346"},
		{-31.44, "-31.4"}, {math.NaN(), "–"}, {math.Inf(1), "–"}, {math.Inf(-1), "–"},
	}
	for _, tt := range tests {
		if got := Number(tt.v); got != tt.want {
			t.Errorf("%v is written %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestPercentagesAreWhole(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.004: "0%", 0.034: "3%", 1.5: "150%", 9.99: "999%", 201.8: ">999%"} {
		if got := Percent(share); got != want {
			t.Errorf("%v is written %q, want %q", share, got, want)
		}
	}
}

// example is a small table.
func example() Table {
	return Table{
		Head: []string{"sluice", "haproxy"},
		Rows: []Row{
			{Label: "CPU", Unit: "µs", First: true, Figures: []Figure{{Value: "216", Spread: "±3%"}, {Value: "1,160", Spread: "±12%", Ratio: "5.37×"}}},
			{Label: "requests", Unit: "/s", Figures: []Figure{{Value: "9", Bad: true}, {Value: "–"}}},
			{Label: "memory", First: true, Figures: []Figure{{Value: "2"}, {Value: "2", Ratio: "1.00×"}}},
		},
	}
}

func TestColumnsOfATableAreAligned(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"                 sluice             haproxy",
		"CPU      µs   216  ±3%    1,160  ±12% 5.37×",
		"requests /s     9!            –",
		"",
		"memory          2             2       1.00×",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestColorChangesNothingElse(t *testing.T) {
	var plainText, colored bytes.Buffer
	if err := errors.Join(example().WriteText(&plainText, false), example().WriteText(&colored, true)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plainText.String(), "\x1b") {
		t.Error("color where none was asked for")
	}
	if !strings.Contains(colored.String(), red+"!"+plain) || !strings.Contains(colored.String(), bold) {
		t.Errorf("no color in %q", colored.String())
	}
	bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), "")
	if trimLines(bare) != plainText.String() {
		t.Errorf("got\n%s\nwant\n%s", bare, plainText.String())
	}
}

func TestAnEmptyTableIsNoFault(t *testing.T) {
	var b bytes.Buffer
	if err := (Table{}).WriteText(&b, true); err != nil || strings.TrimSpace(b.String()) != "" {
		t.Errorf("%v, %q", err, b.String())
	}
}

func TestTheGreatestBarFillsTheChart(t *testing.T) {
	c := Bars{Bars: []Bar{{Name: "a", Value: 50, Min: 40, Max: 60}, {Name: "b", Value: 100, Min: 100, Max: 100}, {Name: "c", Value: 0}}}
	d := c.Drawn()
	full := chartWidth - 2
	if d[1].W != full || d[0].W != full/2 || d[0].From != full*0.4 || d[0].To != full*0.6 {
		t.Errorf("%+v", d)
	}
	if !d[0].Whisker || d[1].Whisker {
		t.Error("a range is drawn where there is none, or not where there is")
	}
	for i := 1; i < len(d); i++ {
		if d[i].TextY <= d[i-1].Y+barHeight-2 {
			t.Errorf("bar %d lies over the one before", i)
		}
	}
	if last := d[len(d)-1]; last.Y+barHeight > c.Height() {
		t.Errorf("bar at %v in a chart of %v", last.Y, c.Height())
	}
}

func TestBarsOfNothingAreDrawn(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN()} {
		for _, b := range (Bars{Bars: []Bar{{Value: v, Min: v, Max: v}}}).Drawn() {
			if b.W != 1 || math.IsNaN(b.From) || math.IsNaN(b.To) {
				t.Errorf("%v: %+v", v, b)
			}
		}
	}
}

func TestLinesLieOnTheirScale(t *testing.T) {
	c := Lines{Places: []string{"50 %", "99 %", "max"}, Lines: []Line{{Values: []float64{100, 1000, 9000}}, {Values: []float64{150, 0, 10_000}}}}
	scale := c.Scale()
	if len(scale) != 3 || scale[0].Text != "100" || scale[2].Text != "10,000" || scale[0].At != linesBottom || scale[2].At != linesTop {
		t.Errorf("scale %+v", scale)
	}
	below := c.Below()
	if below[0].At != c.Left() || below[2].At != c.Right() || below[1].Text != "99 %" {
		t.Errorf("places %+v", below)
	}
	d := c.Drawn()
	if first := d[0].Dots[0]; first != [2]float64{linesLeft, linesBottom} {
		t.Errorf("100 lies at %v", first)
	}
	if middle := d[0].Dots[1][1]; math.Abs(middle-(linesTop+linesBottom)/2) > 0.01 {
		t.Errorf("1,000 lies at %v", middle)
	}
	if len(d[1].Dots) != 2 || strings.Count(d[1].Points, ",") != 2 {
		t.Errorf("what is 0 is drawn: %+v", d[1])
	}
}

func TestAChartOfNothingHasAScale(t *testing.T) {
	c := Lines{Places: []string{"max"}, Lines: []Line{{Values: []float64{0}}}}
	if len(c.Scale()) != 2 || len(c.Drawn()[0].Dots) != 0 || c.Below()[0].At != linesLeft {
		t.Errorf("%+v, %+v", c.Scale(), c.Drawn())
	}
	flat := Lines{Places: []string{"max"}, Lines: []Line{{Values: []float64{100}}}}
	if y := flat.Drawn()[0].Dots[0][1]; math.IsNaN(y) || math.IsInf(y, 0) {
		t.Errorf("100 alone lies at %v", y)
	}
}

// page is one with everything.
func page() Page {
	return Page{
		Title: "A <title>", Facts: []Fact{{"machine", "2 cores & more"}}, Warnings: []string{"it <failed>"},
		Table: example(), Legend: "Medians.",
		Lines: []Lines{{Title: "Latency", Unit: "µs", Places: []string{"50 %", "max"}, Lines: []Line{{Name: "sluice", Color: 7, Values: []float64{90, 1000}}}}},
		Bars:  []Bars{{Title: "CPU", Unit: "µs", Bars: []Bar{{Name: "sluice", Value: 1, Min: 0.5, Max: 2, Text: "1.00"}}}},
		Notes: []string{"A note."}, Texts: []Fact{{"Configuration", "listen <x>\n  bind"}},
	}
}

func write(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPageShowsEverythingItHas(t *testing.T) {
	text := write(t, page())
	for _, want := range []string{
		"<title>A &lt;title&gt;</title>", "2 cores &amp; more", "it &lt;failed&gt;", "±12%", "5.37×", "9!", "Medians.",
		"<polyline", "<rect", `class="range"`, "A note.", "listen &lt;x&gt;", "less is better", "prefers-color-scheme: dark",
		`name="viewport"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != 2 {
		t.Errorf("%d charts", n)
	}
}

func TestAPageStandsAlone(t *testing.T) {
	text := write(t, page())
	for _, banned := range []string{"http:", "https:", "<script", "<link", "src=", "url(", "@import"} {
		if strings.Contains(text, banned) {
			t.Errorf("it has %q", banned)
		}
	}
	if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "%!") || strings.Contains(text, "NaN") {
		t.Error("a value was not written")
	}
}

func TestAPageIsWellFormed(t *testing.T) {
	parts := page()
	parts.Matrix = Matrix{Head: []string{"a"}, Rows: []MatrixRow{{Label: "f", Cells: []Cell{{Value: "1"}}}}}
	parts.Sections = []Section{{Title: "s", Timelines: []Timeline{timeline()}, More: []Timeline{timeline()}, Table: example()}}
	for name, p := range map[string]Page{"full": page(), "empty": {}, "sections": parts} {
		text := strings.TrimPrefix(write(t, p), "<!DOCTYPE html>")
		d := xml.NewDecoder(strings.NewReader(text))
		d.Strict = false
		d.AutoClose = []string{"meta"}
		d.Entity = xml.HTMLEntity
		var open []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v, inside %v", name, err, open)
			}
			switch e := token.(type) {
			case xml.StartElement:
				open = append(open, e.Name.Local)
			case xml.EndElement:
				if open[len(open)-1] != e.Name.Local {
					t.Fatalf("%s: </%s> inside %v", name, e.Name.Local, open)
				}
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: %v left open", name, open)
		}
	}
}

// failing takes nothing.
type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	if err := page().Write(failing{}); !errors.Is(err, errFull) {
		t.Errorf("page: %v", err)
	}
	if err := example().WriteText(failing{}, false); !errors.Is(err, errFull) {
		t.Errorf("table: %v", err)
	}
}
