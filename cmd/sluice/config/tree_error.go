package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// unexpected says why the next token cannot stand where it does.
func (r *treeReader) unexpected() *syntaxError {
	t := r.peek()
	if t == nil {
		return &syntaxError{placeOf(r.tokens[len(r.tokens)-1]), "the file ends too early"}
	}
	return &syntaxError{placeOf(t), r.why(t)}
}

func (r *treeReader) why(t *token.Token) string {
	var before *token.Token
	if r.next > 0 {
		before = r.tokens[r.next-1]
	}
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
		return fmt.Sprintf("expected KEY: VALUE, got %s", what)
	}
	return fmt.Sprintf("unexpected %s; quote a text that has it, or check the comma, bracket or quote before it", what)
}

func unclosed(open *token.Token) *syntaxError {
	return &syntaxError{placeOf(open), fmt.Sprintf("%q is never closed", open.Value)}
}
