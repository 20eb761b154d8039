package health

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSearchOfAnAnswerThatDribblesInIsLinear(t *testing.T) {
	junk := strings.Repeat("a", maxRecv)
	for name, w := range map[string]wanted{
		"text":   {text: []byte(strings.Repeat("a", 100) + "b")},
		"regexp": {pattern: regexp.MustCompile("a*b")},
	} {
		a := answer{wanted: w}
		if err := a.receive(iotest.OneByteReader(strings.NewReader(junk))); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v, want ErrTooLong", name, err)
		}
		// A search at each byte would be 2 GB.
		if most := eager + 10*maxRecv; a.worked > most {
			t.Errorf("%s: %d bytes searched, want at most %d", name, a.worked, most)
		}
	}
}

// TestPutOffSearchFindsAMatchAtTheEnd: a match that came while no search was due.
func TestPutOffSearchFindsAMatchAtTheEnd(t *testing.T) {
	for end := range 20 {
		in := strings.Repeat("a", 2000+17*end) + "b"
		a := answer{wanted: wanted{pattern: regexp.MustCompile("b")}}
		if err := a.receive(iotest.OneByteReader(strings.NewReader(in))); err != nil || a.end != len(in) {
			t.Fatalf("%d bytes: %v, end %d", len(in), err, a.end)
		}
	}
}

// FuzzAnswerDoesNotDependOnSegments: a text is found or not whatever the pieces it comes in, and
// so is what an expression finds in the whole.
func FuzzAnswerDoesNotDependOnSegments(f *testing.F) {
	f.Add([]byte("220-hello\r\n220 mail\r\n"), []byte("220 "), "(?m)^220 ", byte(3))
	f.Add([]byte("aaab"), []byte("aab"), "a+b$", byte(0))
	f.Add([]byte("\xff\x00\xfe"), []byte("\x00\xfe"), `\x00`, byte(1))
	f.Fuzz(func(t *testing.T, in, text []byte, expr string, size byte) {
		whole := in[:min(len(in), maxRecv)]
		if len(text) > 0 && len(text) <= maxRecv {
			at := bytes.Index(whole, text)
			a := answer{wanted: wanted{text: text}}
			err := a.receive(&pieces{in, int(size) + 1})
			if found := err == nil; found != (at >= 0) {
				t.Fatalf("%q in %q: %v", text, whole, err)
			} else if found && a.end != at+len(text) {
				t.Fatalf("%q in %q ends at %d", text, whole, a.end)
			}
			wantBounded(t, &a, err, len(in))
		}
		w, err := newWanted(Step{Regexp: expr})
		if err != nil || expr == "" || len(expr) > 100 {
			return
		}
		a := answer{wanted: w}
		err = a.receive(&pieces{in, int(size) + 1})
		if w.pattern.Match(whole) && err != nil {
			t.Fatalf("%q in %q: %v", expr, whole, err)
		}
		wantBounded(t, &a, err, len(in))
	})
}

// wantBounded checks what holds for every answer.
func wantBounded(t *testing.T, a *answer, err error, sent int) {
	t.Helper()
	switch {
	case len(a.data) > min(sent, maxRecv), a.end > len(a.data), a.worked > eager+10*maxRecv:
		t.Fatalf("%d bytes kept of %d, match ends at %d, %d searched", len(a.data), sent, a.end, a.worked)
	case errors.Is(err, ErrTooLong) && sent < maxRecv:
		t.Fatalf("%d bytes are too long", sent)
	case err != nil && !errors.Is(err, ErrTooLong) && !errors.Is(err, io.EOF):
		t.Fatal(err)
	}
	if s := a.String(); len(quoted(a.data)) > maxShown+3 || len(s) > 4*maxShown {
		t.Fatalf("%s, %s are long", s, quoted(a.data))
	}
}

// pieces is a reader of at most size bytes at once.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.left)
	p.left = p.left[n:]
	return n, nil
}
