package systemd

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
)

// Errors of Sockets.Listen.
var (
	ErrNoSocket     = errors.New("no such socket was passed")
	ErrNotListening = errors.New("not a listening stream socket")
)

// Sockets are those that the service manager opened and passed, by their names. Listen and Names may be called from any
// goroutine.
type Sockets struct {
	files map[string][]*os.File
}

// Passed takes the sockets that were passed to this process, sd_listen_fds(3). It is to be called once, and early: it
// makes them close on exec and removes the variables that tell of them, so that no child takes them for its own. A socket
// without a name is called LISTEN_FD_N, N being its descriptor.
func Passed() *Sockets {
	s := &Sockets{files: map[string][]*os.File{}}
	for _, f := range activation.Files(true) {
		s.files[f.Name()] = append(s.files[f.Name()], f)
	}
	return s
}

// Names returns the names of the sockets, sorted.
func (s *Sockets) Names() []string {
	return slices.Sorted(maps.Keys(s.files))
}

// Listen returns a listener for each socket of the name, in the order in which they were passed. Closing it leaves the
// socket itself open: its clients wait in the kernel, for a later Listen or for the next process that the manager starts.
// The file of a Unix socket is the manager's and stays. Errors are ErrNoSocket, ErrNotListening or the system's, and name
// the socket as the file does.
func (s *Sockets) Listen(name string) ([]net.Listener, error) {
	files := s.files[name]
	if len(files) == 0 {
		return nil, fmt.Errorf("fd:%s: %w; there are: %s", name, ErrNoSocket, s.known())
	}
	var all []net.Listener
	for _, f := range files {
		ln, err := listener(f)
		if err != nil {
			for _, ln := range all {
				ln.Close()
			}
			return nil, fmt.Errorf("fd:%s: %w", name, err)
		}
		all = append(all, ln)
	}
	return all, nil
}

// known names what was passed, for who asked for something else.
func (s *Sockets) known() string {
	if len(s.files) == 0 {
		return "none"
	}
	return strings.Join(s.Names(), ", ")
}

// Close closes what was passed. Listeners go on.
func (s *Sockets) Close() error {
	var errs []error
	for _, files := range s.files {
		for _, f := range files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// listener makes a listener of a duplicate of f. isListening says what the platform can: package net would take any stream.
func listener(f *os.File) (net.Listener, error) {
	if err := isListening(f); err != nil {
		return nil, err
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("systemd: %w", err)
	}
	return ln, nil
}
