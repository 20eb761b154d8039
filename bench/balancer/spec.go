package balancer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/bench/proc"
)

// Errors of ParseSpec and Find.
var (
	// ErrSpec means that a balancer is named in a way that cannot be understood.
	ErrSpec = errors.New("balancer: bad name")
	// ErrMissing means that the program is not there.
	ErrMissing = errors.New("balancer: not found")
)

// Kind is a program whose configuration is known.
type Kind string

// The kinds there are.
const (
	Sluice  Kind = "sluice"
	HAProxy Kind = "haproxy"
	Nginx   Kind = "nginx"
)

// Kinds are all kinds, in the order in which they are measured.
func Kinds() []Kind { return []Kind{Sluice, HAProxy, Nginx} }

// Spec names a balancer.
type Spec struct {
	Kind Kind
	// Name is what results call it; the kind's name unless another was given.
	Name string
	// Path is the program; empty until Find.
	Path string
	// Version is what the program says of itself; empty until Find.
	Version string
	// Adapter runs a program of another kind; nil = its kind is known.
	Adapter *Adapter
}

// ParseSpec reads "KIND", "KIND=PATH" or "KIND:NAME=PATH". Errors wrap ErrSpec.
func ParseSpec(text string) (Spec, error) {
	left, path, hasPath := strings.Cut(text, "=")
	kind, name, hasName := strings.Cut(left, ":")
	s := Spec{Kind: Kind(kind), Name: kind, Path: path}
	if hasName {
		s.Name = name
	}
	switch {
	case !slices.Contains(Kinds(), s.Kind):
		return Spec{}, fmt.Errorf("%w: %q: no kind %q; known are %v (write KIND, KIND=PATH or KIND:NAME=PATH)", ErrSpec, text, kind, Kinds())
	case hasPath && path == "":
		return Spec{}, fmt.Errorf("%w: %q: the path is empty", ErrSpec, text)
	case hasName && !hasPath:
		return Spec{}, fmt.Errorf("%w: %q: a name of its own needs a path: KIND:NAME=PATH", ErrSpec, text)
	case !validName(s.Name):
		return Spec{}, fmt.Errorf("%w: %q: a name has letters, digits, '.', '_' and '-'", ErrSpec, text)
	}
	return s, nil
}

// validName tells whether results may call a balancer so; it is part of file names.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, notInName) && strings.Trim(name, ".") != ""
}

func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
}

// Find returns s with its path and version. A program without a path is looked for on
// PATH, beside this program, and where Debian puts servers, which is not on every
// user's PATH. Errors wrap ErrMissing, also that of an nginx which cannot do TCP.
func (s Spec) Find(ctx context.Context) (Spec, error) {
	path, err := s.find()
	if err != nil {
		return s, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return s, err
	}
	if s.Adapter != nil {
		s.Path, s.Version = path, s.Adapter.version(ctx, path)
		return s, nil
	}
	if s.Kind == Nginx {
		if module := streamModule(proc.Output(ctx, path, "-V")); module != "" {
			if _, err := os.Stat(module); err != nil {
				return s, fmt.Errorf("%w: %s has no stream module (Debian: libnginx-mod-stream): %w", ErrMissing, s.Name, err)
			}
		}
	}
	s.Path = path
	arg := "-v"
	if s.Kind == Sluice {
		arg = "version"
	}
	s.Version = proc.Version(ctx, s.Path, arg)
	return s, nil
}

func (s Spec) find() (string, error) {
	if s.Path != "" && s.Adapter == nil {
		path, err := exec.LookPath(s.Path)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrMissing, s.Name, err)
		}
		return path, nil
	}
	program := string(s.Kind)
	if s.Adapter != nil {
		program = s.Adapter.Program
	}
	places := []string{program} // a path, or on PATH
	if !strings.ContainsRune(program, filepath.Separator) {
		if self, err := os.Executable(); err == nil {
			places = append(places, filepath.Join(filepath.Dir(self), program))
		}
		places = append(places, "/usr/sbin/"+program, "/sbin/"+program)
	}
	for _, place := range places {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s: not on PATH", ErrMissing, program)
}
