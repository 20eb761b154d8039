package health

import (
	"context"
	"errors"
	"syscall"
)

// Failure is the error of a probe that failed, taken apart: a verdict keeps the parts
// as evidence. Its text is "step: error".
type Failure struct {
	// Step is what the probe was doing, in a word or two: "connect", "redis ping".
	Step string
	// Err is what went wrong, in words for an operator.
	Err error
	// Saw is what the backend sent instead of what was wanted, as it came; "" if it sent
	// nothing, or what it sent is not known. A verdict keeps its first 200 bytes.
	Saw string
	// Unsure means that the backend may well be working: it answered, and refused only this
	// probe (it is full, or the probe's login is wrong), or its name could not be asked for.
	// It is no ground to end the sessions that it has.
	Unsure bool
}

func (f *Failure) Error() string { return f.Step + ": " + f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a Failure with an error of the connection, or of a driver, in words for
// an operator: without addresses and names of calls, and with the deadline's own words if
// that has passed. The context is the probe's. It returns nil if err is nil.
func Fail(ctx context.Context, step string, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Step: step, Err: plain(ctx, err)}
}

// unsure says whether a probe's error leaves open that the backend works.
func unsure(err error) bool {
	f := (*Failure)(nil)
	return errors.As(err, &f) && f.Unsure
}

// Evidence is what a probe saw, for whoever asks later. Its zero value is that of a
// probe that passed.
type Evidence struct {
	Step  string `json:"step,omitempty"`  // see Failure; "" if the prober does not say
	Saw   string `json:"saw,omitempty"`   // at most a few hundred bytes, which a backend sent: not to be trusted as markup
	Errno string `json:"errno,omitempty"` // the system's error in words, such as "connection refused"; "" if it was none
}

// evidenceOf takes a probe's error apart.
func evidenceOf(err error) (e Evidence) {
	if f := (*Failure)(nil); errors.As(err, &f) {
		e.Step, e.Saw = f.Step, cut(f.Saw)
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		e.Errno = errno.Error()
	}
	return e
}
