package main

import (
	"fmt"
	"strconv"
	"strings"
)

// rate is a flag: so many a second, written as 500 or 500/s.
type rate float64

func (r *rate) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*r), 'g', -1, 64) + "/s"
}

// Type is what usage calls it.
func (*rate) Type() string { return "rate" }

// Set reads it. Zero, negative and infinite rates are refused.
func (r *rate) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(v > 0 && v <= 1e6) {
		return fmt.Errorf("%q is no rate: write so many a second, as 500 or 500/s, up to 1000000/s", text)
	}
	*r = rate(v)
	return nil
}
