package ctl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Colors, by their SGR parameters (ECMA-48).
const (
	bold   = "1"
	red    = "31"
	yellow = "33"
	dim    = "2"
)

// painted is a text in a color, where there are colors.
type painted struct{ code, text string }

// printer writes text to somebody. Every text among the arguments of its methods is made
// harmless first.
type printer struct {
	w             *bufio.Writer
	width, height int // of a terminal; 0 = as much as is wanted
	live          bool
	color         bool
	zone          *time.Location
}

// newPrinter buffers, so that a table of thousands of lines is a few writes.
func newPrinter(w io.Writer) *printer {
	return &printer{w: bufio.NewWriterSize(w, 64<<10), zone: time.Local}
}

// line writes a line, as fmt does.
func (p *printer) line(format string, args ...any) {
	p.w.WriteString(p.text(format, args...) + "\n") // an error stays until flush
}

// text is fmt.Sprintf of arguments that are harmless.
func (p *printer) text(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = p.safe(a)
	}
	return fmt.Sprintf(format, safe...)
}

// safe returns what may be printed in place of a. Types that it does not know are made text
// first: a new one can be ugly, not dangerous.
func (p *printer) safe(a any) any {
	switch a := a.(type) {
	case painted:
		return p.paint(a.code, clean(a.text))
	case string:
		return clean(a)
	case error:
		return clean(a.Error())
	case time.Time:
		return p.when(a)
	case time.Duration:
		return short(a)
	case int, int64, float64:
		return a
	}
	return clean(fmt.Sprint(a))
}

// paint colors a clean text.
func (p *printer) paint(code, text string) string {
	if !p.color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// when is a time for people. It always has its date: the one who reads it may have slept.
func (p *printer) when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(p.zone).Format(time.DateTime)
}

// flush returns the first error of all writes since the last one, as a full disk or a pipe
// without a reader.
func (p *printer) flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// json writes what the server said, indented. What does not print is escaped, which means
// the same to every reader of JSON.
func (p *printer) json(raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return errors.New("the answer is no JSON: " + excerpt(raw))
	}
	p.w.Write(escaped(b.Bytes()))
	p.w.WriteString("\n")
	return p.flush()
}

// escaped writes what does not print as JSON's own escapes. Outside of strings JSON has no such
// characters, so the meaning stays. Bytes that are no UTF-8 become U+FFFD, as in any reader.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || !hidden(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}
