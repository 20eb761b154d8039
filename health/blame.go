package health

import (
	"errors"
	"strings"
	"unicode"
)

// blame is why a backend is down, as its gate was told, and whether that still holds. Like
// streak it is a pure value.
//
// A backend may be down for a small reason first (the probe's password is wrong) and for a
// grave one later (nothing listens). What becomes of its sessions depends on which, so the
// gate hears of the other reason, once it was seen often enough that errors which take
// turns are no news each time.
type blame struct {
	told  reason // that the gate knows; zero if it does not
	other reason // of the newest failures, if it is another one
	run   int    // failures in a row for it
}

// next returns the blame after one more probe with the result err, after which the backend
// is in that state, and whether the gate has to hear of another reason. If the state changed
// it hears of this one anyway.
func (b blame) next(s State, changed bool, err error, fall int) (blame, bool) {
	switch {
	case s != Down:
		return blame{}, false
	case err == nil:
		return blame{told: b.told}, false
	case changed:
		return blame{told: reasonOf(err)}, false
	}
	is := reasonOf(err)
	if is == b.told {
		return blame{told: is}, false
	}
	if is != b.other {
		b.other, b.run = is, 0
	}
	if b.run++; b.run < fall {
		return b, false
	}
	return blame{told: is, run: b.run}, true
}

// reason is what two failures have in common that failed for the same.
type reason struct {
	text   string
	status int // of HTTP, the one number that makes a difference
	unsure bool
}

// reasonOf leaves out of an error what varies by itself: times, durations, ports, counts,
// and whatever else has a digit in it. Codes come with words of their own.
func reasonOf(err error) reason {
	r := reason{unsure: unsure(err)}
	if w := (wrongStatus{}); errors.As(err, &w) {
		r.status = w.code
	}
	words := strings.Fields(clip(err.Error()))
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "#"
		}
	}
	r.text = strings.Join(words, " ")
	return r
}
