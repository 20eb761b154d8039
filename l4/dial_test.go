package l4

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

func TestFailedDialsAreClassified(t *testing.T) {
	wrap := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 1}, Err: err}
	}
	sys := func(errno syscall.Errno) error { return wrap(os.NewSyscallError("connect", errno)) }
	r := assemble(t, Config{Connect: ConnectConfig{Timeout: 3 * time.Second}})
	for _, c := range []struct {
		err  error
		kind dialFailure
		ours bool
		text string
	}{
		{sys(syscall.ECONNREFUSED), dialRefused, false, syscall.ECONNREFUSED.Error()},
		{sys(syscall.ENOENT), dialRefused, false, syscall.ENOENT.Error()}, // a Unix socket that is not there
		{sys(syscall.ECONNRESET), dialReset, false, syscall.ECONNRESET.Error()},
		{sys(syscall.EPIPE), dialReset, false, syscall.EPIPE.Error()},
		{sys(syscall.EHOSTUNREACH), dialUnreachable, false, syscall.EHOSTUNREACH.Error()},
		{sys(syscall.ENETUNREACH), dialUnreachable, false, syscall.ENETUNREACH.Error()},
		{sys(syscall.ETIMEDOUT), dialTimeout, false, syscall.ETIMEDOUT.Error()}, // the system gave up first
		{wrap(os.ErrDeadlineExceeded), dialTimeout, false, "no answer within 3s"},
		{wrap(context.DeadlineExceeded), dialTimeout, false, "no answer within 3s"},
		{relay.ErrSelf, dialSelf, false, relay.ErrSelf.Error()},
		{wrap(&net.DNSError{Err: "no such host", Name: "db.test", IsNotFound: true}), dialName, false, "lookup db.test: no such host"},
		{wrap(&net.DNSError{Err: "i/o timeout", Name: "db.test", IsTimeout: true}), dialName, false, "lookup db.test: i/o timeout"},
		{sys(syscall.EACCES), dialOther, false, syscall.EACCES.Error()},
		{errors.New("strange"), dialOther, false, "strange"},
		// This machine's own failures.
		{wrap(&net.DNSError{Err: "too many open files", Name: "db.test", IsTemporary: true}), dialResolver, true, "lookup db.test: too many open files"},
		{sys(syscall.EADDRNOTAVAIL), dialPorts, true, syscall.EADDRNOTAVAIL.Error()},
		{wrap(os.NewSyscallError("socket", syscall.EMFILE)), dialDescriptors, true, syscall.EMFILE.Error()},
		{wrap(os.NewSyscallError("socket", syscall.ENFILE)), dialDescriptors, true, syscall.ENFILE.Error()},
		{wrap(context.Canceled), dialCancelled, true, context.Canceled.Error()},
	} {
		f := (&Session{svc: r.Service, cfg: r.cfg()}).faultOf(c.err)
		if f.kind != c.kind || f.kind.ours() != c.ours || f.text != c.text {
			t.Errorf("%v is %s (ours: %v) %q, want %s (ours: %v) %q", c.err, f.kind, f.kind.ours(), f.text, c.kind, c.ours, c.text)
		}
	}
	r.Close()
	if f := (&Session{svc: r.Service, cfg: r.cfg()}).faultOf(sys(syscall.ECONNREFUSED)); f.kind != dialCancelled {
		t.Errorf("%s after Close", f.kind)
	}
}

func TestARealRefusalAndAMissingSocketAreCalledRefused(t *testing.T) {
	dir := socketDir(t)
	for _, c := range []BackendConfig{refusing(t, "tcp"), {Address: "unix:" + filepath.Join(dir, "none"), Name: "unix", Weight: 1}} {
		t.Run(c.Name, func(t *testing.T) {
			r := serve(t, Config{}, c)
			heard := observe(r.backends[0])
			r.expectTurnedAway()
			r.awaitEnded(relay.ConnectFailed, 1)
			if f := r.dialFailures(); f["refused"] != 1 {
				t.Errorf("dials failed of %v", f)
			}
			if len(heard.failures()) != 1 {
				t.Errorf("the observer heard %v", heard.failures())
			}
		})
	}
}

