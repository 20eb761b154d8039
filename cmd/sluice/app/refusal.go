package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
)

func errDraining() error { return refusal(api.CodeBusy, "the process is draining") }

func invalid(format string, args ...any) error { return refusal(api.CodeInvalid, format, args...) }

func refusal(code, format string, args ...any) error {
	return &api.ControlError{Fault: api.Fault{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func noService(name string, services []*service) error {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name
	}
	return refusal(api.CodeNotFound, "no service %q: there is %s", name, list(names))
}

func noBackend(name string, s *service) error {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.cfg.Name
	}
	return refusal(api.CodeNotFound, "no backend %q in service %q: there is %s", name, s.name, list(names))
}

// listed is how many names an error lists.
const listed = 20

func list(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > listed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), n-listed)
	}
	return strings.Join(names, ", ")
}

// plain is an error for people: without the names of packages.
func plain(err error) string {
	s := err.Error()
	for _, prefix := range []error{l4.ErrBackend, l4.ErrConfig} {
		if errors.Is(err, prefix) {
			s = strings.ReplaceAll(s, prefix.Error()+": ", "")
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(s, "picker: "), "l4: ")
}
