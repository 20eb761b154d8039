package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Timeline is a chart of what became of clients, of who served them and of what was
// broken meanwhile.
type Timeline struct {
	Title string
	// Text are its figures in few words.
	Text string
	// Bad is true if Text must not be overlooked.
	Bad bool
	// Bucket is the time of one count, in seconds; more than 0.
	Bucket float64
	// Most is the count that fills the height; 0 = the greatest there is. Charts that are
	// compared have the same.
	Most   int
	Counts []Count
	Bands  []Band
	// Held is the number of long sessions; 0 = there is nothing to show of them.
	Held int
	// Stuck and Ended are how many of those were stuck, and ended, in each bucket.
	Stuck, Ended []int
	// HeldText says what became of them.
	HeldText string
}

// Count is what became of the clients of a bucket. Late is a part of Served.
type Count struct{ Served, Late, Failed int }

// Band is one backend.
type Band struct {
	Name string
	// Served is how many it served in each bucket.
	Served []int
	Broken []Period
}

// Period is a piece of time in seconds.
type Period struct{ From, To float64 }

// Geometry, as for bars. From the top: words, counts, the strip of failures, bands, long
// sessions, the axis.
const (
	timeLeft    = 26.0
	timeRight   = 306.0
	countsTop   = 18.0
	countsBase  = 88.0
	stripTop    = 90.0
	stripHeight = 6.0
	bandsTop    = 101.0
	bandPitch   = 14.0
	bandHeight  = 11.0
	heldGap     = 17.0 // of words
	heldHeight  = 20.0
	axisHeight  = 20.0
	leastWidth  = 2.5 // of what must not be overlooked
	leastHeight = 3.0
)

// drawnPath is one path and its class.
type drawnPath struct{ Class, D string }

// drawnRect is a piece of the chart from X to X+W.
type drawnRect struct{ X, Y, W, H float64 }

// Left is the left end of the plot.
func (c Timeline) Left() float64 { return timeLeft }

// Right is its right end.
func (c Timeline) Right() float64 { return timeRight }

// Base is where counts are zero.
func (c Timeline) Base() float64 { return countsBase }

func (c Timeline) bandsBottom() float64 { return bandsTop + bandPitch*float64(len(c.Bands)) }

// HeldTextY is where the words about long sessions stand.
func (c Timeline) HeldTextY() float64 { return c.bandsBottom() + heldGap - 5 }

// HeldBase is where no long session is stuck.
func (c Timeline) HeldBase() float64 { return c.bandsBottom() + heldGap + heldHeight }

// Bottom is the lower end of what is drawn over time.
func (c Timeline) Bottom() float64 {
	if c.Held > 0 {
		return c.HeldBase()
	}
	return c.bandsBottom()
}

// Height of the chart.
func (c Timeline) Height() float64 { return c.Bottom() + axisHeight }

// AxisY is where the axis is labelled.
func (c Timeline) AxisY() float64 { return c.Bottom() + 15 }

// seconds is the length of what is shown.
func (c Timeline) seconds() float64 {
	return max(c.Bucket*float64(len(c.Counts)), math.SmallestNonzeroFloat32)
}

// at is where an instant is; what is outside is at the end.
func (c Timeline) at(second float64) float64 {
	return timeLeft + min(max(second/c.seconds(), 0), 1)*(timeRight-timeLeft)
}

// edge is where the i-th bucket begins.
func (c Timeline) edge(i int) float64 {
	return timeLeft + float64(i)/float64(max(len(c.Counts), 1))*(timeRight-timeLeft)
}

// most is what fills the height.
func (c Timeline) most() float64 {
	most := max(c.Most, 1)
	if c.Most <= 0 {
		for _, n := range c.Counts {
			most = max(most, n.Served+n.Failed)
		}
	}
	return float64(most)
}

// Paths are the areas and strips, in the order in which they are drawn: failed at the
// bottom, late over it, the others on top.
func (c Timeline) Paths() []drawnPath {
	scale := (countsBase - countsTop) / c.most()
	area := func(of func(Count) int) string {
		return c.area(len(c.Counts), countsBase, countsBase-countsTop, func(i int) float64 { return scale * float64(of(c.Counts[i])) })
	}
	paths := []drawnPath{
		{"ok", area(func(n Count) int { return n.Served + n.Failed })},
		{"late", area(func(n Count) int { return n.Late + n.Failed })},
		{"fail", area(func(n Count) int { return n.Failed })},
		{"late", c.strip(len(c.Counts), stripTop, stripHeight, leastWidth, func(i int) bool { return c.Counts[i].Late > 0 })},
		{"fail", c.strip(len(c.Counts), stripTop, stripHeight, leastWidth, func(i int) bool { return c.Counts[i].Failed > 0 })},
	}
	for i := range c.Bands {
		for level := 1; level <= levels; level++ {
			paths = append(paths, drawnPath{"s" + strconv.Itoa(level), c.band(i, level)})
		}
	}
	if c.Held > 0 {
		held := heldHeight / float64(c.Held)
		paths = append(paths,
			drawnPath{"late", c.area(len(c.Stuck), c.HeldBase(), heldHeight, func(i int) float64 { return held * float64(c.Stuck[i]) })},
			drawnPath{"fail", c.bars(c.Ended, held)})
	}
	return paths
}

// levels are how many intensities a band has besides nothing.
const levels = 4

// level is how much of a bucket a backend served, next to what would be its fair share.
func level(served, all, backends int) int {
	if served <= 0 || all <= 0 {
		return 0
	}
	switch fair := float64(served) * float64(backends) / float64(all); {
	case fair < 0.6:
		return 1
	case fair < 1.25:
		return 2
	case fair < 1.75:
		return 3
	}
	return levels
}

