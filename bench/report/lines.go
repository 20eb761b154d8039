package report

import (
	"fmt"
	"math"
	"strings"
)

// Lines is a chart of several things over the same places, on a logarithmic scale.
type Lines struct {
	Title, Unit string
	// Places are written below the chart, from left to right.
	Places []string
	Lines  []Line
}

// Line is one thing in a chart.
type Line struct {
	Name  string
	Color int
	// Values are more than 0, one for each place; others are left out.
	Values []float64
}

// Geometry, as for bars.
const (
	linesHeight = 220.0
	linesLeft   = 62.0
	linesRight  = 308.0
	linesTop    = 12.0
	linesBottom = 196.0
)

// mark is a labelled place on an axis.
type mark struct {
	At   float64
	Text string
}

// drawnLine is a line with the places of its points.
type drawnLine struct {
	Line
	Points string // of an SVG polyline
	Dots   [][2]float64
}

// Height of the chart.
func (c Lines) Height() float64 { return linesHeight }

// Left is the left end of the horizontal axis.
func (c Lines) Left() float64 { return linesLeft }

// Right is the right end.
func (c Lines) Right() float64 { return linesRight }

// decades are the powers of ten that hold every value.
func (c Lines) decades() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if v > 0 {
				low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
			}
		}
	}
	if math.IsInf(low, 0) {
		return 0, 1
	}
	return low, max(high, low+1)
}

// place returns where the i-th place and a value are.
func (c Lines) place(i int, v float64) (x, y float64) {
	low, high := c.decades()
	step := (linesRight - linesLeft) / max(float64(len(c.Places)-1), 1)
	return linesLeft + step*float64(i), linesBottom - (math.Log10(v)-low)/(high-low)*(linesBottom-linesTop)
}

// Scale are the marks of the vertical axis.
func (c Lines) Scale() []mark {
	low, high := c.decades()
	var marks []mark
	for d := low; d <= high; d++ {
		_, y := c.place(0, math.Pow(10, d))
		marks = append(marks, mark{y, Number(math.Pow(10, d))})
	}
	return marks
}

// Below are the marks of the horizontal axis.
func (c Lines) Below() []mark {
	marks := make([]mark, len(c.Places))
	for i, text := range c.Places {
		x, _ := c.place(i, 1)
		marks[i] = mark{x, text}
	}
	return marks
}

// Drawn places the lines.
func (c Lines) Drawn() []drawnLine {
	drawn := make([]drawnLine, len(c.Lines))
	for i, l := range c.Lines {
		drawn[i].Line = l
		var points []string
		for j, v := range l.Values {
			if v > 0 && j < len(c.Places) {
				x, y := c.place(j, v)
				points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
				drawn[i].Dots = append(drawn[i].Dots, [2]float64{x, y})
			}
		}
		drawn[i].Points = strings.Join(points, " ")
	}
	return drawn
}
