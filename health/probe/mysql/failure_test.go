package mysql

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

func TestRefusalsSayWhatTheyMean(t *testing.T) {
	denied := "Access denied for user 'probe'@'10.0.0.1' (using password: YES)"
	tests := []struct {
		name, text string
		code       uint16
		want       string
		unsure     bool
	}{
		{"wrong password", denied, 1045, "wrong user or password, or not from this host (1045): see check.user and check.password", true},
		{"no password", denied, 1698, "wrong user or password, or not from this host (1698): see check.user and check.password", true},
		{"too many", "Too many connections", 1040, "too many connections (1040): max_connections is used up", true},
		{"too many of the user", "User probe has already", 1203, `the user has no connection or query left (1203): "User probe has already"`, true},
		{"no such database", "Unknown database 'x'", 1049, `the user may not use its database, or there is none (1049): "Unknown database 'x'"`, true},
		{"blocked", "Host is blocked", 1129, "this host is blocked after too many connection errors (1129): FLUSH HOSTS unblocks it, checks without a user are a usual cause", true},
		{"another host", "Host is not allowed", 1130, "the server has no user that may log in from this host (1130)", true},
		{"only with TLS", "Connections using insecure transport are prohibited", 3159, "the server wants TLS (3159): see check.tls", true},
		{"shutdown", "Server shutdown in progress", 1053, "the server is shutting down (1053)", false},
		{"plugin gone", "Plugin 'x' is not loaded", 1524, `the user's authentication plugin is not supported (1524): "Plugin 'x' is not loaded"`, true},
		{"expired", "Your password has expired", 1862, "the user's password has expired (1862)", true},
		{"locked", "Access denied. Account is locked.", 3118, "the user is locked (3118)", true},
		{"locked in MariaDB", "Access denied, this account is locked", 4151, "the user is locked (4151)", true},
		{"another", strings.Repeat("x", 121), 9999, `refused (9999): "` + strings.Repeat("x", 120) + `"...`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for step, answers := range map[string][]string{
				stepLogin: {hello, packet(2, refuses(tt.code, "#28000"+tt.text))},
				stepPing:  {hello, welcome, packet(1, refuses(tt.code, "#28000"+tt.text))},
			} {
				s := serve(t, says(answers...))
				err := probe(newProber(t, s.endpoint, user), patience)
				wantFailure(t, err, step+": "+tt.want, tt.text)
				if errors.Is(err, health.ErrNoVerdict) {
					t.Error("a refusal is a verdict")
				}
				if f := (*health.Failure)(nil); errors.As(err, &f) && f.Unsure != tt.unsure {
					t.Errorf("unsure is not %v", tt.unsure)
				}
				if end := s.end(t); end != nil {
					t.Errorf("the server read %v, want an end of stream", end)
				}
			}
		})
	}
}

// A login that ends half-way counts as a handshake error, and those block the host.
func TestLoginThatCannotGoOnIsLeftToTheServerToRefuse(t *testing.T) {
	tests := []struct{ plugin, name string }{
		{"mysql_clear_password\x00", "mysql_clear_password"},
		{"dialog\x00Password: ", "dialog"},
		{"auth_gssapi_client\x00spn\x00", "auth_gssapi_client"},
		{"", "mysql_old_password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, says(hello, packet(2, "\xfe"+tt.plugin), packet(4, refuses(1045, "#28000denied"))))
			wantFailure(t, probe(newProber(t, s.endpoint, user), patience),
				`mysql login: the user's authentication plugin is not supported: "`+tt.name+`" (or the server feigns one, and there is no such user); want one of `+plugins, tt.name)
			if err := s.end(t); err != nil {
				t.Error(err)
			}
			if !isUnsure(probe(newProber(t, s.endpoint, user), patience)) {
				t.Error("a server that works is not left open")
			}
			if got := s.heard()[:2]; len(got) != 2 || got[1] != "" {
				t.Errorf("it heard %q, want an empty packet for an answer", got)
			}
		})
	}
}

// isUnsure says whether a probe left open that the server works.
func isUnsure(err error) bool {
	f := (*health.Failure)(nil)
	return errors.As(err, &f) && f.Unsure
}

