package load

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestOnlyTheRightAnswerIsRight(t *testing.T) {
	page := HTTP("/small", []byte("hello"))
	tests := []struct {
		name     string
		protocol Protocol
		answer   string
		want     error
	}{
		{"pong", Redis(), "+PONG\r\n", nil},
		{"an error", Redis(), "-ERR max number of clients reached\r\n", errWrong},
		{"half a pong", Redis(), "+PON", io.EOF},
		{"nothing", Redis(), "", io.EOF},
		{"another word", Redis(), "+PANG\r\n", errWrong},

		{"page", page, "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello", nil},
		{"lower case", page, "HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", nil},
		{"not found", page, "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", errWrong},
		{"another body", page, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", errWrong},
		{"too long", page, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", errWrong},
		{"no length", page, "HTTP/1.1 200 OK\r\n\r\nhello", errWrong},
		{"a length that is none", page, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhello", errWrong},
		{"cut body", page, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", io.ErrUnexpectedEOF},
		{"no body", page, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", io.EOF},
		{"cut head", page, "HTTP/1.1 200 OK\r\nContent-Le", io.EOF},
		{"nothing", page, "", io.EOF},
		{"not HTTP", page, "+PONG\r\n", errWrong},
	}
	for _, tt := range tests {
		t.Run(tt.protocol.Name+"/"+tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.answer), iotest.OneByteReader(strings.NewReader(tt.answer))} {
				err := tt.protocol.Answer(bufio.NewReader(r))
				if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("%v, want %v", err, tt.want)
				}
			}
		})
	}
}

func TestAnAnswerIsReadWholeAndNoMore(t *testing.T) {
	page := HTTP("/small", []byte("hello"))
	for _, p := range []Protocol{Redis(), page} {
		answer := map[string]string{"redis PING": "+PONG\r\n", "HTTP GET": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}[p.Name]
		r := bufio.NewReader(strings.NewReader(answer + answer + "rest"))
		for range 2 {
			if err := p.Answer(r); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%s left %q", p.Name, rest)
		}
	}
}
