package demo

import (
	"fmt"
	"strings"
	"time"
)

// eventIndent is where the detail of an event begins: after the time, two spaces, and
// the longest message that is common.
const eventIndent = len("15:04:05  backend down ")

// event prints a line about something that happened. It says all there is to say: on a
// terminal it is broken between words, elsewhere it stays one line for grep.
func (s *screen) event(at time.Time, what, detail string) {
	padded := fmt.Sprintf("%-12s", what)
	if s.live {
		first := width - len("15:04:05   ") - len(padded)
		detail = fold(detail, first, width-eventIndent, strings.Repeat(" ", eventIndent))
	}
	what = paint(padded, colorOfEvent(what), s.color)
	s.print(fmt.Sprintf("%s  %s %s", at.Format(time.TimeOnly), what, detail))
}

func colorOfEvent(what string) string {
	switch what {
	case "backend up":
		return green
	case "backend down", "no usable backend":
		return red
	}
	return plain
}

// fold breaks text between words into lines of at most the given widths, that of the
// first line and that of the rest, a longer word excepted, and begins the rest with
// indent, which is not part of the width.
func fold(text string, first, rest int, indent string) string {
	var out strings.Builder
	column, width := 0, first
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && column+1+len(word) > width:
			out.WriteString("\n" + indent)
			column, width = 0, rest
		case i > 0:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
