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

// errReply is an answer that is not RESP, or more than a probe reads.
var errReply = errors.New("not an answer of Redis")

// reply is one of RESP2's.
type reply struct {
	kind  byte // + - : $ *
	text  string
	items []reply
	null  bool
}

// readReply reads one reply. An error wraps errReply if it is the reply's, and is that of
// the connection otherwise.
func readReply(r *bufio.Reader) (reply, error) { return readNested(r, maxDepth) }

func readNested(r *bufio.Reader, depth int) (reply, error) {
	line, err := readLine(r)
	if err != nil {
		return reply{}, err
	}
	if line == "" {
		return reply{}, fmt.Errorf("%w: an empty line", errReply)
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
	return reply{}, fmt.Errorf("%w: %q", errReply, line)
}

// readLine reads up to the end of a line. A line that is too long, or broken, is kept as
// far as it was read.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for len(line) <= maxLine {
		b, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %q and then an end", errReply, line)
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
	return string(line), fmt.Errorf("%w: %.40q", errReply, line)
}

// size reads the length in a header; -1 stands for none at all.
func (p *reply) size(most int) (int, error) {
	n, err := strconv.Atoi(p.text)
	switch {
	case err != nil || n < -1:
		return 0, fmt.Errorf("%w: %q is no length", errReply, p.text)
	case n > most:
		return 0, fmt.Errorf("%w: a length of %d, at most %d are read", errReply, n, most)
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
		return fmt.Errorf("%w: a text without its end", errReply)
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
		return fmt.Errorf("%w: lists within lists", errReply)
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