func TestAServerThatRefusesMoreThanThisProbeIsNotUnsure(t *testing.T) {
	replica := Config{User: "probe", Role: Replica}
	for name, tt := range map[string]struct {
		c       Config
		answers []string
	}{
		"shutdown":       {user, []string{packet(0, refuses(1053, "#08S01bye"))}},
		"junk":           {user, []string{"HTTP/1.1 400\r\n"}},
		"an end":         {user, []string{""}},
		"a late end":     {user, []string{hello, ""}},
		"another answer": {user, []string{hello, welcome, packet(1, "\x07")}},
		"another role":   {replica, []string{hello, welcome, table([2]string{"read_only", "OFF"})}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, closing(tt.answers...))
			if err := probe(newProber(t, s.endpoint, tt.c), patience); err == nil || isUnsure(err) {
				t.Errorf("%v: unsure %v", err, isUnsure(err))
			}
		})
	}
	s := serve(t, silent)
	if err := probe(newProber(t, s.endpoint, user), moment); err == nil || isUnsure(err) {
		t.Errorf("silence: %v", err)
	}
}

// elliptic is a key that is not RSA.
func elliptical(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func TestMalformedAnswersAreNamed(t *testing.T) {
	role := user
	role.Role = Replica
	sha2 := packet(0, greets("8.4.2", "caching_sha2_password", 0))
	malformed := func(s string) string { return fmt.Sprintf("malformed answer: %s", short(s)) }
	key := elliptical(t)
	tests := []struct {
		name    string
		c       Config
		answers []string
		want    string
		saw     string
	}{
		{"login closes", user, []string{hello, ""}, "mysql login: connection closed without an answer", ""},
		{"cut", user, []string{hello, welcome[:6]}, "mysql login: connection closed within the answer", welcome[:6]},
		{"empty", user, []string{hello, packet(2, "")}, "mysql login: " + malformed(""), ""},
		{"short OK", user, []string{hello, packet(2, "\x00\x00\x00\x02")}, "mysql login: " + malformed("\x00\x00\x00\x02"), "\x00\x00\x00\x02"},
		{"OK with a long number", user, []string{hello, packet(2, "\x00\xfe\x00\x00\x02\x00")}, "mysql login: " + malformed("\x00\xfe\x00\x00\x02\x00"), "\x00\xfe\x00\x00\x02\x00"},
		{"short refusal", user, []string{hello, packet(2, "\xff\x15\x04")}, "mysql login: " + malformed("\xff\x15\x04"), "\xff\x15\x04"},
		{"junk", user, []string{hello, packet(2, "junk")}, "mysql login: " + malformed("junk"), "junk"},
		{"switch without an end", user, []string{hello, packet(2, "\xfejunk")}, "mysql login: " + malformed("\xfejunk"), "\xfejunk"},
		{"switch without a name", user, []string{hello, packet(2, "\xfe\x00junk")}, "mysql login: " + malformed("\xfe\x00junk"), "\xfe\x00junk"},
		{"short challenge", user, []string{hello, packet(2, "\xfemysql_native_password\x00x\x00")},
			"mysql login: " + malformed("\xfemysql_native_password\x00x\x00"), "\xfemysql_native_password\x00x\x00"},
		{"key of another kind", user, []string{sha2, packet(2, "\x01\x04"), packet(4, "\x01"+key)},
			"mysql login: " + malformed("\x01"+key), "\x01" + key},
		{"no key", user, []string{sha2, packet(2, "\x01\x04"), packet(4, "\x01junk")}, "mysql login: " + malformed("\x01junk"), "\x01junk"},
		{"too long", user, []string{hello, "\x01\x00\x01\x02"}, "mysql login: the answer is too long", "\x01\x00\x01\x02"},
		{"ping closes", user, []string{hello, welcome, ""}, "mysql ping: connection closed without an answer", ""},
		{"no pong", user, []string{hello, welcome, packet(1, "junk")}, `mysql ping: unexpected answer: "junk"`, "junk"},
		{"short pong", user, []string{hello, welcome, packet(1, "\x00")}, "mysql ping: " + malformed("\x00"), "\x00"},
		{"wrong number", user, []string{hello, welcome, packet(7, okay)}, `mysql ping: unexpected answer: "\x00\x00\x00\x02\x00\x00\x00"`, okay},
		{"role closes", role, []string{hello, welcome, table()[:5]}, "mysql role: connection closed without an answer", ""},
		{"one column", role, []string{hello, welcome, packet(1, "\x01") + packet(2, "\x03def\x00\x00\x00\x00\x00\x0c\x2d\x00\x00\x04\x00\x00\xfd\x01\x00\x00\x00\x00") + packet(3, "\xfe\x00\x00\x02\x00")},
			`mysql role: unexpected answer: "\xfe\x00\x00\x02\x00"`, "\xfe\x00\x00\x02\x00"},
		{"short column", role, []string{hello, welcome, packet(1, "\x02") + packet(2, "\x03")}, `mysql role: unexpected answer: "\x03"`, "\x03"},
		{"number without an end", role, []string{hello, welcome, packet(1, "\xfc")}, "mysql role: " + malformed("\xfc"), "\xfc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, closing(tt.answers...))
			wantFailure(t, probe(newProber(t, s.endpoint, tt.c), patience), tt.want, tt.saw)
		})
	}
}

