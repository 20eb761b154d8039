package config

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/token"
)

// Format returns f as a file in which every default is written out, one key a line. Parsing it gives f again, if f
// came from Load, Parse or FromFlags and the text is not larger than what Parse reads.
func Format(f File) []byte {
	p := &printer{}
	p.block(&root{File: &f}, 0)
	return p.Bytes()
}

// printer writes blocks with two spaces of indent a level.
type printer struct {
	bytes.Buffer
}

func (p *printer) block(b block, level int) {
	check, isCheck := b.(*Check)
	for _, k := range b.keys() {
		if isCheck && !check.has(k) {
			continue
		}
		p.key(k, level)
	}
}

// key writes one key and its value. Blocks that are absent are left out, and `defaults`, as services have them already.
func (p *printer) key(k key, level int) {
	switch v := k.value.(type) {
	case *serviceDefaults:
	case **Admin, **AdminTLS, **TLS:
		if b := nested(v); b != nil {
			p.key(key{name: k.name, value: b}, level)
		}
	case block:
		p.line(level, k.name+":")
		p.block(v, level+1)
	case *oneOrMore:
		p.texts(k.name, *v, level)
	case *[]netip.Prefix:
		texts := make([]string, len(*v))
		for i, prefix := range *v {
			texts[i] = prefix.String()
		}
		p.list(k.name, texts, level)
	case *[]Backend:
		items(p, k.name, level, *v)
	case *[]Step:
		items(p, k.name, level, *v)
	case *services:
		items(p, k.name, level, *v)
	default:
		s, ok := formatScalar(v)
		if !ok {
			panic(fmt.Sprintf("config: no printer for %T", v))
		}
		p.line(level, k.name+": "+s)
	}
}

// texts writes a list, or its only element alone.
func (p *printer) texts(name string, texts []string, level int) {
	if len(texts) == 1 {
		p.line(level, name+": "+formatText(texts[0]))
		return
	}
	p.list(name, texts, level)
}

func (p *printer) list(name string, texts []string, level int) {
	if len(texts) == 0 {
		p.line(level, name+": []")
		return
	}
	p.line(level, name+":")
	for _, s := range texts {
		p.line(level+1, "- "+formatText(s))
	}
}

// items writes a list of blocks.
func items[T any, B interface {
	*T
	block
}](p *printer, name string, level int, all []T) {
	if len(all) == 0 {
		p.line(level, name+": []")
		return
	}
	p.line(level, name+":")
	for i := range all {
		p.item(B(&all[i]), level+1)
	}
}

// item writes a block as an item of a list: the dash takes the place of its first line's last indent.
func (p *printer) item(b block, level int) {
	start := p.Len()
	p.block(b, level+1)
	p.Bytes()[start+2*level] = '-'
}

func (p *printer) line(level int, s string) {
	p.WriteString(strings.Repeat("  ", level))
	p.WriteString(s)
	p.WriteByte('\n')
}

// formatScalar writes what a pointer to a scalar points to.
func formatScalar(ptr any) (string, bool) {
	switch v := ptr.(type) {
	case *string:
		return formatText(*v), true
	case *textOrNumber:
		return formatText(string(*v)), true
	case *int:
		return strconv.Itoa(*v), true
	case *bool:
		return strconv.FormatBool(*v), true
	case *time.Duration:
		return formatDuration(*v), true
	}
	return "", false
}

// formatDuration is Duration.String without the zeros at its end: 5m, not 5m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// formatText writes a text so that every YAML reader, of 1.1 as well, reads the same text back.
func formatText(s string) string {
	if s != "" && !token.IsNeedQuoted(s) && strings.Trim(s, plainChars) == "" && isPlainStart(s[0]) {
		return s
	}
	return quoteYAML(s)
}

// plainChars mean nothing to YAML, but for a colon at the end, which IsNeedQuoted knows.
const plainChars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_./:@%+"

func isPlainStart(c byte) bool {
	return isAlphanumeric(c) || c == '/' || c == '_'
}

// quoteYAML writes s in double quotes, YAML 1.2.2 section 5.7.
func quoteYAML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case printable(string(r)):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
