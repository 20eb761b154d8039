package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// What a client asks for with its first byte.
const (
	download = 'D'
	upload   = 'U'
	echo     = 'E'
)

// stall bounds each read and write: a peer that moves nothing for so long is stuck.
const stall = 10 * time.Second

// Download receives blocks from a server on c until ctx ends, then the end block, and
// checks all. moved, if not nil, is told of every portion in bytes. The error wraps
// ErrWrong or is c's.
func Download(ctx context.Context, c net.Conn, moved func(int)) error {
	if _, err := c.Write([]byte{download}); err != nil {
		return err
	}
	check, buf := newChecker(), make([]byte, batch*blockSize)
	asked := false // to stop
	for !check.ended {
		if !asked && ctx.Err() != nil {
			asked = true
			if _, err := c.Write([]byte{'.'}); err != nil {
				return err
			}
		}
		if err := receive(c, buf, check, moved); err != nil {
			return err
		}
	}
	return nil
}

// receive reads once and checks what it got. An end of stream before the end block is
// io.ErrUnexpectedEOF.
func receive(c net.Conn, buf []byte, check *checker, moved func(int)) error {
	if err := c.SetReadDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	n, err := c.Read(buf)
	if n > 0 && moved != nil {
		moved(n)
	}
	if wrong := check.feed(buf[:n]); wrong != nil {
		return wrong
	}
	if errors.Is(err, io.EOF) && !check.ended {
		return io.ErrUnexpectedEOF
	}
	if check.ended {
		return nil
	}
	return err
}

// Upload sends blocks to a server on c until ctx ends, and checks the number that
// arrived. moved is told of every portion in bytes. The error wraps ErrWrong or is c's.
func Upload(ctx context.Context, c net.Conn, moved func(int)) error {
	if _, err := c.Write([]byte{upload}); err != nil {
		return err
	}
	w := newWriter()
	for ctx.Err() == nil {
		if err := c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
			return err
		}
		n, err := c.Write(w.blocks())
		if moved != nil {
			moved(n)
		}
		if err != nil {
			return err
		}
	}
	return finishUpload(c, w)
}

func finishUpload(c net.Conn, w *writer) error {
	if err := c.SetDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	if _, err := c.Write(w.end()); err != nil {
		return err
	}
	var answer [8]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	if got := binary.BigEndian.Uint64(answer[:]); got != w.next {
		return fmt.Errorf("%w: %d blocks arrived of %d", ErrWrong, got, w.next)
	}
	return nil
}

// StartEcho asks the server on c for echo. It must precede Echo, once.
func StartEcho(c net.Conn) error {
	_, err := c.Write([]byte{echo})
	return err
}

// Echo sends msg on c and checks that it comes back. It sets no deadline. The error
// wraps ErrWrong or is c's.
func Echo(c net.Conn, msg []byte) error {
	if _, err := c.Write(msg); err != nil {
		return err
	}
	got := make([]byte, len(msg))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, msg) {
		return fmt.Errorf("%w: another echo", ErrWrong)
	}
	return nil
}
