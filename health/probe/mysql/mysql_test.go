package mysql

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

var user = Config{User: "probe", Password: "sesame"}

const (
	comQuit = "\x01"
	comPing = "\x0e"
)

func TestProbeThatCannotWorkIsRefused(t *testing.T) {
	tcp := health.Endpoint{Network: "tcp", Address: "127.0.0.1:3306"}
	tests := []struct {
		e    health.Endpoint
		c    Config
		want string
	}{
		{tcp, Config{Password: "x"}, "password: want a user too"},
		{tcp, Config{Role: Primary}, "role: want a user too"},
		{tcp, Config{TLS: &tls.Config{}}, "tls: want a user too"},
		{tcp, Config{User: "probe", Role: Replica + 1}, "role 3: want any, primary or replica"},
		{health.Endpoint{Network: "tcp", Address: "127.0.0.1"}, Config{}, `address "127.0.0.1": want host:port`},
	}
	for _, tt := range tests {
		p, err := New(tt.e, tt.c)
		if !errors.Is(err, health.ErrConfig) || p != nil || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}

func TestProbeSaysWhatItHasToAndQuits(t *testing.T) {
	role := user
	role.Role = Primary
	tests := []struct {
		name    string
		c       Config
		answers []string
		want    []string // after the login
	}{
		{"ping", user, []string{hello, welcome, pong}, []string{comPing, comQuit}},
		{"no password", Config{User: "probe"}, []string{hello, welcome, pong}, []string{comPing, comQuit}},
		{"role", role, []string{hello, welcome, table([2]string{"read_only", "OFF"})}, []string{"\x03" + askRole, comQuit}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, says(tt.answers...))
			wantFailure(t, probe(newProber(t, s.endpoint, tt.c), patience), "", "")
			if err := s.end(t); err != nil {
				t.Errorf("the server read %v, want an end of stream", err)
			}
			got := s.heard()
			if len(got) == 0 || !strings.Contains(got[0], "probe\x00") || strings.Contains(got[0], "sesame") || !slices.Equal(got[1:], tt.want) {
				t.Errorf("it heard %q, want a login and %q", got, tt.want)
			}
		})
	}
}

func TestRoleIsWhatReadOnlySays(t *testing.T) {
	tests := []struct {
		name string
		want Role
		rows [][2]string
		text string
		saw  string
	}{
		{"primary of MySQL", Primary, [][2]string{{"read_only", "OFF"}, {"super_read_only", "OFF"}}, "", ""},
		{"replica of MySQL", Replica, [][2]string{{"read_only", "ON"}, {"super_read_only", "ON"}}, "", ""},
		{"primary of MariaDB", Primary, [][2]string{{"read_only", "OFF"}}, "", ""},
		{"numbers", Primary, [][2]string{{"read_only", "0"}}, "", ""},
		{"replica of MariaDB", Replica, [][2]string{{"read_only", "NO_LOCK_NO_ADMIN"}}, "", ""},
		{"read-only", Primary, [][2]string{{"read_only", "ON"}, {"super_read_only", "OFF"}},
			"mysql role: role is replica (read_only is on), want primary", "read_only=ON super_read_only=OFF"},
		{"super", Primary, [][2]string{{"read_only", "ON"}, {"super_read_only", "ON"}},
			"mysql role: role is replica (super_read_only is on), want primary", "read_only=ON super_read_only=ON"},
		{"unknown word", Primary, [][2]string{{"read_only", "NO_LOCK"}},
			"mysql role: role is replica (read_only is on), want primary", "read_only=NO_LOCK"},
		{"writer", Replica, [][2]string{{"read_only", "OFF"}},
			"mysql role: role is primary (read_only is off), want replica", "read_only=OFF"},
		{"silent", Replica, nil, "mysql role: the server does not say whether it is read_only", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, says(hello, welcome, table(tt.rows...)))
			c := user
			c.Role = tt.want
			wantFailure(t, probe(newProber(t, s.endpoint, c), patience), tt.text, tt.saw)
			if err := s.end(t); err != nil {
				t.Errorf("the server read %v", err)
			}
			if got := s.heard(); got[len(got)-1] != comQuit {
				t.Errorf("the last it heard is %q, want COM_QUIT", got[len(got)-1])
			}
		})
	}
}

