package l4

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// fakeListener answers Accept from a script, then waits to be closed.
type fakeListener struct {
	accept func(call int) (net.Conn, error)
	at     []time.Duration // of each call, from the start
	start  time.Time
	closed chan struct{}
}

func newFakeListener(accept func(call int) (net.Conn, error)) *fakeListener {
	return &fakeListener{accept: accept, start: time.Now(), closed: make(chan struct{})}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	l.at = append(l.at, time.Since(l.start))
	c, err := l.accept(len(l.at) - 1)
	if c == nil && err == nil {
		<-l.closed
		return nil, net.ErrClosed
	}
	return c, err
}

func (l *fakeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *fakeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// shedder is one that can be told how long to wait, as real ones can.
type shedder struct{ *fakeListener }

func (l shedder) SetDeadline(time.Time) error { return nil }

func failing(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

// stranger is a connection no session can be made of.
func stranger() net.Conn {
	c, far := net.Pipe()
	far.Close()
	return c
}

// accepting runs a service on ln in a bubble until f returns.
func accepting(t *testing.T, ln net.Listener, f func(r *rig)) {
	r := assemble(t, Config{})
	served := async(func() error { return r.Serve(ln) })
	f(r)
	r.Close()
	if err := <-served; !errors.Is(err, ErrServiceClosed) {
		t.Errorf("Serve returned %v", err)
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func ms(all ...int) (d []time.Duration) {
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Millisecond)
	}
	return d
}

// C47
func TestAFailedAcceptIsTriedAgainAfterGrowingPauses(t *testing.T) {
	for _, c := range []struct {
		name   string
		script []error // nil is a client
		want   []time.Duration
	}{
		{"nothing fails", []error{nil, nil}, ms(0, 0, 0)},
		{"clients that gave up", []error{failing(syscall.ECONNABORTED), failing(syscall.ECONNABORTED)}, ms(0, 0, 0)},
		{"out of memory", slices.Repeat([]error{failing(syscall.ENOBUFS)}, 12), ms(0, 5, 15, 35, 75, 155, 315, 635, 1275, 2275, 3275, 4275, 5275)},
		{"out of descriptors", slices.Repeat([]error{failing(syscall.EMFILE)}, 4), ms(0, 5, 15, 35, 75)},
		{"the system is out of descriptors", slices.Repeat([]error{failing(syscall.ENFILE)}, 4), ms(0, 5, 15, 35, 75)},
		{"unheard of", []error{errors.New("strange"), errors.New("strange")}, ms(0, 5, 15)},
		{"a success begins anew", []error{failing(syscall.ENOBUFS), failing(syscall.ENOBUFS), nil, failing(syscall.ENOBUFS)}, ms(0, 5, 15, 15, 20)},
		{"who gave up does not", []error{failing(syscall.ENOBUFS), failing(syscall.ECONNABORTED), failing(syscall.ENOBUFS)}, ms(0, 5, 5, 15)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newFakeListener(func(call int) (net.Conn, error) {
					switch {
					case call >= len(c.script):
						return nil, nil
					case c.script[call] == nil:
						return stranger(), nil
					}
					return nil, c.script[call]
				})
				accepting(t, ln, func(*rig) {
					pass(time.Minute)
					if !slices.Equal(ln.at, c.want) {
						t.Errorf("accepted at %v, want %v", ln.at, c.want)
					}
				})
			})
		})
	}
}

// C47: out of descriptors, one client is turned away for each accept that fails.
func TestClientsAreShedWithTheSpareDescriptor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 50
		ln := newFakeListener(func(call int) (net.Conn, error) {
			switch {
			case call >= 2*clients:
				return nil, nil
			case call%2 == 0:
				return nil, failing(syscall.EMFILE)
			}
			return stranger(), nil // the spare one is free
		})
		accepting(t, shedder{ln}, func(r *rig) {
			pass(time.Minute)
			if last := ln.at[len(ln.at)-1]; last != 0 || len(ln.at) != 2*clients+1 {
				t.Errorf("%d calls, the last after %v", len(ln.at), last)
			}
			if n := r.ended(relay.Descriptors); n != clients {
				t.Errorf("%d were counted", n)
			}
			for _, msg := range []string{"accept failed", "shedding clients"} { // the first at once, the others a second later
				if n := len(r.log.of(msg)); n != 2 {
					t.Errorf("%d records %q", n, msg)
				}
			}
		})
	})
}

// C47: for an hour.
func TestAListenerThatOnlyFailsNeitherSpinsNorFillsTheLogNorEnds(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		synctest.Test(t, func(t *testing.T) {
			ln := newFakeListener(func(int) (net.Conn, error) { return nil, failing(errno) })
			var given net.Listener = ln
			calls := 1 // a second
			if errno == syscall.EMFILE {
				given, calls = shedder{ln}, 2
			}
			accepting(t, given, func(r *rig) {
				pass(time.Hour)
				if most := calls * (3600 + 10); len(ln.at) > most || len(ln.at) < 3590 {
					t.Errorf("%v: %d calls in an hour", errno, len(ln.at))
				}
				lines := r.log.of("accept failed")
				if len(lines) > 3601 || len(lines) < 1000 {
					t.Errorf("%v: %d lines in an hour", errno, len(lines))
				}
				lines[0].expect(t, line{"msg": "accept failed", "level": "WARN", "service": "svc", "listen": "192.0.2.1:1", "error": errno.Error(), "times": "1"})
			})
		})
	}
}

// C97: a pause does not hold up a shutdown.
func TestCloseEndsAPauseOfTheAcceptLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newFakeListener(func(int) (net.Conn, error) { return nil, failing(syscall.ENOBUFS) })
		accepting(t, ln, func(r *rig) {
			pass(10*time.Second + 300*time.Millisecond)
			begin := time.Now()
			r.Close()
			if took := time.Since(begin); took != 0 {
				t.Errorf("Close took %v", took)
			}
		})
	})
}

func TestTheSpareDescriptorIsHeldAgainAndGivenBack(t *testing.T) {
	r := assemble(t, Config{})
	a := newAcceptor(r.Service, newFakeListener(nil))
	if a.spare == nil {
		t.Fatal("none is held")
	}
	if a.shed(queue{a.ln}) || a.spare == nil { // a listener without deadlines
		t.Error("shed, or the spare one is lost")
	}
	a.dropSpare()
	if a.shed(queue{a.ln}) || a.spare == nil { // it was lost: another try, then
		t.Error("shed without one, or it was not taken back")
	}
	a.dropSpare()
	a.dropSpare()
}

func TestWhatIsNoStreamIsNotServed(t *testing.T) {
	r := assemble(t, Config{})
	c, far := net.Pipe()
	newAcceptor(r.Service, newFakeListener(nil)).accepted(c)
	expectDrain(t, far, "", "eof")
	if said := r.log.said(); fmt.Sprint(said) != "[ERROR not a stream of bytes]" {
		t.Errorf("logged %v", said)
	}
}
