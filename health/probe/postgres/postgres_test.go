package postgres

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/probetest"
	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newProber(t testing.TB, e health.Endpoint, c Config) health.Prober {
	t.Helper()
	p, err := New(e, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestALoginSaysGoodbye(t *testing.T) {
	said := make(chan string, 1)
	for _, c := range []struct {
		cfg     Config
		answers []string
		kinds   string
	}{
		{Config{User: "u"}, []string{letIn + ready}, "X"},
		{Config{User: "u", Role: Replica}, []string{letIn + ready, role("t", "on")}, "QX"},
		{Config{User: "u", Role: Primary}, []string{letIn + ready, role("f", "off")}, "QX"},
	} {
		serve := conversation(said, c.answers...)
		for _, e := range []health.Endpoint{probetest.Serve(t, serve), serveUnix(t, serve)} {
			probetest.Expect(t, probetest.Probe(newProber(t, e, c.cfg), 5*time.Second), "")
			if got := <-said; got != c.kinds {
				t.Errorf("%+v over %s: the server got %q, want %q", c.cfg, e.Network, got, c.kinds)
			}
		}
	}
}

func TestTheRoleIsJudged(t *testing.T) {
	for _, c := range []struct {
		want               Role
		recovery, readOnly string
		says               string
	}{
		{Primary, "f", "off", ""},
		{Primary, "t", "off", "postgres role: role is replica, want primary"},
		{Primary, "f", "on", "postgres role: role is a primary that is read-only (default_transaction_read_only), want primary"},
		{Replica, "t", "off", ""},
		{Replica, "t", "on", ""},
		{Replica, "f", "off", "postgres role: role is primary, want replica"},
		{Replica, "f", "on", "postgres role: role is a primary that is read-only (default_transaction_read_only), want replica"},
	} {
		serve := conversation(make(chan string, 1), letIn+ready, role(c.recovery, c.readOnly))
		says(t, Config{User: "u", Role: c.want}, serve, 5*time.Second, c.says)
	}
}

func TestARefusedLoginSaysWhatItMeans(t *testing.T) {
	secret, none := Config{User: "u", Password: "secret"}, Config{User: "u"}
	for _, c := range []struct {
		cfg        Config
		code, want string
		unsure     bool
	}{
		{none, "57P03", "not ready", false},
		{none, "57P01", "shutting down", false},
		{none, "53300", "too many connections", true},
		{secret, "28P01", "check.user or check.password is wrong", true},
		{none, "28P01", "it wants a password: set check.password", true},
		{none, "28000", "it does not let the probe in without TLS (pg_hba.conf)", true},
		{none, "3D000", "no such database: set check.database", true},
		{none, "42501", "the probe's user may not connect", true},
		{none, "XX000", "answered an error", false},
	} {
		serve := conversation(make(chan string, 2), fatal(c.code, "text"))
		says(t, c.cfg, serve, 5*time.Second, "postgres login: "+c.want+": FATAL: text (SQLSTATE "+c.code+")")
		f := (*health.Failure)(nil)
		if err := probetest.Probe(newProber(t, probetest.Serve(t, serve), c.cfg), 5*time.Second); !errors.As(err, &f) || f.Unsure != c.unsure {
			t.Errorf("%s: unsure is not %v", c.code, c.unsure)
		}
	}
}

// Whatever it says where, and however that is cut: the password may have been sent as it is.
func TestAPasswordThatIsRepeatedIsInNoPartOfAFailure(t *testing.T) {
	const cleartext = "\x00\x00\x00\x03"
	password := "sesame" + strings.Repeat(" open", 30)
	for name, answers := range map[string][]string{
		"error":        {message('R', cleartext), fatal("28P01", "no such password: "+password)},
		"long error":   {message('R', cleartext), fatal("28P01", strings.Repeat("x", 130)+password)},
		"code":         {message('R', cleartext), fatal(password, "text")},
		"junk":         {message('R', cleartext), "HTTP/1.1 400 " + password},
		"early junk":   {message('R', cleartext), "who says " + password},
		"cut":          {message('R', cleartext), fatal("28P01", "no such password: "+password)[:70]},
		"out of turn":  {message('R', cleartext), message('D', "\x00\x01\x00\x00\x00\x06sesame")},
		"role":         {message('R', cleartext), letIn + ready, role("t", password)},
		"role's error": {message('R', cleartext), letIn + ready, fatal("XX000", password)},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			serve := conversation(said, answers...)
			cut := func(c net.Conn) { // an end of stream after the last answer
				timer := time.AfterFunc(100*time.Millisecond, func() { c.(*net.TCPConn).CloseWrite() })
				defer timer.Stop()
				serve(c)
			}
			err := probetest.Probe(newProber(t, probetest.Serve(t, cut), Config{User: "u", Password: password, Role: Primary}), 5*time.Second)
			f := (*health.Failure)(nil)
			if !errors.As(err, &f) {
				t.Fatalf("the probe says %v", err)
			}
			if all := fmt.Sprintf("%v %+v %v", err, errors.Unwrap(err), f.Saw); strings.Contains(all, "sesame") {
				t.Errorf("it is in %s", all)
			}
			if kinds := <-said; !strings.HasPrefix(kinds, "p") {
				t.Errorf("the server heard %q, no password", kinds)
			}
		})
	}
}