func TestOneDeadlineHoldsForEveryStep(t *testing.T) {
	role := user
	role.Role = Primary
	tests := []struct {
		name    string
		c       Config
		answers []string
		want    string
		saw     string
	}{
		{"greeting", Config{}, []string{""}, "mysql greeting: no answer in time", ""},
		{"within the greeting", user, []string{hello[:20]}, "mysql greeting: no answer in time", hello[:20]},
		{"login", user, []string{hello}, "mysql login: no answer in time", ""},
		{"within the login", user, []string{hello, welcome[:6]}, "mysql login: no answer in time", welcome[:6]},
		{"ping", user, []string{hello, welcome}, "mysql ping: no answer in time", ""},
		{"role", role, []string{hello, welcome}, "mysql role: no answer in time", ""},
		{"within role", role, []string{hello, welcome, table()[:5]}, "mysql role: no answer in time", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(tt.answers...))
			begin := time.Now()
			wantFailure(t, probe(newProber(t, s.endpoint, tt.c), 300*time.Millisecond), tt.want, tt.saw)
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestStoppedProbeReturns(t *testing.T) {
	has := make(chan struct{})
	s := serve(t, func(s *fake, c net.Conn) error {
		close(has)
		return says(hello)(s, c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-has
		cancel()
	}()
	if err := newProber(t, s.endpoint, user).Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("probe says %v", err)
	}
}

func TestProbeOfADeadPortIsRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	p := newProber(t, health.Endpoint{Network: "tcp", Address: ln.Addr().String()}, user)
	if err := probe(p, patience); err == nil || !strings.HasPrefix(err.Error(), "connect: ") {
		t.Errorf("probe says %v", err)
	}
}

func TestProbeOverAUnixSocketSendsThePasswordIfAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &fake{endpoint: health.Endpoint{Network: "unix", Address: path}, ends: make(chan error, 1)}
	full := packet(2, "\x01\x04")
	s.run(t, ln, says(packet(0, greets("8.4.2", "caching_sha2_password", 0)), full, packet(4, okay), pong))
	wantFailure(t, probe(newProber(t, s.endpoint, user), patience), "", "")
	if err := s.end(t); err != nil {
		t.Error(err)
	}
	if got := s.heard(); got[1] != "sesame\x00" {
		t.Errorf("it heard %q", got[1])
	}
}

// C28: a server that counts handshakes without a login, and blocks the host after ten.
func TestProbesWithAUserNeverGetTheHostBlocked(t *testing.T) {
	var aborted atomic.Int32
	s := serve(t, func(s *fake, c net.Conn) error {
		if aborted.Load() > 10 {
			_, err := io.WriteString(c, packet(0, refuses(1129, "blocked")))
			return err
		}
		if _, err := io.WriteString(c, hello); err != nil {
			return err
		}
		r := bufio.NewReader(c)
		if err := s.hear(r); err != nil {
			aborted.Add(1)
			return err
		}
		aborted.Store(0)
		for _, answer := range []string{welcome, pong} {
			if _, err := io.WriteString(c, answer); err != nil {
				return err
			}
			if err := s.hear(r); err != nil {
				return err
			}
		}
		return nil
	})
	p := newProber(t, s.endpoint, user)
	for range 50 {
		wantFailure(t, probe(p, patience), "", "")
		if err := s.end(t); err != nil {
			t.Fatalf("the server saw %v", err)
		}
	}
	bare := newProber(t, s.endpoint, Config{})
	for range 11 {
		wantFailure(t, probe(bare, patience), "", "")
		s.end(t)
	}
	for name, p := range map[string]health.Prober{"bare": bare, "user": p} {
		if err := probe(p, patience); err == nil || !strings.Contains(err.Error(), "blocked after too many connection errors (1129)") {
			t.Errorf("%s: probe of a server that blocks says %v", name, err)
		}
	}
}
