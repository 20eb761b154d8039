package fault

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

// checkSession is the session by which a backend is known to answer.
const checkSession = math.MaxUint64

// silentFor is how long a connection must hang to be known to be dropped: on loopback one
// that is not takes far less.
const silentFor = 100 * time.Millisecond

// inForce is nil if a new connection meets what a fault makes of it. Of the others, that
// they are in force is known from the process.
func inForce(ctx context.Context, addr string, f Fault) error {
	switch f {
	case Kill, Exit, Refuse:
		if err := dial(ctx, addr, answerWithin); !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("a new connection is not refused: %w", orConnected(err))
		}
	case Blackhole, HalfOpen:
		var failed net.Error
		if err := dial(ctx, addr, silentFor); !errors.As(err, &failed) || !failed.Timeout() {
			return fmt.Errorf("a new connection does not hang: %w", orConnected(err))
		}
	}
	return nil
}

var errConnected = errors.New("it succeeds")

func orConnected(err error) error {
	if err == nil {
		return errConnected
	}
	return err
}

// dial connects and closes; the error tells whether it was refused, or took too long.
func dial(ctx context.Context, addr string, within time.Duration) error {
	c, err := (&net.Dialer{Timeout: within}).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// awaitStopped returns when a process that was told to stop stands still.
func awaitStopped(ctx context.Context, pid int) error {
	for {
		if is, err := stopped(pid); is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}

// answers is nil once backend id answers on addr.
func answers(ctx context.Context, addr string, id int) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	got, err := talk.Exchange(c, checkSession)
	if err != nil {
		return err
	}
	if got != id {
		return fmt.Errorf("backend %d answers", got)
	}
	return nil
}