// band draws where the i-th backend served so much.
func (c Timeline) band(i, of int) string {
	b := c.Bands[i]
	return c.strip(len(b.Served), bandsTop+bandPitch*float64(i), bandHeight, 0, func(k int) bool {
		all := 0
		for _, other := range c.Bands {
			if k < len(other.Served) {
				all += other.Served[k]
			}
		}
		return level(b.Served[k], all, len(c.Bands)) == of
	})
}

// area draws n steps upon a base, as high as asked for, at most most; what is more than
// nothing can be seen.
func (c Timeline) area(n int, base, most float64, height func(int) float64) string {
	var b strings.Builder
	before := 0.0
	for i := range min(n, len(c.Counts)) {
		h := height(i)
		if h > 0 {
			h = min(max(h, leastHeight), most)
		}
		if h != before {
			switch {
			case before == 0:
				b.WriteString("M" + short(c.edge(i)) + " " + short(base))
			default:
				b.WriteString("H" + short(c.edge(i)))
			}
			b.WriteString("V" + short(base-h))
		}
		before = h
	}
	if before > 0 {
		b.WriteString("H" + short(c.edge(min(n, len(c.Counts)))) + "V" + short(base))
	}
	return b.String()
}

// bars draws each count by itself, upon the base of long sessions.
func (c Timeline) bars(counts []int, scale float64) string {
	var b strings.Builder
	for i, n := range counts[:min(len(counts), len(c.Counts))] {
		if n <= 0 {
			continue
		}
		x, w := c.edge(i), max(c.edge(i+1)-c.edge(i), leastWidth)
		h := min(max(scale*float64(n), leastHeight), heldHeight)
		b.WriteString("M" + short(x) + " " + short(c.HeldBase()-h) + "h" + short(w) + "v" + short(h) + "h-" + short(w) + "z")
	}
	return b.String()
}

// strip draws where something is so, in one piece where it stays so, and no piece narrower
// than least.
func (c Timeline) strip(n int, top, height, least float64, is func(int) bool) string {
	var b strings.Builder
	n = min(n, len(c.Counts))
	for i := 0; i < n; i++ {
		if !is(i) {
			continue
		}
		from := i
		for i+1 < n && is(i+1) {
			i++
		}
		x, w := c.edge(from), max(c.edge(i+1)-c.edge(from), least)
		b.WriteString("M" + short(x) + " " + short(top) + "h" + short(w) + "v" + short(height) + "h-" + short(w) + "z")
	}
	return b.String()
}

// short writes a coordinate in few letters.
func short(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// Names are those of the bands.
func (c Timeline) Names() []mark {
	var all []mark
	for i, b := range c.Bands {
		all = append(all, mark{bandsTop + bandPitch*float64(i) + bandHeight - 1.5, b.Name})
	}
	return all
}

// Broken are the pieces of bands in which a backend was broken.
func (c Timeline) Broken() []drawnRect {
	var all []drawnRect
	for i, b := range c.Bands {
		for _, p := range b.Broken {
			x := c.at(p.From)
			all = append(all, drawnRect{x, bandsTop + bandPitch*float64(i) - 1, max(c.at(p.To)-x, 1), bandHeight + 2})
		}
	}
	return all
}

// whole is from the first fault until the last is mended; ok is false if there is none.
func (c Timeline) whole() (p Period, ok bool) {
	for _, b := range c.Bands {
		for _, broken := range b.Broken {
			if !ok {
				p, ok = broken, true
			}
			p = Period{min(p.From, broken.From), max(p.To, broken.To)}
		}
	}
	return p, ok
}

// event is a line from top to bottom with a word, which ends, begins or has its middle there.
type event struct {
	At           float64
	Text, Anchor string
}

// roomForWords is the least distance at which the words of two events do not touch.
const roomForWords = 44.0

// Events are the first fault, and when the last was mended.
func (c Timeline) Events() []event {
	p, ok := c.whole()
	if !ok {
		return nil
	}
	from, to := c.at(p.From), c.at(p.To)
	switch {
	case p.To >= c.seconds():
		return []event{{from, "fault", "middle"}}
	case to-from < roomForWords:
		return []event{{from + 2, "fault", "end"}, {to - 2, "mended", "start"}}
	}
	return []event{{from, "fault", "middle"}, {to, "mended", "middle"}}
}

// Shade is the time in which anything was broken.
func (c Timeline) Shade() []drawnRect {
	p, ok := c.whole()
	if !ok {
		return nil
	}
	return []drawnRect{{c.at(p.From), countsTop, max(c.at(p.To)-c.at(p.From), 1), c.Bottom() - countsTop}}
}

// Ticks are the marks of the axis, at most seven.
func (c Timeline) Ticks() []mark {
	step := 1.0
	for _, s := range []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600} {
		if step = s; c.seconds()/step <= 6 {
			break
		}
	}
	if c.seconds()/step > 6 {
		step = math.Ceil(c.seconds() / 6)
	}
	var all []mark
	for s := 0.0; s <= c.seconds()+1e-9; s += step {
		text := Number(s)
		if s > 0 {
			text += " s"
		}
		all = append(all, mark{c.at(s), text})
	}
	return all
}

// Aria says in words what the chart shows.
func (c Timeline) Aria() string {
	text := c.Title + ": " + c.Text
	if p, ok := c.whole(); ok {
		text += fmt.Sprintf("; broken from %.1f s to %.1f s of %.1f s", p.From, min(p.To, c.seconds()), c.seconds())
	}
	if c.HeldText != "" {
		text += "; " + c.HeldText
	}
	return text
}
