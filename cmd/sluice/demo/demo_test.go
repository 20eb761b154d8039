package demo

import (
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestEveryBackendServes(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Duration: 2 * time.Second, Port: 20080})
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	noneFailed(t, r)
	r.await(t, `answered by alice [1-9]\d*, bob [1-9]\d*, carol [1-9]`)
}

func TestAKilledBackendCostsNoRequestAndServesAgainOnceRevived(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Port: 20380})
	bob := r.await(t, `bob +http://(\S+)`)
	r.order(t, "/kill/bob")
	if !refused(bob) {
		t.Error("a killed backend accepts")
	}
	r.await(t, `you +kill bob`)
	r.await(t, `backend down +bob by (dial|probe): .*refused`)
	for range 12 {
		if get(t, "http://"+r.balancer) == "bob" {
			t.Error("a killed backend answered")
		}
	}
	r.order(t, "/revive/bob")
	r.await(t, `backend up +bob by probe: 2 probes in a row passed`)
	r.askUntil(t, "bob")
	if err := r.stop(t); err != nil {
		t.Fatal(err)
	}
	noneFailed(t, r)
}

func TestASickBackendIsTakenOutByItsCheckAndComesBackWell(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Port: 20680})
	carol := r.await(t, `carol +http://(\S+)`)
	r.order(t, "/sick/carol")
	r.await(t, `backend down +carol by probe: http: status 503`)
	if got := get(t, "http://"+carol); got != "carol" {
		t.Errorf("a sick backend answers %q: it should serve all the same", got)
	}
	for range 12 {
		if get(t, "http://"+r.balancer) == "carol" {
			t.Error("the balancer used a sick backend")
		}
	}
	r.order(t, "/well/carol")
	r.await(t, `backend up +carol by probe: 2 probes in a row passed`)
	r.askUntil(t, "carol")
	r.stop(t)
	noneFailed(t, r)
}

func TestChaosCostsNoRequest(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Chaos: true, Every: 2 * time.Second, Duration: 6 * time.Second, Port: 20980})
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	noneFailed(t, r)
	r.await(t, `chaos: [1-9]\d* kills, [1-9]\d* revivals \(seed [1-9]\d*\)`)
}

func TestChaosReportsRequestsThatFailed(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Chaos: true, Port: 21280})
	for _, name := range names() {
		r.order(t, "/kill/"+name)
	}
	r.await(t, `no usable backend`)
	fresh().Get("http://" + r.balancer) // after it, so one of the client's own has been turned away too
	r.await(t, `requests: .* [1-9]\d* failed`)
	err := r.stop(t)
	if !errors.Is(err, ErrFailed) || !regexp.MustCompile(`request \d+ after \S+: \S+`).MatchString(err.Error()) {
		t.Errorf("got %v, want %v and which and why", err, ErrFailed)
	}
}

func TestItEndsCleanlyWhenInterrupted(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Port: 21580})
	if err := r.stop(t); err != nil {
		t.Fatal(err)
	}
	r.await(t, `draining[\s\S]*requests: \d+ sent`)
	for _, m := range regexp.MustCompile(`http://([\d.:]+)  ?\n`).FindAllStringSubmatch(r.String(), -1) {
		if !refused(m[1]) {
			t.Errorf("%s still accepts", m[1])
		}
	}
}

func TestPortsThatAreTakenAreReplacedAndNamed(t *testing.T) {
	t.Parallel()
	const port = 21880
	for _, taken := range []int{port, port + 2, port + controlOffset} {
		ln, err := net.Listen("tcp", loopback(taken))
		if err == nil { // else somebody else has taken it
			defer ln.Close()
		}
	}
	r := start(t, Options{Port: port})
	for _, pattern := range []string{
		`balancer +http://127.0.0.1:\d+  \(port 21880 is taken\)`,
		`bob +http://127.0.0.1:\d+  \(port 21882 is taken\)`,
		`control +http://127.0.0.1:\d+  \(port 21889 is taken\)`,
	} {
		r.await(t, pattern)
	}
	r.askUntil(t, "bob")
}

func TestWithoutATerminalThereAreOnlyLines(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Port: 22180})
	r.await(t, `so far +alice up \d+%, bob up \d+%, carol up \d+%, requests: \d+ sent`)
	r.stop(t)
	if strings.ContainsAny(r.String(), "\x1b\r") {
		t.Errorf("control sequences in:\n%q", r.String())
	}
}

func TestTheDisplayIsGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Live: true, Color: true, Port: 22480})
	r.await(t, `state .*now .*total[\s\S]*alice.*up`)
	r.stop(t)
	shown := terminal(t, r.String())
	if strings.Contains(shown, "now  total") {
		t.Errorf("the display is still there:\n%s", shown)
	}
	if !regexp.MustCompile(`requests: .*\nanswered by .*\n$`).MatchString(shown) {
		t.Errorf("the end is not the sum:\n%s", shown)
	}
}

func TestNoLineIsWiderThanATerminal(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Rate: 50, Live: true, Port: 59080})
	for _, name := range names() {
		r.order(t, "/kill/"+name)
	}
	r.await(t, `last failure: request \d+ after \S+: \S+: connection (refused|reset by peer)`)
	r.stop(t)
	for line := range strings.Lines(regexp.MustCompile("\x1b\\[[?0-9]*[A-Za-z]|\r").ReplaceAllString(r.String(), "\n")) {
		if line = strings.TrimRight(line, "\n"); len(line) > width {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, opt := range map[string]Options{
		"negative rate":              {Rate: -1},
		"rate too high":              {Rate: maxRate + 1},
		"negative duration":          {Duration: -1},
		"port too high":              {Port: 65530},
		"every without chaos":        {Every: 5 * time.Second},
		"seed without chaos":         {Seed: 1},
		"chaos faster than it heals": {Chaos: true, Every: time.Second},
	} {
		if err := Run(t.Context(), opt, newOutput()); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: got %v, want %v", name, err, ErrOptions)
		}
	}
}

// noneFailed checks the sum of a run that has ended.
func noneFailed(t *testing.T, r *running) {
	t.Helper()
	if !regexp.MustCompile(`requests: ([1-9]\d*) sent, \d+ ok, 0 failed\nanswered`).MatchString(r.String()) {
		t.Errorf("requests failed:\n%s", r)
	}
}
