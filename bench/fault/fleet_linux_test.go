package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
	"github.com/sluicelb/sluice/bench/talk"
)

func TestEveryBackendAnswersByItsNumber(t *testing.T) {
	f := running(t, 3)
	addrs := f.Addrs()
	for i, addr := range addrs {
		open(t, addr, uint64(i)).served(t, i)
		host, port, _ := net.SplitHostPort(addr)
		_, first, _ := net.SplitHostPort(addrs[0])
		if host != []string{"127.0.1.1", "127.0.1.2", "127.0.1.3"}[i] || port != first {
			t.Errorf("addresses %v", addrs)
		}
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

// What a fault does to the sessions there are.
const (
	goesOn   = iota // they are answered
	ends            // with what comes from the system
	waits           // they are answered when it is undone
	nothing         // of new ones: their dial hangs
	refused         // of new ones
	isReset         // of new ones
	isServed        // of new ones, if late
)

func TestAFaultDoesWhatItSaysUntilItIsMended(t *testing.T) {
	tests := []struct {
		fault      Fault
		live, news int
	}{
		{Kill, ends, refused},
		{Exit, ends, refused},
		{Stop, waits, waits},
		{Refuse, goesOn, refused},
		{Blackhole, goesOn, nothing},
		{Reset, goesOn, isReset},
		{Slow, goesOn, isServed},
		{Mute, goesOn, waits},
		{HalfOpen, waits, nothing},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			f := running(t, 2)
			addr := f.Addrs()[1]
			live, other := open(t, addr, 1), open(t, f.Addrs()[0], 2)
			live.served(t, 1)
			for round := range 2 {
				before := time.Now()
				must(t, f.Break, 1, tt.fault)
				live.meets(t, tt.live)
				fresh := meetsNew(t, addr, uint64(10+round), tt.news)
				other.served(t, 0)
				must(t, f.Mend, 1, tt.fault)
				periods, err := f.Periods(1)
				if err != nil || len(periods) != round+1 {
					t.Fatalf("%v, %v", periods, err)
				}
				if p := periods[round]; p.Fault != tt.fault || p.From.Before(before) || !p.To.After(p.From) || p.To.After(time.Now()) {
					t.Errorf("period %+v", p)
				}
				for _, s := range []*session{live, fresh} {
					if s != nil {
						s.resumes(t, 1)
					}
				}
				if tt.fault.Ends() {
					live = open(t, addr, 1)
				}
				live.served(t, 1)
				open(t, addr, uint64(20+round)).served(t, 1)
			}
			if err := errors.Join(f.Err(), f.Wrong(0), f.Wrong(1)); err != nil {
				t.Error(err)
			}
			if tt.fault.Ends() != (tt.live == ends) || tt.fault.Silences() != (tt.live == waits) {
				t.Errorf("it says ends %v, silences %v", tt.fault.Ends(), tt.fault.Silences())
			}
		})
	}
}

// meets fails the test unless a live session meets what is due.
func (s *session) meets(t *testing.T, what int) {
	t.Helper()
	switch what {
	case goesOn:
		s.served(t, 1)
	case ends:
		_ = s.SetReadDeadline(time.Now().Add(patience))
		if n, err := s.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("it ended with %d bytes, %v", n, err)
		}
		_ = s.Close()
	case waits:
		if err := s.send(); err != nil {
			t.Fatal(err)
		}
		s.silent(t)
	}
}

// resumes fails the test unless an answer that was missing comes.
func (s *session) resumes(t *testing.T, i int) {
	t.Helper()
	if !s.waiting {
		return
	}
	if backend, err := s.receive(patience); backend != i || err != nil {
		t.Fatalf("session %d: backend %d, %v", s.number, backend, err)
	}
}

