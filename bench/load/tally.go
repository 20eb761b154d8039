package load

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sluicelb/sluice/bench/stream"
	"github.com/sluicelb/sluice/bench/talk"
)

// Failure is a way in which an exchange fails.
type Failure string

// The failures there are.
const (
	Refused Failure = "refused"      // the connection was not accepted
	Reset   Failure = "reset"        // it was reset
	Closed  Failure = "closed early" // its end came before the answer
	Timeout Failure = "timeout"      // nothing came
	Wrong   Failure = "wrong bytes"  // another answer than the right one came
	Other   Failure = "other"        // for example no descriptor was free
)

// FailureOf tells which failure err is.
func FailureOf(err error) Failure {
	switch {
	case errors.Is(err, errWrong), errors.Is(err, stream.ErrWrong), errors.Is(err, talk.ErrWrong):
		return Wrong
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Closed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return Timeout
	}
	return Other
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Tally counts what came of a load. The zero value is ready; it is safe for concurrent
// use, also while the load runs.
type Tally struct {
	done atomic.Int64

	mu     sync.Mutex
	failed map[Failure]int64
	first  error
}

// Add counts n units that succeeded: exchanges, or bytes.
func (t *Tally) Add(n int64) { t.done.Add(n) }

// Fail counts a failure.
func (t *Tally) Fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = make(map[Failure]int64)
		t.first = err
	}
	t.failed[FailureOf(err)]++
}

// Done is the number of units that succeeded.
func (t *Tally) Done() int64 { return t.done.Load() }

// Failures is the number of failures of each kind; nil = none.
func (t *Tally) Failures() map[Failure]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.failed)
}

// Err is the first failure, nil if there was none.
func (t *Tally) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}
