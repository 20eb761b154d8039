package balancer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluicelb/sluice/bench/proc"
)

// ErrAdapter means that an adapter lacks something, or that a template of it is wrong.
var ErrAdapter = errors.New("balancer: bad adapter")

// Adapter runs a program whose kind is not known, by templates (package text/template).
// Templates see Services (each with Name, Listen, Backends and Hash), Failover (fields as
// documented there; nil in a comparison), Sessions, Threads, Dir (a folder of its own)
// and File (the configuration's path), and the functions join, ms and seconds (of a
// duration, whole), hex and escape (of Send and Expect), host and port (of an address).
type Adapter struct {
	// Name is what results call it: letters, digits, '.', '_' and '-'.
	Name string
	// Program is a path, or a name that is looked for on PATH and in /usr/sbin. It must stay
	// in the foreground and end on SIGTERM.
	Program string
	// Args are templates of its arguments.
	Args []string
	// VersionArgs make it print its version; none = it is not asked.
	VersionArgs []string
	// File is the name of its configuration file, without a folder.
	File string
	// Config is the template of that file.
	Config string
	// Cannot are sentences for the report: what of the common configuration it has no
	// words for.
	Cannot []string
}

// Spec returns the balancer that a runs. An error wraps ErrAdapter; it says which part
// is missing, or what is wrong with a template.
func (a Adapter) Spec() (Spec, error) {
	if err := a.check(); err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrAdapter, err)
	}
	return Spec{Kind: Kind(a.Name), Name: a.Name, Path: a.Program, Adapter: &a}, nil
}

// check tries everything with services that do not exist.
func (a Adapter) check() error {
	switch {
	case !validName(a.Name):
		return fmt.Errorf("name %q: a name has letters, digits, '.', '_' and '-'", a.Name)
	case a.Program == "":
		return errors.New("program is missing: a path, or a name on PATH")
	case a.File == "" || a.File != filepath.Base(a.File) || a.File == "." || a.File == "..":
		return fmt.Errorf("file %q: it must be a file name without a folder", a.File)
	case a.Config == "":
		return errors.New("config is missing: the template of the configuration file")
	}
	f := Default()
	try := setup{
		Settings: Settings{Sessions: 1, Failover: &f, Services: []Service{{Name: "any", Listen: "127.0.0.1:1", Backends: []string{"127.0.0.1:2"}}}},
		Dir:      "/dir", File: "/dir/" + a.File, Threads: Threads,
	}
	s := Spec{Name: a.Name, Adapter: &a}
	if _, err := s.text(try); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if _, err := s.args(try); err != nil {
		return fmt.Errorf("args: %w", err)
	}
	return nil
}

// version is what the program at path says of itself.
func (a Adapter) version(ctx context.Context, path string) string {
	if len(a.VersionArgs) == 0 {
		return a.Name + ", not asked for its version"
	}
	return proc.Version(ctx, path, a.VersionArgs...)
}
