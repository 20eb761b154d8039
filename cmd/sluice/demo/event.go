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
	if s.live {
		detail = fold(detail, width-eventIndent, strings.Repeat(" ", eventIndent))
	}
	what = paint(fmt.Sprintf("%-12s", what), colorOfEvent(what), s.color)
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

// fold breaks text between words into lines of at most the given width, a longer word
// excepted, and begins all but the first with indent.
func fold(text string, width int, indent string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && column+1+len(word) > width:
			out.WriteString("\n" + indent)
			column = 0
		case i > 0:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
