package talk

import (
	"io"
	"net"
)

// Exchange sends request 0 of a session on c and reads its answer: the index of the
// backend that gave it. It sets no deadline. Errors wrap ErrWrong or are c's: io.EOF if
// the end came instead of an answer, io.ErrUnexpectedEOF if within one.
func Exchange(c net.Conn, session uint64) (backend int, err error) {
	var b [Size]byte
	if _, err := c.Write(Request(b[:0], session, 0)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return 0, err
	}
	return ParseAnswer(b[:], session, 0)
}