// scripted is an engine whose sessions end at once, in a given way.
type scripted struct {
	relay.Engine
	end relay.End
	age time.Duration // that the session seems to have had
}

func (e *scripted) Kill(*relay.Session, relay.End) {}

func (e *scripted) Start(s *relay.Session) {
	sess := s.Owner.(*Session)
	sess.relayed = sess.svc.now() - e.age
	go func() {
		s.Client.Close()
		s.Backend.Close()
		s.NoteEnd()
		s.Owner.RelayEnded(e.end)
	}()
}

func TestObserversHearHowSessionsEnded(t *testing.T) {
	for _, c := range []struct {
		name             string
		handle           func(relay.Conn)
		engine           relay.Engine
		client           func(t *testing.T, r *rig, c relay.Conn)
		answered, atOnce int64
	}{
		{"one byte came", says("x"), nil, func(t *testing.T, _ *rig, c relay.Conn) { expectRead(t, c, "x"); c.Close() }, 1, 0},
		{"it answered and reset", func(c relay.Conn) { c.Write([]byte("x")); read(t, c, 1); abort(c) }, nil,
			func(t *testing.T, _ *rig, c relay.Conn) {
				expectRead(t, c, "x")
				send(t, c, "y")
				expectReset(t, c)
			}, 1, 0},
		{"it closed at once", func(relay.Conn) {}, nil, func(t *testing.T, _ *rig, c relay.Conn) { expectDrain(t, c, "", "eof"); c.Close() }, 0, 1},
		{"it reset at once", mute, &scripted{end: relay.End{Who: relay.Backend, Why: relay.Reset}}, func(t *testing.T, _ *rig, c relay.Conn) { drain(c) }, 0, 1},
		{"it closed later", mute, &scripted{end: relay.End{Who: relay.Backend, Why: relay.EOF}, age: atOnce}, func(t *testing.T, _ *rig, c relay.Conn) { drain(c) }, 0, 0},
		{"it died later", mute, &scripted{end: relay.End{Who: relay.Backend, Why: relay.Timeout}, age: time.Hour}, func(t *testing.T, _ *rig, c relay.Conn) { drain(c) }, 0, 0},
		{"the client closed", mute, nil, func(t *testing.T, _ *rig, c relay.Conn) { c.Close() }, 0, 0},
		{"the client reset", mute, nil, func(t *testing.T, _ *rig, c relay.Conn) { abort(c) }, 0, 0},
		{"it was killed", mute, nil, func(t *testing.T, r *rig, c relay.Conn) { r.Close(); expectReset(t, c) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, Config{Engine: c.engine}, backend(t, c.handle).config("b"))
			heard := observe(r.backends[0])
			client := r.connect()
			eventually(t, "the dial", func() bool { return heard.ok.Load() == 1 })
			if c.name != "it closed at once" && c.engine == nil {
				r.awaitRelayed(1)
			}
			c.client(t, r, client)
			r.log.await(t, "session", 1)
			if a, o := heard.answered.Load(), heard.atOnce.Load(); a != c.answered || o != c.atOnce {
				t.Errorf("heard %d answers and %d ends at once, want %d and %d", a, o, c.answered, c.atOnce)
			}
			if heard.ok.Load() != 1 || len(heard.failures()) != 0 {
				t.Errorf("heard %d dials succeed and %v fail", heard.ok.Load(), heard.failures())
			}
		})
	}
}

func TestAnObserverMayBeExchanged(t *testing.T) {
	r := serve(t, Config{Balance: picker.First}, echoes(t, 1)...)
	expectEcho(t, r.connect(), "x") // nobody listens
	first := observe(r.backends[0])
	expectEcho(t, r.connect(), "x")
	second := observe(r.backends[0])
	expectEcho(t, r.connect(), "x")
	if first.ok.Load() != 1 || second.ok.Load() != 1 {
		t.Errorf("heard %d and %d", first.ok.Load(), second.ok.Load())
	}
}

// socketDir returns a folder whose path is short enough for a socket.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "l4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
