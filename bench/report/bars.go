package report

import "math"

// Bars is a chart of one figure for several things.
type Bars struct {
	Title, Unit string
	// More is true if more is better.
	More bool
	Bars []Bar
}

// Bar is one thing in a chart.
type Bar struct {
	Name string
	// Color is a number from 0; the same thing has the same in every chart.
	Color int
	// Value is the median; Min and Max are the least and the greatest.
	Value, Min, Max float64
	// Text is the value as it is written.
	Text string
}

// Geometry of a chart in its own units; it is scaled to what the page has room for.
const (
	chartWidth = 320.0
	barTop     = 4.0  // above the first bar's text
	barPitch   = 34.0 // from one bar to the next
	barOffset  = 18.0 // from a bar's text to the bar
	barHeight  = 10.0
)

// drawnBar is a bar with its place.
type drawnBar struct {
	Bar
	TextY, Y, W, From, To, Mid float64
	Whisker                    bool
}

// Height of the chart.
func (c Bars) Height() float64 { return barTop + barPitch*float64(len(c.Bars)) }

// Better says in which direction it is good.
func (c Bars) Better() string {
	if c.More {
		return "more is better"
	}
	return "less is better"
}

// Drawn places the bars, the greatest filling the width.
func (c Bars) Drawn() []drawnBar {
	most := 0.0
	for _, b := range c.Bars {
		most = max(most, b.Value, b.Max)
	}
	scale := func(v float64) float64 {
		if most <= 0 || math.IsNaN(v) {
			return 0
		}
		return max(v, 0) / most * (chartWidth - 2)
	}
	drawn := make([]drawnBar, len(c.Bars))
	for i, b := range c.Bars {
		top := barTop + barPitch*float64(i)
		drawn[i] = drawnBar{
			Bar: b, TextY: top + 12, Y: top + barOffset, W: max(scale(b.Value), 1),
			From: scale(b.Min), To: scale(b.Max), Mid: top + barOffset + barHeight/2, Whisker: b.Max > b.Min,
		}
	}
	return drawn
}
