package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/bench/stream"
)

func TestFailuresAreToldApart(t *testing.T) {
	op := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: &os.SyscallError{Syscall: "read", Err: err}}
	}
	tests := []struct {
		err  error
		want Failure
	}{
		{op(syscall.ECONNREFUSED), Refused},
		{op(syscall.ECONNRESET), Reset},
		{op(syscall.EPIPE), Reset},
		{io.EOF, Closed},
		{io.ErrUnexpectedEOF, Closed},
		{os.ErrDeadlineExceeded, Timeout},
		{context.DeadlineExceeded, Timeout},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, Timeout},
		{fmt.Errorf("%w: x", errWrong), Wrong},
		{fmt.Errorf("%w: x", stream.ErrWrong), Wrong},
		{op(syscall.EMFILE), Other},
		{errors.New("something else"), Other},
	}
	for _, tt := range tests {
		if got := FailureOf(tt.err); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestATallyCountsWhatManyTellIt(t *testing.T) {
	var tally Tally
	if tally.Done() != 0 || tally.Failures() != nil || tally.Err() != nil {
		t.Errorf("a new one: %d, %v, %v", tally.Done(), tally.Failures(), tally.Err())
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				tally.Add(3)
				tally.Fail(io.EOF)
			}
		})
	}
	all.Wait()
	tally.Fail(errWrong)
	if want := map[Failure]int64{Closed: 8000, Wrong: 1}; tally.Done() != 24_000 || !maps.Equal(tally.Failures(), want) {
		t.Errorf("%d, %v", tally.Done(), tally.Failures())
	}
	if !errors.Is(tally.Err(), io.EOF) {
		t.Errorf("the first is %v", tally.Err())
	}
}

func TestFailuresAreACopy(t *testing.T) {
	var tally Tally
	tally.Fail(io.EOF)
	tally.Failures()[Closed] = 99
	if got := tally.Failures()[Closed]; got != 1 {
		t.Errorf("%d", got)
	}
}
