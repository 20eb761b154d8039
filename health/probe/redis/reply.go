package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	maxLine  = 512  // of a reply, without its end
	maxBulk  = 4096 // bytes of a text
	maxItems = 64   // of a list
	maxDepth = 4    // of lists within lists
)

// badReply is an answer that is not RESP, or more than a probe reads.
type badReply struct {
	came string // as far as it was read
	what string // is wrong; "" if what came shows it
}

func (e badReply) Error() string {
	text := "not an answer of Redis:"
	if e.came != "" {
		text += fmt.Sprintf(" %.40q", e.came)
	}
	if e.what != "" {
		text += " " + e.what
	}
	return text
}

// reply is one of RESP2's.
type reply struct {
	kind  byte // + - : $ *
	text  string
	items []reply
	null  bool
}

// readReply reads one reply. An error is a badReply if it is the reply's, and that of the
// connection otherwise.
func readReply(r *bufio.Reader) (reply, error) { return readNested(r, maxDepth) }

func readNested(r *bufio.Reader, depth int) (reply, error) {
	line, err := readLine(r)
	if err != nil {
		return reply{}, err
	}
	if line == "" {
		return reply{}, badReply{what: "an empty line"}
	}
	p := reply{kind: line[0], text: line[1:]}
	switch p.kind {
	case '+', '-', ':':
		return p, nil
	case '$':
		return p, p.readText(r)
	case '*':
		return p, p.readItems(r, depth)
	}
	return reply{}, badReply{came: line}
}

// readLine reads up to the end of a line. A line that is too long, or broken, is kept as
// far as it was read.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for len(line) <= maxLine {
		b, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				err = badReply{string(line), "and then an end"}
			}
			return string(line), err
		}
		if b != '\n' {
			line = append(line, b)
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			return string(line[:n-1]), nil
		}
		break
	}
	return string(line), badReply{came: string(line)}
}

// size reads the length in a header; -1 stands for none at all.
func (p *reply) size(most int) (int, error) {
	n, err := strconv.Atoi(p.text)
	switch {
	case err != nil || n < -1:
		return 0, badReply{p.text, "is no length"}
	case n > most:
		return 0, badReply{what: fmt.Sprintf("a length of %d, at most %d are read", n, most)}
	}
	p.null = n == -1
	return max(n, 0), nil
}

func (p *reply) readText(r *bufio.Reader) error {
	n, err := p.size(maxBulk)
	if p.text = ""; err != nil || p.null {
		return err
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if string(text[n:]) != "\r\n" {
		return badReply{what: "a text without its end"}
	}
	p.text = string(text[:n])
	return nil
}

func (p *reply) readItems(r *bufio.Reader, depth int) error {
	n, err := p.size(maxItems)
	if p.text = ""; err != nil {
		return err
	}
	if n > 0 && depth == 0 {
		return badReply{what: "lists within lists"}
	}
	for range n {
		item, err := readNested(r, depth-1)
		if err != nil {
			return err
		}
		p.items = append(p.items, item)
	}
	return nil
}
