package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// An operator's evening: what each command does is there for the next one to see.
func TestOneCommandSeesWhatTheOneBeforeDid(t *testing.T) {
	f := newFake()
	server := httptest.NewServer(f)
	defer server.Close()
	d := networked(t)
	d.vars["SLUICE_ADMIN"] = server.Listener.Addr().String()
	for _, step := range []struct {
		line   string
		status int
		says   string // on stdout or stderr
	}{
		{"status --problems", 0, "http: status 503"},
		{"status redis", 0, "2/2 usable"},
		{"drain redis/unix:/run/r1.sock", 0, "drain, 5 sessions"},
		{"status redis", 0, "unix:/run/r1.sock  drain"},
		{"status redis", 0, "1/2 usable"},
		{"kill redis/unix:/run/r1.sock", 0, "5 sessions killed"},
		{"drain redis/unix:/run/r1.sock --wait 10s", 0, "drained"},
		{"weight redis/[::1]:6380 0", 0, "warning: redis has no usable backend now"},
		{"ready redis/unix:/run/r1.sock", 0, "ready, 0 sessions"},
		{"add redis 10.0.0.7:6379 --name r3 --weight 5", 0, "redis/r3 added"},
		{"status redis", 0, "r3                 unknown       5"},
		{"remove redis/r3 --wait", 0, "redis/r3 is gone"},
		{"drain redis/r3", 1, `no backend "r3" in redis: it has unix:/run/r1.sock, [::1]:6380`},
		{"maint web --all --kill", 0, "7 sessions killed"},
		{"status --problems", 0, "0/2 usable"},
	} {
		r := d.run(strings.Fields(step.line)...)
		if r.status != step.status || !strings.Contains(r.stdout+r.stderr, step.says) {
			t.Errorf("%s: status %d, want %d and %q\n%s%s", step.line, r.status, step.status, step.says, r.stdout, r.stderr)
		}
	}
}

// everything is a command line of each command that takes --json.
func everything(t *testing.T) []string {
	return []string{
		"status", "status web", "sessions", "events", "failures", "explain web/b1", "pick web --source ::1", "plan -c " + newFile(t, ""), "reload",
		"weight web/b1 3", "set web/b1 --priority 1", "add web 1.2.3.4:5", "kill web/b1", "remove web/b2",
	}
}

func TestJSONIsForProgramsAlsoOnATerminal(t *testing.T) {
	for _, width := range []int{0, 40} {
		d := newDesk(t, shown())
		d.width, d.height = width, 24
		for _, line := range everything(t) {
			r := d.run(append(strings.Fields(line), "--json")...)
			dec := json.NewDecoder(strings.NewReader(r.stdout))
			n := 0
			for ; dec.More(); n++ {
				var v any
				if err := dec.Decode(&v); err != nil {
					t.Errorf("%s: %v in %s", line, err, r.stdout)
					break
				}
			}
			if r.status != 0 || n == 0 {
				t.Errorf("%s: status %d, %d values: %s", line, r.status, n, r.stderr)
			}
		}
	}
}

func TestEveryCommandThatTakesJSONIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, line := range everything(t) {
		tested[strings.Fields(line)[0]] = true
	}
	for _, cmd := range Commands(Env{}) {
		if has := cmd.Flags().Lookup("json") != nil; has != tested[cmd.Name()] {
			t.Errorf("%s: takes --json %v, tested %v", cmd.Name(), has, tested[cmd.Name()])
		}
	}
}

func TestFieldsThatAreYoungerThanTheseCommandsAreKeptInJSON(t *testing.T) {
	newer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"1"`)
		fmt.Fprint(w, `{"total":0,"sessions":[],"tomorrow":{"x":1}}`)
	})
	d := newDesk(t, newer)
	d.run("sessions").want(t, 0, "no sessions\n", "")
	if r := d.run("sessions", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"tomorrow": {`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

func TestHelpIsForEachCommandAndAsksNobody(t *testing.T) {
	d := newDesk(t, nil)
	d.env.dial = func(context.Context, string, string) (net.Conn, error) {
		t.Error("somebody was asked")
		return nil, io.EOF
	}
	for _, cmd := range Commands(Env{}) {
		r := d.run(cmd.Name(), "--help")
		if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "Usage:\n  sluice "+cmd.Use) || !strings.Contains(r.stdout, "--admin ADDR") {
			t.Errorf("%s: status %d\n%s%s", cmd.Name(), r.status, r.stdout, r.stderr)
		}
	}
}

func TestNoCommandTakesAnUnknownFlag(t *testing.T) {
	d := newDesk(t, newFake())
	for _, cmd := range Commands(Env{}) {
		d.run(cmd.Name(), "--fly").refused(t, 2, "unknown flag: --fly")
	}
}