// meetsNew opens a session and fails the test unless it meets what is due; it returns one
// that waits.
func meetsNew(t *testing.T, addr string, number uint64, what int) *session {
	t.Helper()
	switch what {
	case refused:
		if err := dial(t.Context(), addr, patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("not refused: %v", err)
		}
	case nothing:
		var timeout net.Error
		if err := dial(t.Context(), addr, silentFor); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Fatalf("it does not hang: %v", err)
		}
	case isReset:
		c, err := net.DialTimeout("tcp", addr, patience)
		if err == nil { // else it was reset before it could be used
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			_, err = talk.Exchange(c, number)
		}
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("not reset: %v", err)
		}
	case isServed:
		began := time.Now()
		open(t, addr, number).served(t, 1)
		if took := time.Since(began); took < SlowBy {
			t.Fatalf("served after %v", took)
		}
	case waits:
		s := open(t, addr, number)
		if err := s.send(); err != nil {
			t.Fatal(err)
		}
		s.silent(t)
		return s
	}
	return nil
}

func TestAnOrderlyExitAnswersWhatItHasRead(t *testing.T) {
	f := running(t, 1)
	s := open(t, f.Addrs()[0], 1)
	s.served(t, 0)
	must(t, f.Break, 0, Exit)
	// It reads on for a moment, so that what is sent meanwhile makes no reset.
	if err := s.send(); err != nil {
		t.Fatal(err)
	}
	_ = s.SetReadDeadline(time.Now().Add(patience))
	if rest, err := io.ReadAll(s); len(rest) != 0 || err != nil {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	_ = s.Close()
	b := f.backends[0]
	<-b.process.Done()
	if err := b.process.Err(); !strings.Contains(err.Error(), "exit status 0") {
		t.Errorf("%v", err)
	}
	must(t, f.Mend, 0, Exit)
}

// tick is how coarse the system's account of arrivals is, at most.
const tick = 10 * time.Millisecond

func TestSessionsThatReachABrokenBackendAreKnown(t *testing.T) {
	for _, fault := range []Fault{Stop, Mute, Slow} {
		t.Run(string(fault), func(t *testing.T) {
			f := running(t, 1)
			addr := f.Addrs()[0]
			open(t, addr, 1).served(t, 0)
			must(t, f.Break, 0, fault)
			from := time.Now()
			late := []*session{open(t, addr, 5), open(t, addr, 6)}
			for _, s := range late {
				if err := s.send(); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range late {
				if fault == Slow {
					s.resumes(t, 0)
				} else {
					s.silent(t)
				}
			}
			must(t, f.Mend, 0, fault)
			to := time.Now()
			for _, s := range late {
				s.resumes(t, 0)
			}
			open(t, addr, 7).served(t, 0)
			seen, err := f.Seen(0)
			if err != nil {
				t.Fatal(err)
			}
			var numbers []uint64
			for _, s := range seen {
				numbers = append(numbers, s.Session)
				if s.At.Before(from.Add(-tick)) || s.At.After(to) {
					t.Errorf("session %d at %v from the break to %v", s.Session, s.At.Sub(from), to.Sub(from))
				}
			}
			if slices.Sort(numbers); !slices.Equal(numbers, []uint64{5, 6}) {
				t.Errorf("seen %v", seen)
			}
		})
	}
}

func TestWhatAStoppedOrEndedBackendSawIsNotGuessed(t *testing.T) {
	f := running(t, 2)
	must(t, f.Break, 0, Stop)
	if _, err := f.Seen(0); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("stopped: %v", err)
	}
	must(t, f.Break, 1, Kill)
	if seen, err := f.Seen(1); seen != nil || err != nil {
		t.Errorf("killed: %v, %v", seen, err)
	}
}

func TestAWrongSessionIsCounted(t *testing.T) {
	f := running(t, 1)
	s := open(t, f.Addrs()[0], 1)
	s.served(t, 0)
	s.next++ // one is lost
	if _, err := s.exchange(patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
	if err := f.Wrong(0); err == nil || !strings.Contains(err.Error(), "2 of session 1, 1 of session 1 belongs here") {
		t.Errorf("%v", err)
	}
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	f := running(t, 1)
	must(t, f.Break, 0, Mute)
	for _, tt := range []struct {
		name string
		err  error
		says string
	}{
		{"broken already", f.Break(t.Context(), 0, Kill), "already broken: mute"},
		{"mended of another", f.Mend(t.Context(), 0, Kill), `broken by "mute"`},
		{"a sequence", f.Break(t.Context(), 0, Rolling), "rolling is a sequence of exit"},
		{"no fault", f.Break(t.Context(), 0, "explode"), `no such fault: "explode"`},
		{"no backend", f.Break(t.Context(), 1, Kill), "no backend 1, there are 1"},
		{"below the first", f.Mend(t.Context(), -1, Mute), "no backend -1"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, tt.err, tt.says)
		}
	}
	for _, n := range []int{0, -1, 255} {
		if _, err := Start(t.Context(), n, testWorker(), ""); err == nil || !strings.Contains(err.Error(), "from 1 to 254") {
			t.Errorf("%d backends: %v", n, err)
		}
	}
}

func TestAnAnswerThatWasNotAwaitedIsNotTakenForAnother(t *testing.T) {
	f := running(t, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for _, fault := range []Fault{Mute, Stop} {
		if err := f.Break(ctx, 0, fault); !errors.Is(err, why) {
			t.Errorf("%s: %v", fault, err)
		}
	}
	must(t, f.Break, 0, Mute) // nothing had been asked
	must(t, f.Mend, 0, Mute)
	b := f.backends[1]
	_ = syscall.Kill(b.process.Pid(), syscall.SIGSTOP) // so that it is late
	if err := awaitStopped(t.Context(), b.process.Pid()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.WriteString(reportCommand + "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.reply(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	_ = syscall.Kill(b.process.Pid(), syscall.SIGCONT)
	if err := f.Break(t.Context(), 1, Mute); !errors.Is(err, why) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
	must(t, f.Break, 1, Kill) // a new process has no such past
	must(t, f.Mend, 1, Kill)
	must(t, f.Break, 1, Mute)
}

func TestABackendThatDiesByItselfTellsWhy(t *testing.T) {
	f := running(t, 2)
	_ = syscall.Kill(f.backends[1].process.Pid(), syscall.SIGQUIT) // Go programs say where they are
	<-f.backends[1].process.Done()
	for name, err := range map[string]error{"": f.Err(), "break": f.Break(t.Context(), 1, Mute), "kill": f.Break(t.Context(), 1, Kill), "wrong": f.Wrong(1)} {
		if !errors.Is(err, proc.ErrEnded) || !strings.Contains(err.Error(), "backend 1: exit status 2\n\t") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWorkerThatFailsTellsWhyAndLeavesNone(t *testing.T) {
	_, err := Start(t.Context(), 1, []string{"/bin/sh", "-c", "echo no luck >&2; exit 3"}, "")
	if !errors.Is(err, proc.ErrEnded) || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("%v", err)
	}
	if _, err := Start(t.Context(), 1, []string{"/nonexistent"}, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Start(ctx, 1, []string{"/bin/cat"}, ""); err == nil {
		t.Error("started without a backend")
	}
	if _, err := Start(ctx, 1, []string{"/bin/sh", "-c", "read x"}, ""); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestAClosedFleetIsGoneWhateverWasBroken(t *testing.T) {
	f := running(t, 9)
	for i, fault := range Faults()[:9] {
		must(t, f.Break, i, fault)
	}
	f.Close()
	f.Close() // again
	for i, addr := range f.Addrs() {
		if err := dial(t.Context(), addr, patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v", Faults()[i], err)
		}
	}
}

func TestBackendsDoNotOutliveTheirParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for _, addr := range strings.Fields(line) { // the second is of one that is stopped
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for !errors.Is(dial(ctx, addr, patience), syscall.ECONNREFUSED) {
			if ctx.Err() != nil {
				t.Fatalf("%s is still there", addr)
			}
		}
	}
}

func TestABackendEndsWithItsInput(t *testing.T) {
	f := running(t, 1)
	_ = f.backends[0].in.Close()
	<-f.backends[0].process.Done()
	if err := f.Err(); !errors.Is(err, proc.ErrEnded) || !strings.Contains(err.Error(), "exit status 0") {
		t.Errorf("%v", err)
	}
}
