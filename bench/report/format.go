package report

import (
	"math"
	"strconv"
	"strings"
)

// Number writes v with three digits that count, or all before the point, in groups.
// What is none, or not finite, is a dash.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	size := math.Abs(v)
	if size == math.Trunc(size) && size < 1e15 || size >= 99.95 {
		return grouped(math.Round(v))
	}
	digits := 2
	switch {
	case size >= 9.995:
		digits = 1
	case size < 0.9995:
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// grouped writes a whole number in groups of three.
func grouped(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Percent writes a share as a whole percentage, and what has more than three digits as
// more than 999.
func Percent(share float64) string {
	if share >= 9.995 {
		return ">999%"
	}
	return strconv.FormatFloat(share*100, 'f', 0, 64) + "%"
}