func TestAServerThatAsksForTooMuchWorkIsRefused(t *testing.T) {
	for rounds, refused := range map[string]bool{"4096": false, "1000000": false, "1000001": true, "10000000": true, "+1000001": true, "x": false} {
		if err := checkRounds([]byte("r=abc,s=YQ==,i=" + rounds)); (err != nil) != refused {
			t.Errorf("%s rounds: %v", rounds, err)
		}
	}
	scram := message('R', "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00")
	serve := func(c net.Conn) {
		r := bufio.NewReader(c)
		io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(peek(r, 4))))
		io.WriteString(c, scram)
		asks := peek(r, 5)
		first := make([]byte, 1+binary.BigEndian.Uint32(asks[1:]))
		io.ReadFull(r, first)
		_, nonce, _ := bytes.Cut(first, []byte("r="))
		io.WriteString(c, message('R', "\x00\x00\x00\x0br="+string(nonce)+"more,s=YQ==,i=10000000"))
		io.Copy(io.Discard, r)
	}
	begin := time.Now()
	says(t, Config{User: "u", Password: "secret"}, serve, 20*time.Second,
		"postgres login: it asks for 10000000 rounds of SCRAM, at most 1000000 are made (scram_iterations)")
	if took := time.Since(begin); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

func peek(r *bufio.Reader, n int) []byte {
	b, err := r.Peek(n)
	if err != nil {
		return make([]byte, n)
	}
	return b
}

func TestWhatDoesNotLogInIsDown(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	parameter := message('S', "name\x00value\x00")
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"pieces", byByte(letIn + parameter + ready), long, ""},
		{"HTTP", probetest.Says(false, "HTTP/1.1 400 Bad Request\r\n"), long, `not an answer of PostgreSQL: "HTTP/1.1 400 Bad Request"`},
		{"MySQL", probetest.Says(true, "J\x00\x00\x00\n5.7.1234567890"), long, `not an answer of PostgreSQL: "J\x00\x00\x00\n5.7.12"`},
		{"a few bytes", probetest.Says(false, "no\n"), long, `not an answer of PostgreSQL: "no\n"`},
		{"a bad message", probetest.Says(true, message('R', "\x00")), long, `not an answer of PostgreSQL: "R\x00\x00\x00\x05\x00"`},
		{"a message out of turn", probetest.Says(true, message('D', "\x00\x00")), long, "an answer out of turn"},
		{"junk without end", probetest.Endless("x"), long, `not an answer of PostgreSQL: "xxxxxxxxxxxxxxxxxxxxxxxx"`},
		{"parameters without end", probetest.Endless(parameter), long, "the answer is too long"},
		{"cut", probetest.Says(false, letIn[:7]), long, "connection closed within an answer"},
		{"an end", probetest.Says(false), long, "connection closed without an answer"},
		{"an end after the login", probetest.Says(false, letIn), long, "connection closed without an answer"},
		{"silence", probetest.Mute, short, "no answer in time"},
		{"silence after the login", probetest.Says(true, letIn), short, "no answer in time"},
		{"silence within a message", probetest.Says(true, letIn[:7]), short, "no answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want != "" {
				c.want = "postgres login: " + c.want
			}
			says(t, Config{User: "u", Password: "secret"}, c.handle, c.within, c.want)
		})
	}
	insist := Config{User: "u", TLS: &tls.Config{}}
	says(t, insist, probetest.Says(true, "N"), long, "postgres ssl request: it does not speak TLS (ssl = off)")
	says(t, insist, probetest.Says(false, "S"), long, "postgres ssl request: connection closed without an answer")
	says(t, insist, probetest.Says(true, "S"), short, "postgres ssl request: no answer in time")
}

