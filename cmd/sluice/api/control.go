package api

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Control is what the admin server needs of the process. Its methods may be called from
// any goroutine. Their errors are a *ControlError, or of the process itself (internal).
//
// Who names the person for log and history; If is the revision that the caller has seen,
// 0 = any.
type Control interface {
	Revision() uint64
	Status() Status
	Ready() (ok bool, why string)
	// Turns returns nil if what serves clients comes round before ctx ends, else what does not.
	Turns(ctx context.Context) error
	Services() []Service
	Service(name string) (Service, error)
	Sessions(f Filter, sort string, limit int) (Sessions, error)
	Failures(service string, limit int) []Failure
	Events(since uint64, service string) Events
	// Follow calls f with each event after since, from one goroutine, until ctx is done.
	// A receiver that is too slow loses events: lost is how many before this one.
	Follow(ctx context.Context, since uint64, f func(e Event, lost int) error) error
	Explain(service, backend string, at time.Time) (Explanation, error)
	Pick(service string, source netip.Addr) (Pick, error)
	Plan(name string, file []byte) (Plan, error)
	Config() []byte // the file in force, with every default; literal passwords left out

	Reload(m Mark) (Plan, error)
	SetAdmin(m Mark, service, backend, state string) (Backend, error)
	Set(m Mark, service, backend string, to Setting) (Backend, error)
	Add(m Mark, service string, b NewBackend) (Backend, error)
	// Remove ends the sessions after the time; nil is the service's drain_timeout.
	Remove(m Mark, service, backend string, within *time.Duration) (Removed, error)
	Pause(m Mark, service string, d time.Duration) error
	Resume(m Mark, service string) (was bool, err error)
	Kill(m Mark, f Filter) (int, error)
}

// Mark is who asks for a change, and what they had seen.
type Mark struct {
	Who string
	If  uint64
	// Made, if not nil, gets the revision that the change made: by the time that it is told
	// there may be a newer one. One that failed leaves it.
	Made *uint64
}

// ControlError is a change or a question that is refused.
type ControlError struct {
	Fault
}

func (e *ControlError) Error() string { return e.Message }

// AsFault returns what a client is told of an error.
func AsFault(err error) Fault {
	if c := (*ControlError)(nil); errors.As(err, &c) {
		return c.Fault
	}
	return Fault{Code: CodeInternal, Message: err.Error()}
}