func TestAStreamThatIsSilentIsNoFailure(t *testing.T) {
	f := newFake()
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		send(w, 1)
		select {
		case <-time.After(time.Hour):
			send(w, 2)
		case <-r.Context().Done():
		}
		<-r.Context().Done()
	}
	r := followed(t, f, 2*time.Hour, "--timeout", "1s")
	if r.status != 0 || strings.Count(r.stdout, "\n") != 2 || r.stderr != "" {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestAStreamThatDoesNotBeginIsTriedAgain(t *testing.T) {
	f := newFake()
	times := 0
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		if times++; times > 1 {
			send(w, 1)
		}
		<-r.Context().Done()
	}
	r := followed(t, f, time.Minute, "--timeout", "3s")
	if r.status != 0 || strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stderr, "did not answer within 3s") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestWatchTakesTheSizeThatTheTerminalHasByNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, newFake())
		d.width, d.height = 80, 50
		ctx, cancel := context.WithTimeout(d.ctx, 3*time.Second)
		defer cancel()
		d.ctx = ctx
		out := frames{after: func() { d.width = 132 }}
		if err := d.runTo(&out, io.Discard, "status", "--watch"); err != nil || len(out.list) != 2 {
			t.Fatalf("%d frames, %v", len(out.list), err)
		}
		if beside := "REASON"; strings.Contains(out.list[0], beside) || !strings.Contains(out.list[1], beside) {
			t.Errorf("%q", out.list)
		}
	})
}

func TestANameThatDoesNotResolveIsSaid(t *testing.T) {
	d := newDesk(t, nil)
	d.env.dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "lb.example", IsNotFound: true}}
	}
	d.run("status", "--admin", "lb.example:9090").refused(t, 1, "no sluice listens on lb.example:9090 (from --admin): lookup lb.example: no such host")
}

func TestAnAnswerWithoutAnEndIsCutShort(t *testing.T) {
	c := newClient(target{shown: "here", source: "the default"}, time.Second, &Env{dial: newPipeListener().dial})
	defer c.close()
	c.most = 1000
	c.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Etag": {`"1"`}}, Body: io.NopCloser(zeros{})}, nil
	})
	if _, err := c.do(t.Context(), request{path: "/status"}, nil); err == nil || !strings.Contains(err.Error(), "larger than 1 kB") {
		t.Errorf("%v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// FuzzNoAnswerHarms gives each command whatever a server may say. None may panic, and
// nothing but a printer's own escapes may come out.
func FuzzNoAnswerHarms(f *testing.F) {
	for _, v := range []any{newFake().status, newFake().services, newFake().services[0], story(), changes(false), api.Events{Events: happened()}, api.Sessions{}} {
		text, _ := json.Marshal(v)
		f.Add(text, 200)
	}
	f.Add([]byte(`{"error":{"code":"not_found","message":"\u001b[2J","faults":["\u009b"]}}`), 404)
	f.Add([]byte("\x1b[2J"), 502)
	f.Fuzz(func(t *testing.T, answer []byte, status int) {
		if status < 200 || status > 599 || status == 204 || status == 304 {
			status = 200
		}
		d := newDesk(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`) // or it would not be read
			w.WriteHeader(status)
			w.Write(answer)
		}))
		d.width, d.height, d.vars["NO_COLOR"] = 80, 24, "1"
		for _, line := range []string{
			"status", "status web", "status --json", "sessions", "failures", "events", "explain web/b1", "pick web --source ::1", "reload", "weight web/b1 1",
			"remove web/b1", "drain web --all", "kill web/b1", "add web 1.2.3.4:5",
		} {
			r := d.run(strings.Fields(line)...)
			for _, bad := range []string{"\x1b", "\a", "\r", "\x00", "\u009b", "\u202e"} {
				if strings.Contains(r.stdout+r.stderr, bad) {
					t.Errorf("%s prints %q: %q", line, bad, r.stdout+r.stderr)
				}
			}
		}
	})
}

func FuzzEscapedJSONMeansTheSame(f *testing.F) {
	f.Add([]byte("{\"a\":\"\u009b\u202e\U000e0001\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var was, is any
		if json.Unmarshal(text, &was) != nil {
			return
		}
		if err := json.Unmarshal(escaped(text), &is); err != nil {
			// Between values JSON has tabs and returns, which are escaped where nobody indented.
			var flat bytes.Buffer
			json.Compact(&flat, text)
			if err := json.Unmarshal(escaped(flat.Bytes()), &is); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%q is %v, was %v", text, is, was)
		}
	})
}

func FuzzTablesFit(f *testing.F) {
	f.Add("name", "why is it so", 40)
	f.Fuzz(func(t *testing.T, name, prose string, total int) {
		total = 40 + max(0, total%100)
		tab := &table{columns: []column{{title: "NAME", least: 5}, {title: "N", right: true}, {title: "WHY", least: 5, prose: true}}}
		tab.add(name, "1", prose)
		tab.add(prose, "23", name)
		for line := range strings.Lines(printed(total, false, tab.print)) {
			if w := width(strings.TrimSuffix(line, "\n")); w > total {
				t.Errorf("%d columns of %d: %q", w, total, line)
			}
		}
	})
}

func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"127.0.0.1:9090", "unix:/run/s", "https://[::1]:1", ":1", "http://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var at target
		if at.parse(s) != nil {
			return
		}
		if at.address == "" || at.network != "tcp" && at.network != "unix" {
			t.Errorf("%q: %+v", s, at)
		}
		c := &client{target: at}
		if r, err := c.build(t.Context(), of("s", "b/%2f [::1]", "/kill")); err == nil && r.URL.EscapedPath() != "/api/v1/services/s/backends/b%2F%252f%20%5B::1%5D/kill" {
			t.Errorf("%q: %s", s, r.URL.EscapedPath())
		}
	})
}
