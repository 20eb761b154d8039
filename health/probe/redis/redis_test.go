package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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

// answers is a server that answers commands by their names; others get an error.
func answers(replies map[string]string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			cmd, err := readReply(r)
			if err != nil || len(cmd.items) == 0 {
				return
			}
			reply, ok := replies[cmd.items[0].text]
			if !ok {
				reply = "-ERR unknown command\r\n"
			}
			for i := range reply { // in the smallest pieces
				io.WriteString(c, reply[i:i+1])
			}
		}
	}
}

const (
	master  = "*3\r\n$6\r\nmaster\r\n:3129659\r\n*1\r\n*3\r\n$9\r\n127.0.0.1\r\n$4\r\n9001\r\n$7\r\n3129242\r\n"
	replica = "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:9000\r\n$9\r\nconnected\r\n:3167038\r\n"
	lagging = "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:9000\r\n$7\r\nconnect\r\n:-1\r\n"
	pong    = "+PONG\r\n"
)

func TestAProbeJudgesTheReplies(t *testing.T) {
	for _, c := range []struct {
		name    string
		cfg     Config
		replies map[string]string
		want    string
	}{
		{"pong", Config{}, map[string]string{"PING": pong}, ""},
		{"pong as a text is none", Config{}, map[string]string{"PING": "$4\r\nPONG\r\n"}, `redis ping: answered "$PONG", want +PONG`},
		{"another text", Config{}, map[string]string{"PING": "+OK\r\n"}, `redis ping: answered "+OK", want +PONG`},
		{"password", Config{Password: "p"}, map[string]string{"AUTH": "+OK\r\n", "PING": pong}, ""},
		{"no password given", Config{}, map[string]string{"PING": "-NOAUTH Authentication required.\r\n"}, "redis ping: it wants a password: set check.password"},
		{"wrong password", Config{Password: "secret"}, map[string]string{"AUTH": "-WRONGPASS invalid username-password pair\r\n"}, "redis auth: check.user or check.password is wrong"},
		{"password of none", Config{Password: "p"}, map[string]string{"AUTH": "-ERR AUTH <password> called without any password configured\r\n"}, "leave check.password out"},
		{"a password that is repeated", Config{Password: "secret"}, map[string]string{"AUTH": "-ERR unknown command `AUTH`, with args beginning with: `secret`\r\n"}, "beginning with: `***`"},
		{"a password that comes back", Config{Password: "secret"}, map[string]string{"AUTH": "$11\r\nAUTH secret\r\n"}, `answered "$AUTH ***"`},
		{"a password that comes back as junk", Config{Password: "secret"}, map[string]string{"AUTH": "AUTH secret\r\n"}, `not an answer of Redis: "AUTH ***"`},
		{"few rights", Config{User: "u", Password: "p", Role: Master}, map[string]string{"AUTH": "+OK\r\n", "PING": pong, "ROLE": "-NOPERM User u has no permissions to run the 'role' command\r\n"}, "redis role: the probe's user may not do that"},
		{"loading", Config{}, map[string]string{"PING": "-LOADING Redis is loading the dataset in memory\r\n"}, "redis ping: it is loading its data (LOADING"},
		{"no master", Config{}, map[string]string{"PING": "-MASTERDOWN Link with MASTER is down\r\n"}, "a replica without its master"},
		{"busy", Config{}, map[string]string{"PING": "-BUSY Redis is busy running a script\r\n"}, "a script runs"},
		{"another error", Config{}, map[string]string{"PING": "-WHAT\r\n"}, "redis ping: answered an error: WHAT"},
		{"master wanted", Config{Role: Master}, map[string]string{"PING": pong, "ROLE": master}, ""},
		{"replica wanted", Config{Role: Replica}, map[string]string{"PING": pong, "ROLE": replica}, ""},
		{"a replica for a master", Config{Role: Master}, map[string]string{"PING": pong, "ROLE": replica}, "redis role: role is replica, want master"},
		{"a master for a replica", Config{Role: Replica}, map[string]string{"PING": pong, "ROLE": master}, "redis role: role is master, want replica"},
		{"a replica without its link", Config{Role: Replica}, map[string]string{"PING": pong, "ROLE": lagging}, "its link to the master is not up (connect)"},
		{"a sentinel", Config{Role: Master}, map[string]string{"PING": pong, "ROLE": "*2\r\n$8\r\nsentinel\r\n*0\r\n"}, "role is sentinel, want master"},
		{"no list", Config{Role: Master}, map[string]string{"PING": pong, "ROLE": "+master\r\n"}, "want a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := probetest.Probe(newProber(t, probetest.Serve(t, answers(c.replies)), c.cfg), 5*time.Second)
			probetest.Expect(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestOnlyAServerThatRefusesThisProbeAloneIsUnsure(t *testing.T) {
	for text, want := range map[string]bool{
		"ERR max number of clients reached":                                      true,
		"NOAUTH Authentication required.":                                        true,
		"WRONGPASS invalid username-password pair or user is disabled.":          true,
		"NOPERM this user has no permissions to run the 'ping' command":          true,
		"ERR AUTH <password> called without any password configured":             true,
		"ERR Client sent AUTH, but no password is set":                           true,
		"ERR invalid password":                                                   true,
		"LOADING Redis is loading the dataset in memory":                         false,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is no": false,
		"BUSY Redis is busy running a script":                                    false,
		"MISCONF Redis is configured to save RDB snapshots":                      false,
		"ERR unknown command":                                                    false,
	} {
		err := probetest.Probe(newProber(t, probetest.Serve(t, answers(map[string]string{"PING": "-" + text + "\r\n"})), Config{}), 5*time.Second)
		f := (*health.Failure)(nil)
		if !errors.As(err, &f) || f.Unsure != want {
			t.Errorf("%s: %v, unsure is not %v", text, err, want)
		}
	}
	const short = 150 * time.Millisecond
	for name, handle := range map[string]func(net.Conn){
		"silence": probetest.Mute, "an end": probetest.Says(false), "junk": probetest.Says(false, "HTTP/1.1 400\r\n"),
		"role": answers(map[string]string{"PING": pong, "ROLE": replica}),
	} {
		err := probetest.Probe(newProber(t, probetest.Serve(t, handle), Config{Role: Master}), short)
		f := (*health.Failure)(nil)
		if !errors.As(err, &f) || f.Unsure {
			t.Errorf("%s: %v is unsure", name, err)
		}
	}
}

// Neither whole nor in part, however the answer is cut or shown.
func TestAPasswordThatIsRepeatedIsInNoPartOfAFailure(t *testing.T) {
	password := "sesame-" + strings.Repeat("open\"", 40)
	for name, text := range map[string]string{
		"error":          "-ERR unknown command 'AUTH', with args beginning with: " + password + "\r\n",
		"long error":     "-ERR " + strings.Repeat("x", 100) + " " + password + "\r\n",
		"text":           "+" + password + "\r\n",
		"junk":           "AUTH " + password + "\r\n",
		"second line":    "AUTH\r\n" + password + "\r\n",
		"cut":            "AUTH " + password[:30],
		"cut error":      "-ERR " + password[:30],
		"length":         "$" + password + "\r\n",
		"an endless one": "x" + strings.Repeat(password, 10),
	} {
		t.Run(name, func(t *testing.T) {
			err := probetest.Probe(newProber(t, probetest.Serve(t, probetest.Says(false, text)), Config{Password: password}), 5*time.Second)
			f := (*health.Failure)(nil)
			if !errors.As(err, &f) {
				t.Fatalf("the probe says %v", err)
			}
			if all := fmt.Sprintf("%v %+v %v", err, errors.Unwrap(err), f.Saw); strings.Contains(all, "sesame") {
				t.Errorf("it is in %s", all)
			}
		})
	}
}

func TestAPasswordThatIsAWordOfTheProtocolChangesNoVerdict(t *testing.T) {
	for _, password := range []string{"PONG", "master"} {
		replies := map[string]string{"AUTH": "+OK\r\n", "PING": pong, "ROLE": master}
		probetest.Expect(t, probetest.Probe(newProber(t, probetest.Serve(t, answers(replies)), Config{Password: password, Role: Master}), 5*time.Second), "")
	}
}

func TestWhatDoesNotAnswerLikeRedisIsDown(t *testing.T) {
	const short = 150 * time.Millisecond
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"HTTP", probetest.Says(false, "HTTP/1.1 400 Bad Request\r\n\r\n"), 5 * time.Second, `not an answer of Redis: "HTTP/1.1 400 Bad Request"`},
		{"SSH", probetest.Says(true, "SSH-2.0-OpenSSH_9.2p1\r\n"), 5 * time.Second, `not an answer of Redis: "SSH-2.0`},
		{"an endless line", probetest.Endless("x"), 5 * time.Second, "not an answer of Redis"},
		{"an endless text", probetest.Says(true, "$2000000000\r\n"), 5 * time.Second, "a length of 2000000000"},
		{"an end at once", probetest.Says(false), 5 * time.Second, "connection closed without an answer"},
		{"an end within", probetest.Says(false, "+PO"), 5 * time.Second, `"+PO" and then an end`},
		{"turned away at connect", probetest.Says(false, "-DENIED Redis is running in protected mode\r\n"), 5 * time.Second, "protected mode"},
		{"silence", probetest.Mute, short, "no answer"},
		{"a silent half", probetest.Says(true, "+PONG"), short, "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			probetest.Expect(t, probetest.Probe(newProber(t, probetest.Serve(t, c.handle), Config{}), c.within), c.want)
		})
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	for _, c := range []Config{{User: "u"}, {Role: "primary"}} {
		if _, err := New(health.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, c); !errors.Is(err, health.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, seed := range []string{pong, master, replica, lagging, "-ERR x\r\n", "$-1\r\n", "*-1\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", ":1\n", "$3\r\nab\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		whole, err := readReply(bufio.NewReader(strings.NewReader(s)))
		pieces, again := readReply(bufio.NewReader(iotest.OneByteReader(strings.NewReader(s))))
		if (err == nil) != (again == nil) || whole.text != pieces.text || len(whole.items) != len(pieces.items) {
			t.Errorf("%q: %v and %v, in pieces %v and %v", s, whole, err, pieces, again)
		}
		if len(whole.text) > maxBulk || len(whole.items) > maxItems {
			t.Errorf("%q: more than is read", s)
		}
	})
}
