package config

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// kind is what a node is; its text is how messages call it.
type kind string

const (
	null    kind = "empty"
	text    kind = "text"
	number  kind = "a number"
	boolean kind = "true or false"
	list    kind = "a list"
	mapping kind = "a mapping"
)

// node is one value of the file.
type node struct {
	at      place
	kind    kind
	text    string  // of text, number and boolean, as it stands in the file
	items   []*node // of a list
	entries []entry // of a mapping, in file order, names unique
}

// entry is one key of a mapping and its value.
type entry struct {
	at    place
	name  string
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(name string) *node {
	for _, e := range n.entries {
		if e.name == name {
			return e.value
		}
	}
	return nil
}

// readTree turns src into its tree. It returns nil if a fault made that impossible, or the file is empty.
func readTree(src []byte, faults *faultList) *node {
	tokens, ok := tokenize(src, faults)
	if !ok {
		return nil
	}
	if len(tokens) > 0 && tokens[0].Type == token.DocumentHeaderType {
		tokens = tokens[1:]
	}
	if n := len(tokens); n > 0 && tokens[n-1].Type == token.DocumentEndType {
		tokens = tokens[:n-1]
	}
	if len(tokens) == 0 || len(tokens) == 1 && tokens[0].Type == token.NullType {
		faults.add(place{1, 1}, "", "the file is empty; it needs at least services")
		return nil
	}
	p := &treeReader{tokens: tokens, faults: faults}
	n, bad := p.block(1)
	if bad == nil && p.peek() != nil {
		bad = p.unexpected()
	}
	if bad != nil {
		faults.add(bad.at, "", bad.message)
		return nil
	}
	return n
}

// treeReader reads block style by columns and flow style by brackets. Every method that reads a node is called with
// the depth of that node.
type treeReader struct {
	tokens []*token.Token
	next   int
	open   []*token.Token // brackets around next
	faults *faultList
}

// peek returns the next token, or nil at the end.
func (r *treeReader) peek() *token.Token {
	return r.ahead(0)
}

func (r *treeReader) ahead(n int) *token.Token {
	if r.next+n < len(r.tokens) {
		return r.tokens[r.next+n]
	}
	return nil
}

func (r *treeReader) take() *token.Token {
	t := r.tokens[r.next]
	r.next++
	return t
}

// takeOpen takes an opening bracket, and takeClose the one that closes it.
func (r *treeReader) takeOpen() *token.Token {
	t := r.take()
	r.open = append(r.open, t)
	return t
}

func (r *treeReader) takeClose() {
	r.take()
	r.open = r.open[:len(r.open)-1]
}

func is(t *token.Token, typ token.Type) bool {
	return t != nil && t.Type == typ
}

// block reads the node that starts at the next token, which exists, in block context.
func (r *treeReader) block(depth int) (*node, *syntaxError) {
	t := r.peek()
	switch {
	case depth > maxDepth:
		return nil, &syntaxError{placeOf(t), fmt.Sprintf("nested more than %d deep", maxDepth)}
	case t.Type == token.SequenceEntryType:
		return r.blockList(depth)
	case t.Type == token.MappingStartType || t.Type == token.SequenceStartType:
		return r.flow(depth)
	case is(r.ahead(1), token.MappingValueType) && sameLine(t, r.ahead(1)):
		return r.blockMapping(depth)
	}
	return r.scalar()
}

// blockMapping reads the keys that stand in the column of the first.
func (r *treeReader) blockMapping(depth int) (*node, *syntaxError) {
	first := r.peek()
	n := &node{at: placeOf(first), kind: mapping}
	lines := map[string]int{}
	for t := first; t != nil && t.Position.Column == first.Position.Column; t = r.peek() {
		if !isKey(t, r.ahead(1)) || t != first && sameLine(r.tokens[r.next-1], t) {
			return nil, r.unexpected()
		}
		r.next += 2
		value, bad := r.blockValue(t, depth+1)
		if bad != nil {
			return nil, bad
		}
		r.addEntry(n, lines, t, value)
	}
	return n, r.dedent(first)
}

// isKey reports whether t, with colon after it, is the key of a mapping.
func isKey(t, colon *token.Token) bool {
	return isScalar(t) && is(colon, token.MappingValueType) && sameLine(t, colon)
}

// addEntry adds a key and its value to a mapping; the first of two with the same name counts.
func (r *treeReader) addEntry(n *node, lines map[string]int, key *token.Token, value *node) {
	if line, twice := lines[key.Value]; twice {
		r.faults.add(placeOf(key), "", fmt.Sprintf("duplicate key %s; the first is at line %d", quote(key.Value), line))
		return
	}
	lines[key.Value] = key.Position.Line
	n.entries = append(n.entries, entry{placeOf(key), key.Value, value})
}

// blockValue reads what stands after "key:".
func (r *treeReader) blockValue(key *token.Token, depth int) (*node, *syntaxError) {
	t := r.peek()
	switch {
	case t == nil:
		return &node{at: placeOf(key), kind: null}, nil
	case sameLine(key, t):
		if t.Type == token.SequenceEntryType || isKey(t, r.ahead(1)) {
			return nil, &syntaxError{placeOf(t), "a list or a mapping cannot start on the line of its key; " +
				"start it on the next line, or quote a text with \": \" in it"}
		}
		return r.block(depth)
	case t.Position.Column > key.Position.Column,
		t.Position.Column == key.Position.Column && t.Type == token.SequenceEntryType:
		return r.block(depth)
	}
	return &node{at: placeOf(key), kind: null}, nil
}

// blockList reads the items whose dashes stand in the column of the first.
func (r *treeReader) blockList(depth int) (*node, *syntaxError) {
	first := r.peek()
	n := &node{at: placeOf(first), kind: list}
	for t := first; is(t, token.SequenceEntryType) && t.Position.Column == first.Position.Column; t = r.peek() {
		if t != first && sameLine(r.tokens[r.next-1], t) {
			return nil, r.unexpected()
		}
		r.take()
		item := &node{at: placeOf(t), kind: null}
		if v := r.peek(); v != nil && (sameLine(t, v) || v.Position.Column > t.Position.Column) {
			var bad *syntaxError
			if item, bad = r.block(depth + 1); bad != nil {
				return nil, bad
			}
		}
		n.items = append(n.items, item)
	}
	return n, r.dedent(first)
}

// dedent checks that what follows a block belongs to one further out: left of it, or, after a list, a key in its column.
func (r *treeReader) dedent(first *token.Token) *syntaxError {
	t := r.peek()
	if t == nil || t.Position.Column <= first.Position.Column && !sameLine(r.tokens[r.next-1], t) {
		return nil
	}
	return r.unexpected()
}

// flow reads the node that starts at the next token inside brackets, or with one.
func (r *treeReader) flow(depth int) (*node, *syntaxError) {
	t := r.peek()
	switch {
	case t == nil:
		return nil, r.unexpected()
	case depth > maxDepth:
		return nil, &syntaxError{placeOf(t), fmt.Sprintf("nested more than %d deep", maxDepth)}
	case t.Type == token.MappingStartType:
		return r.flowMapping(depth)
	case t.Type == token.SequenceStartType:
		return r.flowList(depth)
	}
	return r.scalar()
}

func (r *treeReader) flowMapping(depth int) (*node, *syntaxError) {
	n := &node{at: placeOf(r.takeOpen()), kind: mapping}
	lines := map[string]int{}
	for !is(r.peek(), token.MappingEndType) {
		key := r.peek()
		if key == nil || !isKey(key, r.ahead(1)) {
			if bad := r.unexpectedInside(r.open[len(r.open)-1], key); bad != nil {
				return nil, bad
			}
			return nil, notAKey(key)
		}
		r.next += 2
		value := &node{at: placeOf(key), kind: null}
		if t := r.peek(); !is(t, token.CollectEntryType) && !is(t, token.MappingEndType) && t != nil {
			var bad *syntaxError
			if value, bad = r.flow(depth + 1); bad != nil {
				return nil, bad
			}
		}
		r.addEntry(n, lines, key, value)
		if bad := r.separator(token.MappingEndType); bad != nil {
			return nil, bad
		}
	}
	r.takeClose()
	return n, nil
}

func (r *treeReader) flowList(depth int) (*node, *syntaxError) {
	n := &node{at: placeOf(r.takeOpen()), kind: list}
	for !is(r.peek(), token.SequenceEndType) {
		item, bad := r.flow(depth + 1)
		if bad != nil {
			return nil, bad
		}
		n.items = append(n.items, item)
		if bad := r.separator(token.SequenceEndType); bad != nil {
			return nil, bad
		}
	}
	r.takeClose()
	return n, nil
}

// separator takes the comma after an element, if the bracket does not close there.
func (r *treeReader) separator(end token.Type) *syntaxError {
	switch t := r.peek(); {
	case is(t, token.CollectEntryType):
		r.take()
	case !is(t, end):
		return r.unexpected()
	}
	return nil
}

func (r *treeReader) scalar() (*node, *syntaxError) {
	t := r.peek()
	if !isScalar(t) {
		return nil, r.unexpected()
	}
	r.take()
	n := &node{at: placeOf(t), kind: text, text: t.Value}
	switch t.Type {
	case token.NullType:
		n.kind = null
	case token.BoolType:
		n.kind = boolean
	case token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType,
		token.FloatType, token.InfinityType, token.NanType:
		n.kind = number
	}
	return n, nil
}

func isScalar(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.NullType, token.BoolType,
		token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType,
		token.FloatType, token.InfinityType, token.NanType:
		return true
	}
	return false
}

func sameLine(a, b *token.Token) bool {
	return a.Position.Line == b.Position.Line
}