// C30. The driver would wait 15 s for the end of a query that it gives up.
func TestOneDeadlineHoldsForTheRoleToo(t *testing.T) {
	const long, short = 10 * time.Second, 300 * time.Millisecond
	for _, c := range []struct {
		name, answer string
		within       time.Duration
		want         string
	}{
		{"silence", "", short, "postgres role: no answer in time"},
		{"silence within a message", role("f", "off")[:30], short, "postgres role: no answer in time"},
		{"junk", "HTTP/1.1 400", long, `postgres role: not an answer of PostgreSQL: "HTTP/1.1 400"`},
		{"an error", fatal("57P01", "terminating"), long, "postgres role: shutting down: FATAL: terminating (SQLSTATE 57P01)"},
		{"no row", message('C', "SELECT 0\x00") + ready, long, "postgres role: an answer without a row of two columns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := make(chan string, 1)
			begin := time.Now()
			says(t, Config{User: "u", Role: Primary}, conversation(said, letIn+ready, c.answer), c.within, c.want)
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			<-said
		})
	}
}

func TestAStoppedProbeReturns(t *testing.T) {
	for _, answers := range [][]string{nil, {letIn + ready}} {
		p := newProber(t, probetest.Serve(t, conversation(make(chan string, 1), answers...)), Config{User: "u", Role: Primary})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := p.Probe(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("said %v", err)
		}
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	for _, c := range []Config{{Role: Primary}, {Password: "p"}, {Database: "d"}, {User: "u", Role: "master"}, {User: "u\x00"}, {User: "u", Database: "d\x00"}} {
		if _, err := New(health.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, c); !errors.Is(err, health.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Whoever starts sluice may have a database of his own in his environment and his home.
func TestTheEnvironmentHasNoSay(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".postgresql/root.crt", "none")
	write(".postgresql/postgresql.crt", "none")
	write(".postgresql/postgresql.key", "none")
	passwords := write(".pgpass", "*:*:*:*:mine\n")
	services := write(".pg_service.conf", "[mine]\nuser=me\npassword=mine\nport=none\nkrbsrvname=mine\n")
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", filepath.Dir(write("it's a folder/empty", ""))) // a path that needs quotes
	plain := "no environment"
	for name, value := range map[string]string{plain: "", "PGHOST": "192.0.2.1,192.0.2.2", "PGPORT": "none", "PGUSER": "me",
		"PGPASSWORD": "mine", "PGDATABASE": "my", "PGPASSFILE": passwords, "PGSERVICE": "mine", "PGSERVICEFILE": services,
		"PGSSLMODE": "require", "PGSSLROOTCERT": "/none", "PGSSLCERT": "/none", "PGSSLKEY": "/none", "PGSSLCERTMODE": "none",
		"PGSSLNEGOTIATION": "direct", "PGSSLSNI": "0", "PGTARGETSESSIONATTRS": "read-write", "PGAPPNAME": "mine", "PGOPTIONS": "-c a=b",
		"PGTZ": "UTC", "PGCONNECT_TIMEOUT": "none", "PGMINPROTOCOLVERSION": "3.2", "PGMAXPROTOCOLVERSION": "none",
		"PGCHANNELBINDING": "require", "PGREQUIREAUTH": "none"} {
		t.Run(name, func(t *testing.T) {
			if name != plain {
				t.Setenv(name, value)
			}
			cfg, err := loginConfig(Config{User: "u"})
			if err != nil {
				t.Fatal(err)
			}
			if cfg.User != "u" || cfg.Password != "" || cfg.Database != "" || cfg.TLSConfig != nil || len(cfg.Fallbacks) > 0 ||
				cfg.ValidateConnect != nil || cfg.ConnectTimeout != 0 || len(cfg.RuntimeParams) != 1 ||
				cfg.RuntimeParams["application_name"] != "sluice-probe" || cfg.MinProtocolVersion != "3.0" || cfg.MaxProtocolVersion != "3.0" ||
				cfg.ChannelBinding != "prefer" || cfg.RequireAuth != "" || cfg.KerberosSrvName != "" || cfg.SSLNegotiation != "postgres" {
				t.Errorf("%+v", cfg)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(home, "it's a folder", "sluice*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestARefusedConnectIsToldAsTheConnects(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	p := newProber(t, health.Endpoint{Network: "tcp", Address: ln.Addr().String()}, Config{User: "u"})
	if err := probetest.Probe(p, 5*time.Second); err == nil || err.Error() != "connect: connection refused" {
		t.Errorf("said %v", err)
	}
}

// scripted is a connection whose other end says what it says, whatever it hears.
type scripted struct {
	net.Conn
	r     io.Reader
	heard atomic.Int64 // writes
}

func (s *scripted) Read(p []byte) (int, error)  { return s.r.Read(p) }
func (s *scripted) Write(p []byte) (int, error) { s.heard.Add(1); return len(p), nil }
func (s *scripted) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// The driver gives up a login that it does not understand in a goroutine, which it does not
// wait for and nobody else can.
func TestAFailedLoginStartsNothing(t *testing.T) {
	login, err := loginConfig(Config{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"", "HTTP/1.1 400", letIn, message('R', "\x00"), fatal("57P03", "text")} {
		synctest.Test(t, func(t *testing.T) {
			conn := &scripted{r: strings.NewReader(answer)}
			w := &wire{Conn: conn}
			if err := (prober{want: Config{User: "u"}, login: login}).talk(t.Context(), w, w); err == nil {
				t.Errorf("%q logged in", answer)
			}
			synctest.Wait()
			if n := conn.heard.Load(); n != 1 {
				t.Errorf("%q was answered: %d writes, want the startup packet alone", answer, n)
			}
		})
	}
}

// The driver reads what a backend cares to send: it must neither panic nor go on.
func FuzzALogin(f *testing.F) {
	f.Add([]byte(letIn + ready + role("f", "off")))
	f.Add([]byte(fatal("57P03", "the database system is starting up")))
	f.Add([]byte(message('R', "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00") + message('R', "\x00\x00\x00\x0br=a,s=YQ==,i=1")))
	f.Add([]byte(message('R', "\x00\x00\x00\x05abcd") + letIn + message('K', "12345678") + ready))
	login, err := loginConfig(Config{User: "u", Password: "p"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) > maxAnswer {
			return
		}
		p := prober{want: Config{User: "u", Password: "secret", Role: Primary}, login: login}
		w := &wire{Conn: &scripted{r: bytes.NewReader(answer)}}
		err := p.talk(t.Context(), w, w)
		if err == nil && !bytes.Contains(answer, []byte(letIn)) {
			t.Errorf("%q logged in", answer)
		}
		if err != nil && (!errors.As(err, new(*health.Failure)) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v", answer, err)
		}
	})
}
