package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// unexpected says why the next token cannot stand where it does.
func (r *treeReader) unexpected() *syntaxError {
	t := r.peek()
	if n := len(r.open); n > 0 {
		if bad := r.unexpectedInside(r.open[n-1], t); bad != nil {
			return bad
		}
	}
	if t == nil {
		return &syntaxError{placeOf(r.tokens[len(r.tokens)-1]), "the file ends too early"}
	}
	if before := r.before(); is(t, token.MappingValueType) && before != nil && lacksSpace(before) {
		return notAKey(before)
	}
	return &syntaxError{placeOf(t), r.why(t)}
}

func (r *treeReader) before() *token.Token {
	if r.next > 0 {
		return r.tokens[r.next-1]
	}
	return nil
}

// unexpectedInside says it of a token that is wrong inside an open bracket, and most likely because that is not closed.
// It returns nil if nothing speaks for that.
func (r *treeReader) unexpectedInside(open, t *token.Token) *syntaxError {
	at, end := placeOf(open), closing(open)
	switch {
	case t == nil:
		return &syntaxError{at, fmt.Sprintf("%q is never closed", open.Value)}
	case is(t, token.SequenceEntryType) && sameLine(r.before(), t):
		return &syntaxError{placeOf(t), `unexpected "-"; inside brackets items have commas between them and no dash`}
	case is(t, token.SequenceEntryType) && open.Type == token.SequenceStartType:
		return &syntaxError{at, fmt.Sprintf("%q is not closed before the list item of line %d; write %q, or leave out the dash",
			open.Value, placeOf(t).line, end)}
	case is(t, token.SequenceEntryType):
		return &syntaxError{at, fmt.Sprintf("%q is not closed before the list item of line %d; write %q", open.Value, placeOf(t).line, end)}
	case is(t, token.MappingEndType), is(t, token.SequenceEndType):
		return &syntaxError{placeOf(t), fmt.Sprintf("unexpected %q; the %q of line %d is still open and needs %q first",
			t.Value, open.Value, at.line, end)}
	case isKey(t, r.ahead(1)) && !sameLine(r.before(), t) && open.Type == token.SequenceStartType:
		return &syntaxError{at, fmt.Sprintf("%q is not closed before key %s of line %d; write %q", open.Value, quote(t.Value), placeOf(t).line, end)}
	case isKey(t, r.ahead(1)) && !sameLine(r.before(), t):
		return &syntaxError{placeOf(t), fmt.Sprintf("key %s needs a comma before it, or the %q of line %d is not closed; write %q",
			quote(t.Value), open.Value, at.line, end)}
	}
	return nil
}

func closing(open *token.Token) string {
	if open.Type == token.MappingStartType {
		return "}"
	}
	return "]"
}

func (r *treeReader) why(t *token.Token) string {
	before := r.before()
	// listen: [::1]:6379 is the slip everybody makes once: to YAML the bracket opens a list.
	if strings.HasPrefix(t.Value, ":") && is(before, token.SequenceEndType) {
		return `unexpected ` + quote(t.Value) + `; an address with brackets needs quotes, like "[::1]:6379"`
	}
	what := quote(t.Value)
	switch {
	case t.Type == token.MappingValueType && before != nil && isPlain(before) && !sameLine(before, t):
		return `unexpected ":"; this line is indented as if the text of the line before it went on here`
	case t.Type == token.SequenceEntryType:
		return `unexpected "-"; a list item stands in the column of the other items, each on its own line`
	case t.Type == token.MappingEndType || t.Type == token.SequenceEndType:
		return fmt.Sprintf("unexpected %s; no bracket is open that it could close here", what)
	case isKey(t, r.ahead(1)) && before != nil && !sameLine(before, t):
		return fmt.Sprintf("key %s is not in the column of the keys before it, or the line before it does not end", what)
	case isScalar(t) && before == nil, isScalar(t) && !sameLine(before, t):
		return notAKey(t).message
	}
	return fmt.Sprintf("unexpected %s; quote a text that has it, or check the comma, bracket or quote before it", what)
}

// notAKey says that a text stands in the place of a key.
func notAKey(t *token.Token) *syntaxError {
	got, advice := t.Value, ""
	if lacksSpace(t) {
		got, _, _ = strings.Cut(got, " ") // the scanner reads on in the next line
		advice = spaceAdvice
	}
	return &syntaxError{placeOf(t), fmt.Sprintf("expected KEY: VALUE, got %s%s", quote(got), advice)}
}

const spaceAdvice = "; a space belongs after the colon"

func lacksSpace(t *token.Token) bool {
	return isScalar(t) && isPlain(t) && keyBeforeColon(t.Value) != ""
}

// keyBeforeColon returns the key of a text such as listen:8080, which YAML does not take for a key and its value; else "".
func keyBeforeColon(s string) string {
	key, value, ok := strings.Cut(s, ":")
	if !ok || value == "" || value[0] == ' ' || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return ""
	}
	return key
}
