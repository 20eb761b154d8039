package mysql

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

// moment is how long a probe of a frozen server waits.
const moment = 100 * time.Millisecond

// frozen is a server whose connections come to be handled when it is thawed.
type frozen struct {
	*fake
	came chan net.Conn
	thaw chan func(*fake, net.Conn) error // what becomes of the next connection
}

func freeze(t *testing.T) frozen {
	t.Helper()
	f := frozen{came: make(chan net.Conn, 10), thaw: make(chan func(*fake, net.Conn) error, 10)}
	f.fake = serve(t, func(s *fake, c net.Conn) error {
		f.came <- c
		return (<-f.thaw)(s, c)
	})
	t.Cleanup(func() { close(f.thaw) })
	return f
}

// silent is a connection that nothing becomes of: it ends as the other side has it.
func silent(_ *fake, c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

const noGreeting = "mysql greeting: no answer in time"

func TestProbesOfAFrozenServerWaitOnOneConnection(t *testing.T) {
	for name, c := range map[string]Config{"with a user": user, "without": {}} {
		t.Run(name, func(t *testing.T) {
			f := freeze(t)
			p := newProber(t, f.endpoint, c)
			for range 4 {
				wantFailure(t, probe(p, moment), noGreeting, "")
			}
			f.thaw <- says(hello, welcome, pong)
			wantFailure(t, probe(p, patience), "", "")
			if err := f.end(t); err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("the server read %v, want an end of stream", err)
			}
			if n := len(f.came); n != 1 {
				t.Errorf("it got %d connections, want one", n)
			}
			if c.User == "" {
				return
			}
			if heard := f.heard(); len(heard) != 3 || heard[2] != "\x01" {
				t.Errorf("it heard %q, want a login, a ping and a goodbye", heard)
			}
			f.thaw <- says(hello, welcome, pong) // nothing is left of the first
			wantFailure(t, probe(p, patience), "", "")
		})
	}
}

func TestAKeptConnectionThatDiedIsReplacedWithinTheProbe(t *testing.T) {
	deaths := map[string]func(*fake, net.Conn) error{
		"closed":               func(*fake, net.Conn) error { return nil },
		"reset":                func(_ *fake, c net.Conn) error { return c.(*net.TCPConn).SetLinger(0) },
		"greeted, then closed": closing(hello),
		"refused":              closing(packet(0, refuses(1129, "#HY000blocked"))),
		"junk":                 closing("HTTP/1.1 408 Request Timeout\r\n"),
	}
	for name, death := range deaths {
		t.Run(name, func(t *testing.T) {
			f := freeze(t)
			p := newProber(t, f.endpoint, user)
			wantFailure(t, probe(p, moment), noGreeting, "")
			f.thaw <- death
			f.thaw <- says(hello, welcome, pong)
			wantFailure(t, probe(p, patience), "", "")
			if n := len(f.came); n != 2 {
				t.Errorf("it got %d connections, want two", n)
			}
		})
	}
}

func TestANewConnectionDecidesAfterAKeptOneThatDied(t *testing.T) {
	f := freeze(t)
	p := newProber(t, f.endpoint, user)
	wantFailure(t, probe(p, moment), noGreeting, "")
	f.thaw <- func(*fake, net.Conn) error { return nil }
	f.thaw <- closing(packet(0, refuses(1040, "#08004Too many connections")))
	wantFailure(t, probe(p, patience), "mysql greeting: too many connections (1040): max_connections is used up", "Too many connections")
}

func TestOnlyAConnectionOverWhichNothingCameIsKept(t *testing.T) {
	for name, text := range map[string]string{"a part of the greeting": hello[:20], "the greeting": hello} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, says(text, ""))
			p := newProber(t, s.endpoint, user)
			if err := probe(p, moment); err == nil || !strings.HasSuffix(err.Error(), "no answer in time") {
				t.Errorf("the probe says %v", err)
			}
			if err := s.end(t); err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("the server read %v, want an end of stream", err)
			}
			if conn, _ := p.(*prober).kept.take(); conn != nil {
				t.Error("it is kept")
			}
		})
	}
}

func TestAConnectionIsNotKeptForEver(t *testing.T) {
	f := freeze(t)
	p := newProber(t, f.endpoint, user)
	wantFailure(t, probe(p, moment), noGreeting, "")
	f.thaw <- silent
	p.(*prober).kept.made = time.Now().Add(-keptFor - time.Second)
	wantFailure(t, probe(p, moment), noGreeting, "")
	if err := f.end(t); err != nil {
		t.Errorf("the server read %v, want an end of stream", err)
	}
	f.thaw <- says(hello, welcome, pong)
	wantFailure(t, probe(p, patience), "", "")
}

func TestCloseEndsTheKeptConnectionAndNothingElse(t *testing.T) {
	f := freeze(t)
	p := newProber(t, f.endpoint, user)
	wantFailure(t, probe(p, moment), noGreeting, "")
	f.thaw <- silent
	for range 2 {
		if err := p.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
	if err := f.end(t); err != nil {
		t.Errorf("the server read %v, want an end of stream", err)
	}
	f.thaw <- says(hello, welcome, pong)
	wantFailure(t, probe(p, patience), "", "")
}

// noGate is told and does nothing.
type noGate struct{}

func (noGate) SetHealth(health.State, health.Cause) {}
func (noGate) Eject(health.Cause) bool              { return false }
func (noGate) Restore(health.Cause) bool            { return false }

func TestAMemberThatStopsKeepsNoConnection(t *testing.T) {
	f := freeze(t)
	m, err := health.NewMonitor(health.Config{Interval: time.Hour, Timeout: moment, Rise: 1, Fall: 1})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(newProber(t, f.endpoint, user), noGate{})
	<-m.Settled()
	f.thaw <- silent
	m.Close()
	if err := f.end(t); err != nil {
		t.Errorf("the server read %v, want an end of stream", err)
	}
}
