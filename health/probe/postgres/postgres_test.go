package postgres

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
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

// C27
func TestASSLRequestIsWholeAndEndsInOrder(t *testing.T) {
	seen := make(chan string, 1)
	e := probetest.Serve(t, func(c net.Conn) {
		request := make([]byte, 8)
		io.ReadFull(c, request)
		io.WriteString(c, "N")
		rest, err := io.ReadAll(c)
		if err != nil || len(rest) > 0 {
			seen <- "then " + string(rest) + err.Error()
			return
		}
		seen <- string(request)
	})
	probetest.Expect(t, probetest.Probe(newProber(t, e, Config{}), 5*time.Second), "")
	if got := <-seen; got != string(sslRequest) {
		t.Errorf("the server saw %q", got)
	}
}

func TestWhatDoesNotAnswerLikePostgresIsDown(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	login := Config{User: "u", Password: "secret"}
	for _, c := range []struct {
		name   string
		cfg    Config
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"an error", Config{}, probetest.Says(true, "E", "sorry, cannot fork\n\x00"), long, "answered an error"},
		{"HTTP", Config{}, probetest.Says(false, "HTTP/1.1 400 Bad Request\r\n"), long, `not an answer of PostgreSQL: "HTTP/1.1 400`},
		{"an end", Config{}, probetest.Says(false), long, "connection closed without an answer"},
		{"silence", Config{}, probetest.Mute, short, "no answer"},
		{"TLS wanted, not spoken", Config{TLS: &tls.Config{}}, probetest.Says(true, "N"), long, "it does not speak TLS"},
		{"TLS offered, not spoken", Config{}, probetest.Says(false, "S"), long, "postgres ssl request"},
		{"login to HTTP", login, probetest.Says(false, "HTTP/1.1 400 Bad Request\r\n"), long, "postgres login"},
		{"login to junk without end", login, probetest.Endless("x"), long, "postgres login"},
		{"login to an end", login, probetest.Says(false), long, "postgres login"},
		{"login to silence", login, probetest.Mute, short, "postgres login: no answer"},
		{"login, TLS not spoken", Config{User: "u", TLS: &tls.Config{}}, probetest.Says(true, "N"), long, "postgres login: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := probetest.Probe(newProber(t, probetest.Serve(t, c.handle), c.cfg), c.within)
			probetest.Expect(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	for _, c := range []Config{{Role: Primary}, {Password: "p"}, {Database: "d"}, {User: "u", Role: "master"}} {
		if _, err := New(health.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, c); !errors.Is(err, health.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Whoever starts sluice may have a database of his own in his environment.
func TestTheEnvironmentHasNoSay(t *testing.T) {
	for name, value := range map[string]string{"PGHOST": "192.0.2.1", "PGPORT": "1", "PGUSER": "me", "PGPASSWORD": "mine",
		"PGDATABASE": "my", "PGSSLMODE": "require", "PGTARGETSESSIONATTRS": "read-write", "PGAPPNAME": "mine", "PGCONNECT_TIMEOUT": "1"} {
		t.Setenv(name, value)
	}
	cfg, err := loginConfig(Config{User: "u", Password: "p", Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.User != "u" || cfg.Password != "p" || cfg.Database != "d" || cfg.TLSConfig != nil || len(cfg.Fallbacks) > 0 ||
		cfg.ValidateConnect != nil || cfg.ConnectTimeout != 0 || len(cfg.RuntimeParams) != 1 || cfg.RuntimeParams["application_name"] != "sluice-probe" {
		t.Errorf("%+v", cfg)
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
