package report

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// timeline has four buckets of 50 ms, one of them with a failure.
func timeline() Timeline {
	return Timeline{
		Title: "sl<u>ice", Text: "1 failed", Bad: true, Bucket: 0.05,
		Counts: []Count{{Served: 10}, {Served: 9, Failed: 1}, {Served: 10, Late: 4}, {Served: 10}},
		Bands: []Band{
			{Name: "b1", Served: []int{5, 0, 0, 5}, Broken: []Period{{0.05, 0.15}}},
			{Name: "b2", Served: []int{5, 9, 10, 5}},
		},
		Held: 4, Stuck: []int{0, 1, 1, 0}, Ended: []int{0, 2, 0, 0}, HeldText: "long: 2 ended",
	}
}

// path finds the paths of a class.
func path(c Timeline, class string) []string {
	var all []string
	for _, p := range c.Paths() {
		if p.Class == class && p.D != "" {
			all = append(all, p.D)
		}
	}
	return all
}

func TestATimelineDrawsEachCountWhereItWas(t *testing.T) {
	c := timeline()
	c.Most = 10
	quarter := (timeRight - timeLeft) / 4
	x := func(i float64) string { return short(timeLeft + i*quarter) }
	tests := []struct {
		name, class string
		want        []string
	}{
		{"all, one step as long as nothing changes", "ok", []string{"M" + x(0) + " 88V18H" + x(4) + "V88"}},
		{"failed, at the base, in its bucket, and as a strip; long sessions that ended", "fail", []string{
			"M" + x(1) + " 88V81H" + x(2) + "V88", "M" + x(1) + " 90h70v6h-70z", "M" + x(1) + " 156h70v10h-70z"}},
		{"backends by their share: each fair, and one with all", "s2", []string{
			"M" + x(0) + " 101h70v11h-70zM" + x(3) + " 101h70v11h-70z", "M" + x(0) + " 115h70v11h-70zM" + x(3) + " 115h70v11h-70z"}},
		{"the other one alone", "s4", []string{"M" + x(1) + " 115h140v11h-140z"}},
		{"nobody else", "s1", nil},
	}
	for _, tt := range tests {
		if got := path(c, tt.class); strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestASingleFailureAmongManyCanBeSeen(t *testing.T) {
	c := Timeline{Bucket: 0.05, Counts: make([]Count, 1000)}
	for i := range c.Counts {
		c.Counts[i].Served = 10000
	}
	c.Counts[500].Failed = 1
	got := path(c, "fail")
	if len(got) != 2 || !strings.Contains(got[0], "V"+short(countsBase-leastHeight)) || !strings.Contains(got[1], "h"+short(leastWidth)+"v") {
		t.Errorf("drawn as %q", got)
	}
}

func TestFaultAndMendedAreMarked(t *testing.T) {
	c := timeline()
	tests := []struct {
		name   string
		broken []Period
		want   string
	}{
		{"never broken", nil, ""},
		{"once", []Period{{0.05, 0.15}}, "fault middle, mended middle"},
		{"several times: the first and the last", []Period{{0, 0.01}, {0.1, 0.15}}, "fault middle, mended middle"},
		{"so shortly that words would touch", []Period{{0.1, 0.11}}, "fault end, mended start"},
		{"until the end", []Period{{0.1, 9}}, "fault middle"},
	}
	for _, tt := range tests {
		c.Bands[0].Broken = tt.broken
		var got []string
		for _, e := range c.Events() {
			if e.At < timeLeft || e.At > timeRight {
				t.Errorf("%s: %s at %v is outside", tt.name, e.Text, e.At)
			}
			got = append(got, e.Text+" "+e.Anchor)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if len(c.Broken()) != len(tt.broken) || (len(c.Shade()) > 0) != (len(tt.broken) > 0) {
			t.Errorf("%s: %d frames, %d shades", tt.name, len(c.Broken()), len(c.Shade()))
		}
	}
}

func TestAnAxisHasFewMarks(t *testing.T) {
	for _, buckets := range []int{0, 1, 20, 80, 200, 1200, 12000, 100000, 10_000_000} {
		c := Timeline{Bucket: 0.05, Counts: make([]Count, buckets)}
		if n := len(c.Ticks()); n < 1 || n > 7 {
			t.Errorf("%d buckets: %d marks", buckets, n)
		}
	}
}

func TestSharesHaveFiveLevels(t *testing.T) {
	tests := []struct{ served, all, backends, want int }{
		{0, 30, 3, 0}, {1, 30, 3, 1}, {10, 30, 3, 2}, {8, 25, 3, 2}, {15, 30, 3, 3}, {30, 30, 3, 4}, {5, 5, 1, 2}, {0, 0, 3, 0},
	}
	for _, tt := range tests {
		if got := level(tt.served, tt.all, tt.backends); got != tt.want {
			t.Errorf("%d of %d, %d backends: level %d, want %d", tt.served, tt.all, tt.backends, got, tt.want)
		}
	}
}

func TestATimelineStaysInsideItsBox(t *testing.T) {
	c := timeline()
	c.Most = 1 // less than there is
	c.Stuck = []int{9, 9, 9, 9, 9, 9}
	c.Bands[0].Served = append(c.Bands[0].Served, 1, 2, 3)
	number := regexp.MustCompile(`[VHM]-?[0-9.]+`)
	for _, p := range c.Paths() {
		for _, v := range number.FindAllString(p.D, -1) {
			if n, err := strconv.ParseFloat(v[1:], 64); err != nil || n < 0 || v[0] != 'V' && n > 320 || v[0] == 'V' && n > c.Height() {
				t.Errorf("%s: %s", p.Class, v)
			}
		}
	}
}

func TestATimelineOfNothingIsDrawn(t *testing.T) {
	text := write(t, Page{Sections: []Section{{Title: "empty", Timelines: []Timeline{{}, {Bands: []Band{{}}, Held: 1}}}}})
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Count(text, "<svg") != 2 {
		t.Error("it is not")
	}
}

func TestSectionsAndAMatrixAreShown(t *testing.T) {
	p := Page{
		Matrix: Matrix{Head: []string{"<b>"}, Rows: []MatrixRow{
			{Label: "kill", Anchor: 0, Cells: []Cell{{Value: "3 failed", More: "worst <2", Level: 4, Best: true}}},
			{Label: "none", Anchor: -1, Cells: []Cell{{Value: "–", Level: -1}}},
		}},
		Sections: []Section{{Title: "K<i>ll", Text: "Why & how.", List: []string{"one"}, Timelines: []Timeline{timeline()}, Folded: "others", More: []Timeline{timeline()}, Table: example()}},
	}
	text := write(t, p)
	for _, want := range []string{
		"<th>&lt;b&gt;</th>", `<a href="#s0">kill</a>`, `class="l4">3 failed <b title="best">✓</b><small>worst &lt;2</small>`, "<th>none</th>", "<td>–</td>",
		`<h2 id="s0">K&lt;i&gt;ll</h2>`, "Why &amp; how.", "<li>one</li>", "<summary>others</summary>", "5.37×", "sl&lt;u&gt;ice", `role="img"`,
		`aria-label="sl&lt;u&gt;ice: 1 failed; broken from 0.1 s to 0.1 s of 0.2 s; long: 2 ended"`, ">fault<", ">mended<", ">b2<",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != 2 {
		t.Errorf("%d charts", n)
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "ZgotmplZ") {
		t.Error("it has a script, or what was not written")
	}
}