func TestEndlessAnswersAreCutOff(t *testing.T) {
	role := user
	role.Role = Replica
	s := serve(t, func(s *fake, c net.Conn) error {
		endless := table(make([][2]string, 20000)...)
		return says(hello, welcome, endless)(s, c)
	})
	err := probe(newProber(t, s.endpoint, role), patience)
	if !errors.Is(err, health.ErrTooLong) {
		t.Errorf("probe says %v", err)
	}
}

func TestPasswordsAreNeverShown(t *testing.T) {
	c := Config{User: "probe", Password: "Xk9-sesame"}
	for name, answers := range map[string][]string{
		"greeting": {packet(0, refuses(9999, c.Password))},
		"junk":     {"who says " + c.Password},
		"refusal":  {hello, packet(2, refuses(9999, c.Password))},
		"plugin":   {hello, packet(2, "\xfe"+c.Password+"\x00")},
		"answer":   {hello, packet(2, c.Password)},
		"pong":     {hello, welcome, packet(1, c.Password)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, closing(answers...))
			err := probe(newProber(t, s.endpoint, c), patience)
			var f *health.Failure
			if !errors.As(err, &f) {
				t.Fatalf("probe says %v", err)
			}
			if all := fmt.Sprintf("%v %+v %q", err, errors.Unwrap(err), f.Saw); strings.Contains(all, "Xk9") {
				t.Errorf("it shows in %s", all)
			}
		})
	}
}

// script is a connection whose other side has said everything already.
type script struct{ io.Reader }

func (script) Write(p []byte) (int, error)      { return len(p), nil }
func (script) Close() error                     { return nil }
func (script) LocalAddr() net.Addr              { return nil }
func (script) RemoteAddr() net.Addr             { return nil }
func (script) SetDeadline(time.Time) error      { return nil }
func (script) SetReadDeadline(time.Time) error  { return nil }
func (script) SetWriteDeadline(time.Time) error { return nil }

// deaf is a script whose other side has closed already.
type deaf struct{ script }

func (deaf) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAnAnswerSaysMoreThanAQuestionThatCannotBeSent(t *testing.T) {
	tests := []struct{ name, text, want, saw string }{
		{"answered before", hello + packet(1, refuses(1053, "#08S01bye")), "mysql login: the server is shutting down (1053)", "bye"},
		{"closed", hello, "mysql login: broken pipe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, p := newWire(deaf{script{strings.NewReader(tt.text)}}, nil), &prober{config: user}
			if err := w.greet(); err != nil {
				t.Fatal(err)
			}
			step, err := p.talk(w)
			wantFailure(t, p.failure(t.Context(), w, step, err), tt.want, tt.saw)
		})
	}
}

// FuzzLoginNeverPanics has the driver log in to anything that the wire lets through: a
// panic there would leave a goroutine behind. Leaks are seen at the end of the run.
func FuzzLoginNeverPanics(f *testing.F) {
	for _, plugin := range []string{"mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519", "mysql_clear_password", ""} {
		first := packet(0, greets("8.4.2", plugin, 0))
		for _, rest := range []string{"", welcome, packet(2, refuses(1045, "#28000no")), packet(2, "\x01\x03") + packet(3, okay),
			packet(2, "\x01\x04") + packet(4, "\x01"+elliptical(f)), packet(2, "\x01"+elliptical(f)), packet(2, "\xfe"),
			packet(2, "\xfesha256_password\x00") + packet(4, "\x01"+elliptical(f)), packet(2, "\xfecaching_sha2_password\x00") + packet(4, "\x01\x04"),
			packet(2, "\xfemysql_native_password\x0012345678901234567890\x00") + packet(4, okay), packet(2, "\xfeclient_ed25519\x00"+strings.Repeat("x", 32)) + packet(4, okay)} {
			f.Add([]byte(first+rest), false)
			f.Add([]byte(first+rest), true)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, private bool) {
		w := newWire(script{bytes.NewReader(in)}, nil)
		if w.greet() != nil {
			return
		}
		s, err := login(w, "probe", "sesame", private)
		if err == nil {
			s.close()
		}
	})
}
