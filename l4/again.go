package l4

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Again returns another listener on the socket of one that Listen, Adopt or Again returned:
// who serves it, and then closes the first, loses no client. The error wraps
// errors.ErrUnsupported for what has no descriptor to share.
func Again(ln net.Listener) (net.Listener, error) {
	l, ours := ln.(*listener)
	if !ours {
		return nil, fmt.Errorf("l4: %w", errors.ErrUnsupported)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed: // an engine may have its part still
		return nil, fmt.Errorf("l4: %w", net.ErrClosed)
	default:
	}
	file, err := l.duplicate()
	if err != nil {
		return nil, err
	}
	if l.file != nil {
		l.file.holders.Add(1)
	}
	return &listener{socket: &shared{file: file, addr: l.Addr()}, closed: make(chan struct{}), file: l.file}, nil
}

// duplicate returns a duplicate of the descriptor; with mu held.
func (l *listener) duplicate() (*os.File, error) {
	if l.listening != nil {
		return l.listening.File()
	}
	f, able := l.socket.(interface{ File() (*os.File, error) })
	if !able {
		return nil, fmt.Errorf("l4: %w", errors.ErrUnsupported)
	}
	file, err := f.File()
	if err != nil {
		return nil, fmt.Errorf("l4: %w", err)
	}
	return file, nil
}

// taken hands the socket to the engine's listening: package net would go on hearing of
// every client.
func (l *listener) taken(by relay.Listening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = by
	l.socket.Close()
}

// gaveUp is for an engine that does not accept any more.
func (l *listener) gaveUp() {
	l.mu.Lock()
	listening := l.listening
	l.listening = nil
	l.mu.Unlock()
	listening.Close() // without the mutex: it waits for loops, which may wait for who closes l
}

// shared is a listening socket that is open elsewhere too. It becomes a listener of package
// net when somebody accepts from it: not before, since that changes for a moment how the
// others may wait.
type shared struct {
	file *os.File
	addr net.Addr

	mu   sync.Mutex // guards the rest
	ln   net.Listener
	shut bool
}

func (s *shared) Addr() net.Addr { return s.addr }

func (s *shared) SyscallConn() (syscall.RawConn, error) { return s.file.SyscallConn() }

func (s *shared) File() (*os.File, error) {
	ln, err := s.listener()
	if err != nil {
		return nil, err
	}
	return ln.(interface{ File() (*os.File, error) }).File()
}

func (s *shared) Accept() (net.Conn, error) {
	ln, err := s.listener()
	if err != nil {
		return nil, err
	}
	return ln.Accept()
}

func (s *shared) SetDeadline(t time.Time) error {
	ln, err := s.listener()
	if err != nil {
		return err
	}
	return ln.(socket).SetDeadline(t)
}

// listener makes the one of package net.
func (s *shared) listener() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, net.ErrClosed
	}
	if s.ln == nil {
		ln, err := net.FileListener(s.file)
		if err != nil {
			return nil, err
		}
		if u, ok := ln.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		s.ln = ln
	}
	return s.ln, nil
}

func (s *shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return net.ErrClosed
	}
	s.shut = true
	err := s.file.Close()
	if s.ln != nil {
		err = s.ln.Close()
	}
	return err
}
