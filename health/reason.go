package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// maxReason bounds what a prober, or through it a backend, can put into a [Cause], in bytes.
const maxReason = 200

// noAnswer is the cause of a probe's context once its deadline has passed.
type noAnswer struct{ within time.Duration }

func (e noAnswer) Error() string { return fmt.Sprintf("no answer within %v", e.within) }

// Unwrap lets errors.Is find context.DeadlineExceeded.
func (e noAnswer) Unwrap() error { return context.DeadlineExceeded }

// withTimeout gives a probe its one deadline, with a cause that an operator can read.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, noAnswer{d})
}

// reworded shows err with a text for operators.
type reworded struct {
	text string
	err  error
}

func (e reworded) Error() string { return e.text }
func (e reworded) Unwrap() error { return e.err }

// plain strips from a network error all that an operator knows already (the operation,
// both addresses, the name of the system call), and keeps the cause. The context is the
// probe's: an error because its deadline passed reads as its cause.
func plain(ctx context.Context, err error) error {
	var (
		lookup *net.DNSError
		errno  syscall.Errno
		timed  net.Error
		op     *net.OpError
	)
	switch {
	case ctx.Err() != nil:
		return outOfTime(ctx, err)
	case errors.As(err, &lookup):
		return reworded{"name lookup: " + lookup.Err, err}
	case errors.Is(err, syscall.ENETUNREACH):
		return reworded{"network unreachable", err}
	case errors.Is(err, syscall.EHOSTUNREACH):
		return reworded{"host unreachable", err}
	case errors.As(err, &errno):
		return reworded{errno.Error(), err}
	case errors.As(err, &timed) && timed.Timeout():
		// The dialer keeps the context's deadline with a timer of its own, which may be
		// a moment ahead of the context's.
		<-ctx.Done()
		return outOfTime(ctx, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reworded{"connection closed without an answer", err}
	case errors.As(err, &op) && op.Net != "":
		return reworded{op.Err.Error(), err}
	}
	return err
}

// outOfTime words err by why ctx, which is done, has ended.
func outOfTime(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.As(cause, new(noAnswer)):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		return reworded{"no answer in time", err}
	default:
		return reworded{"stopped", errors.Join(err, cause)}
	}
}

// clip makes one line of at most maxReason bytes out of s.
func clip(s string) string {
	return cut(strings.Join(strings.Fields(s), " "))
}

// cut shortens s to maxReason bytes.
func cut(s string) string {
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "..."
	}
	return s
}
