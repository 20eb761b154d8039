package main

import (
	"fmt"
	"io"
	"time"

	"github.com/sluicelb/sluice/bench/compare"
	"github.com/sluicelb/sluice/bench/failover"
)

// progress shows where a run is: in place on a terminal, else a line a step. One
// goroutine uses it.
type progress struct {
	w    io.Writer
	live bool
}

func newProgress(w io.Writer, getenv func(string) string) progress {
	live, _ := terminal(w, getenv)
	return progress{w: w, live: live}
}

// Control sequences (ECMA-48) of a line that is redrawn.
const (
	lineStart  = "\r"
	clearRight = "\x1b[K"
)

func (p progress) step(s compare.Step) {
	p.say(fmt.Sprintf("[%3d/%d] %s of %s, round %d of %d: %s %s", s.Number, s.Total,
		s.Elapsed.Truncate(time.Second), s.Duration, s.Round, s.Rounds, s.What, s.Target))
}

func (p progress) run(s failover.Step) {
	p.say(fmt.Sprintf("[%3d/%d] %s of about %s, round %d of %d: %s %s", s.Number, s.Total,
		s.Elapsed.Truncate(time.Second), s.Expected.Truncate(time.Second), s.Round, s.Rounds, s.Balancer, s.Fault))
}

func (p progress) say(text string) {
	if p.live {
		fmt.Fprint(p.w, lineStart, text, clearRight)
		return
	}
	fmt.Fprintln(p.w, text)
}

// end leaves the line of a terminal empty.
func (p progress) end() {
	if p.live {
		fmt.Fprint(p.w, lineStart, clearRight)
	}
}
