package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// Bounds of what is read: far above any file a person or a template writes, and low enough that a file of nothing but
// brackets costs a second or two and a gigabyte.
const (
	maxBytes  = 4 << 20
	maxTokens = 1 << 20
	maxDepth  = 32
)

// syntaxError is the fault after which a file cannot be read any further.
type syntaxError struct {
	at      place
	message string
}

// tokenize returns the tokens of src without comments, or reports why they cannot be a configuration.
func tokenize(src []byte, faults *faultList) ([]*token.Token, bool) {
	text, bad := normalize(src)
	if bad == nil {
		var tokens []*token.Token
		if tokens, bad = scan(text, maxTokens); bad == nil {
			tokens = joinColons(tokens)
			return tokens, !refuse(tokens, faults)
		}
	}
	faults.add(bad.at, "", bad.message)
	return nil, false
}

// normalize returns src as text with newlines for line ends, or what makes it no text.
func normalize(src []byte) (string, *syntaxError) {
	if len(src) > maxBytes {
		return "", &syntaxError{place{1, 1}, fmt.Sprintf("the file is larger than %d MiB", maxBytes>>20)}
	}
	src = bytes.TrimPrefix(src, []byte("\uFEFF")) // a byte order mark
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	at := place{1, 1}
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "", &syntaxError{at, fmt.Sprintf("byte 0x%02x is not UTF-8; save the file as UTF-8", src[i])}
		case r < ' ' && r != '\n' && r != '\t', r == 0x7f:
			return "", &syntaxError{at, fmt.Sprintf("control character %U is not allowed; in double quotes write \"\\x%02x\"", r, r)}
		}
		at.col++
		if r == '\n' {
			at = place{at.line + 1, 1}
		}
		i += size
	}
	return string(src), nil
}

// scan splits text into at most so many tokens, comments left out. The scanner is a third party's and reads what a stranger may have
// written, so a panic in it is a fault of the file.
func scan(text string, most int) (tokens []*token.Token, bad *syntaxError) {
	defer func() {
		if recover() != nil {
			tokens, bad = nil, &syntaxError{place{1, 1}, "the file cannot be read as YAML"}
		}
	}()
	var s scanner.Scanner
	s.Init(text)
	for {
		next, err := s.Scan()
		for _, t := range next {
			switch {
			case t.Type == token.InvalidType:
				return nil, &syntaxError{placeOf(t), syntaxMessage(t)}
			case t.Type == token.CommentType:
			case len(tokens) == most:
				return nil, &syntaxError{placeOf(t), "the file has too many values to be read"}
			default:
				tokens = append(tokens, t)
			}
		}
		if err != nil { // io.EOF; other errors came as an invalid token
			return tokens, nil
		}
	}
}

// syntaxMessage is the scanner's own word on a token, on one line.
func syntaxMessage(t *token.Token) string {
	message := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, t.Error)
	switch {
	case strings.Contains(message, "tab character"), strings.Contains(t.Error, "'\t'"):
		return "a tab cannot indent; use spaces"
	case message == "":
		return "this is not YAML"
	}
	return message
}

// refuse reports every token of YAML's richer parts. None of them is needed: `defaults` shares what services have in
// common, and a file without them costs what its size says.
func refuse(tokens []*token.Token, faults *faultList) bool {
	refused, headers := false, 0
	for i, t := range tokens {
		message := refusal(t.Type)
		switch t.Type {
		case token.AliasType:
			if i+1 < len(tokens) && isStarPort(t, tokens[i+1]) {
				message = noStar(digitsOf(tokens[i+1].Value[1:]))
			}
		case token.DocumentHeaderType:
			headers++
			if headers > 1 || i > 0 && tokens[0].Type != token.DirectiveType {
				message = secondDocument
			}
		case token.DocumentEndType:
			if i < len(tokens)-1 {
				message = secondDocument
			}
		}
		if message != "" {
			faults.add(placeOf(t), "", message)
			refused = true
		}
	}
	return refused
}

// isStarPort reports whether star and what follows it are *:80, an address of other programs and an alias to YAML.
func isStarPort(star, next *token.Token) bool {
	return star.Value == "*" && touch(star, next) && strings.HasPrefix(next.Value, ":") && digitsOf(next.Value[1:]) != ""
}

// digitsOf returns the digits s starts with.
func digitsOf(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

const secondDocument = "a second document is not allowed; one file is one configuration"

func refusal(t token.Type) string {
	switch t {
	case token.AnchorType, token.AliasType:
		return "anchors and aliases are not supported; put what services share under defaults, and quote a text that starts with & or *"
	case token.MergeKeyType:
		return "merge keys (<<) are not supported; put what services share under defaults"
	case token.TagType:
		return "tags are not supported; quote a text that starts with !"
	case token.DirectiveType:
		return "directives are not supported; leave the line out"
	case token.MappingKeyType:
		return "keys after ? are not supported; write KEY: VALUE"
	case token.LiteralType, token.FoldedType:
		return "block text (| or >) is not supported; write the text in quotes"
	}
	return ""
}

// joinColons undoes a split of the scanner: in flow mappings it takes every colon for the end of a key, so that
// {accept: [2001:db8::/32]} has a key 2001. To YAML a colon in plain text ends a key only before a space or a bracket.
func joinColons(tokens []*token.Token) []*token.Token {
	joined := tokens[:0]
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.Type != token.MappingValueType || i+1 == len(tokens) || !isPlain(tokens[i+1]) || !touch(t, tokens[i+1]) {
			joined = append(joined, t)
			continue
		}
		var before *token.Token
		if len(joined) > 0 {
			before = joined[len(joined)-1]
		}
		value := ":" + tokens[i+1].Value
		switch {
		case before != nil && isPlain(before) && touch(before, t):
			joined[len(joined)-1] = token.String(before.Value+value, "", before.Position)
			i++
		case before == nil || !isScalar(before): // [::1]
			joined = append(joined, token.String(value, "", t.Position))
			i++
		default: // {"a":1}
			joined = append(joined, t)
		}
	}
	return joined
}

func isPlain(t *token.Token) bool {
	return isScalar(t) && t.Indicator != token.QuotedScalarIndicator
}

// touch reports whether b follows plain text or a colon without a space.
func touch(a, b *token.Token) bool {
	return sameLine(a, b) && a.Position.Column+utf8.RuneCountInString(a.Value) == b.Position.Column
}

func placeOf(t *token.Token) place {
	return place{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}
