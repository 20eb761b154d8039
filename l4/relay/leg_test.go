package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestTheErrorOfACallTellsTheCondition(t *testing.T) {
	for _, c := range []struct {
		err  error
		want condition
	}{
		{syscall.ECONNRESET, reset},
		{syscall.ECONNABORTED, reset},
		{syscall.EPIPE, pipe},
		{syscall.ETIMEDOUT, timeout},
		{syscall.EHOSTUNREACH, timeout},
		{syscall.ENETUNREACH, timeout},
		{io.ErrUnexpectedEOF, reset},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, pipe},
		{&net.OpError{Op: "readfrom", Err: os.NewSyscallError("splice", syscall.ETIMEDOUT)}, timeout},
		{fmt.Errorf("of its own: %w", errors.New("kind")), reset},
	} {
		if got := conditionOf(c.err); got != c.want {
			t.Errorf("%v: condition %d, want %d", c.err, got, c.want)
		}
	}
}

func TestALegHasFailedIfEitherPumpSaysSo(t *testing.T) {
	for _, c := range []struct {
		read, wrote condition
		fault       condition
		verdict     Why
	}{
		{sound, sound, sound, Reset}, // a reset that a write consumed and has not noted yet
		{sound, pipe, pipe, Reset},
		{reset, pipe, reset, Reset},
		{sound, timeout, timeout, Timeout},
		{timeout, pipe, timeout, Timeout},
	} {
		l := leg{who: Backend}
		l.read.Store(uint32(c.read))
		l.wrote.Store(uint32(c.wrote))
		if got := l.fault(); got != c.fault {
			t.Errorf("read %d, wrote %d: fault %d, want %d", c.read, c.wrote, got, c.fault)
		}
		if got := l.verdict(); got != (End{Backend, c.verdict}) {
			t.Errorf("read %d, wrote %d: verdict %v, want %v", c.read, c.wrote, got, c.verdict)
		}
	}
}

func TestWithoutTheSystemsWordTheWriterTellsAHiddenReset(t *testing.T) {
	unix, _ := pair(t, "unix") // the system is asked about TCP only
	for wrote, want := range map[condition]bool{sound: false, pipe: false, reset: true, timeout: true} {
		l := leg{conn: unix}
		l.wrote.Store(uint32(wrote))
		if l.hidden() != want {
			t.Errorf("wrote %d: hidden %v, want %v", wrote, !want, want)
		}
	}
}

func TestEveryReasonHasANameOfItsOwn(t *testing.T) {
	names := map[string]bool{Running.String(): true}
	for _, w := range Whys() {
		if w.String() == "" || names[w.String()] {
			t.Errorf("reason %d is called %q, as another is", w, w)
		}
		names[w.String()] = true
	}
	if len(names) != int(NumWhy) {
		t.Errorf("%d names for %d reasons", len(names), NumWhy)
	}
	for _, c := range []struct{ got, want string }{
		{End{}.String(), "nobody running"},
		{End{Client, HalfClose}.String(), "client half-close"},
		{killed.String(), "operator killed"},
		{ToBackend.String(), "to_backend"},
		{ToClient.String(), "to_client"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
