package mysql

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/iotest"
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

// packet frames a payload as the server's first one.
func packet(payload string) string {
	return string([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, 0}) + payload
}

const greeting = "\x0a8.0.36\x00\x08\x00\x00\x00abcdefgh\x00\xff\xf7\xff\x02\x00\xff\xdf\x15\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ijklmnopqrst\x00caching_sha2_password\x00"

func TestAGreetingIsReadToItsEndAndJudged(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	whole := packet(greeting)
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"a greeting", probetest.Says(true, whole), long, ""},
		{"in pieces", probetest.Says(true, strings.Split(whole, "")...), long, ""},
		{"blocked", probetest.Says(false, packet("\xff\x69\x04Host '10.0.0.1' is blocked because of many connection errors")), long, "mysql greeting: it blocks this address"},
		{"too many", probetest.Says(false, packet("\xff\x10\x04#08004Too many connections")), long, "too many connections (ERROR 1040: Too many connections)"},
		{"not allowed", probetest.Says(false, packet("\xff\x6a\x04Host is not allowed to connect")), long, "it lets in nobody from this address"},
		{"another error", probetest.Says(false, packet("\xff\x01\x00what")), long, "ERROR 1: what"},
		{"an error without a number", probetest.Says(false, packet("\xff")), long, "an error without a number"},
		{"an old protocol", probetest.Says(true, packet("\x093.20\x00\x00\x00\x00\x00abcdefgh\x00")), long, "not a greeting of MySQL"},
		{"a greeting that is too short", probetest.Says(true, packet("\x0a8.0\x00abc")), long, "not a greeting of MySQL"},
		{"SSH", probetest.Says(true, "SSH-2.0-OpenSSH_9.2p1\r\n"), long, `not a greeting of MySQL: it begins with "SSH-"`},
		{"half and an end", probetest.Says(false, whole[:20]), long, "connection closed"},
		{"half and silence", probetest.Says(true, whole[:20]), short, "no answer"},
		{"silence", probetest.Mute, short, "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			probetest.Expect(t, probetest.Probe(newProber(t, probetest.Serve(t, c.handle), Config{}), c.within), c.want)
		})
	}
}

func TestALoginToWhatIsNoMySQLFails(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"HTTP", probetest.Says(false, "HTTP/1.1 400 Bad Request\r\n"), long, "mysql login: "},
		{"junk without end", probetest.Endless("x"), long, "mysql login: "},
		{"an end", probetest.Says(false), long, "mysql login: connection closed"},
		{"silence", probetest.Mute, short, "mysql login: no answer"},
		{"silence after the greeting", probetest.Says(true, packet(greeting)), short, "mysql login: no answer"},
		{"blocked", probetest.Says(false, packet("\xff\x69\x04Host is blocked")), long, "mysql login: it blocks this address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := probetest.Probe(newProber(t, probetest.Serve(t, c.handle), Config{User: "u", Password: "secret", Role: Primary}), c.within)
			probetest.Expect(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	for _, c := range []Config{{Role: Primary}, {Password: "p"}, {TLS: &tls.Config{}}, {User: "u", Role: "master"}} {
		if _, err := New(health.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, c); !errors.Is(err, health.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if Warning(Config{}) == "" || Warning(Config{User: "u"}) != "" {
		t.Error("a check is warned of if it has no user, and only then")
	}
}

func FuzzGreeting(f *testing.F) {
	for _, seed := range []string{packet(greeting), packet("\xff\x69\x04blocked"), packet("\xff"), "\x00\x00\x00\x00", "SSH-2.0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := readGreeting(bytes.NewReader(b))
		pieces, again := readGreeting(iotest.OneByteReader(bytes.NewReader(b)))
		if !bytes.Equal(whole, pieces) || (err == nil) != (again == nil) {
			t.Errorf("%q: %q, %v and %q, %v", b, whole, err, pieces, again)
		}
		if err == nil {
			judgeGreeting(whole)
		}
	})
}
