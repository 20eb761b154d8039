package app

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// turnedAway tells whether a client gets nothing.
func turnedAway(address string) bool {
	g, err := knock(address)
	if err == nil {
		g.Close()
	}
	return err != nil
}

// What clients are admitted by, and how they are served, is for those who come after.
func TestSettingsAreForNewSessions(t *testing.T) {
	for key, c := range map[string]string{
		"limits":  "limits: {connections: 1}",
		"sources": "limits: {per_source: 1}",
		"deny":    "deny: [127.0.0.0/8]",
		"allow":   "allow: [10.0.0.0/8]",
		"header":  "proxy_protocol: {accept: [127.0.0.0/8], accept_timeout: 50ms}",
	} {
		t.Run(key, func(t *testing.T) {
			a := talk(t, "a")
			r := run(t, web(anyPort, a.yaml()))
			g := visit(t, r.listen("web"))
			r.becomes(webWith(", "+c, anyPort, a.yaml()))
			if key == "sources" { // those that were there are not counted
				defer visit(t, r.listen("web")).Close()
			}
			if !turnedAway(r.listen("web")) {
				t.Errorf("%s was not heeded", c)
			}
			g.lives()
			r.becomes(web(anyPort, a.yaml()))
			visit(t, r.listen("web")).lives()
			g.lives()
		})
	}
}

func TestARateComesAndGoes(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	limited := webWith(", limits: {rate_per_source: 1}", anyPort, a.yaml())
	for range 2 {
		r.becomes(limited)
		eventually(t, "one client too many", func() bool { return turnedAway(r.listen("web")) })
		r.becomes(web(anyPort, a.yaml()))
		for range 5 {
			visit(t, r.listen("web"))
		}
	}
	if v, _ := r.Service("web"); v.Ended["limit-rate"] == 0 {
		t.Errorf("ends: %v", v.Ended)
	}
}

func TestAnotherPolicyChoosesForTheNext(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	r.becomes(webWith(", balance: first", anyPort, a.yaml(), b.yaml()))
	for range 3 {
		if g := visit(t, r.listen("web")); g.name != "a" {
			t.Errorf("%s was chosen", g.name)
		}
	}
	if v, _ := r.Service("web"); v.Balance != "first" {
		t.Errorf("%+v", v)
	}
}

func TestHoldIsForWhoComesAfterIt(t *testing.T) {
	a := talk(t, "a")
	none := a.yaml("weight: 0")
	r := run(t, web(anyPort, none))
	if !turnedAway(r.listen("web")) {
		t.Fatal("there is a backend")
	}
	hold := func(backend string) string { return webWith(", connect: {hold: 10s}", anyPort, backend) }
	r.becomes(hold(none))
	got := make(chan error, 1)
	go func() {
		g, err := knock(r.listen("web"))
		if err == nil {
			g.Close()
		}
		got <- err
	}()
	eventually(t, "the client is held", func() bool { v, _ := r.Service("web"); return v.Held == 1 })
	r.becomes(hold(a.yaml()))
	if err := <-got; err != nil {
		t.Errorf("the client that waited: %v", err)
	}
}

func TestAHeaderIsSentToTheBackendsOfNewSessions(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	old := visit(t, r.listen("web"))
	r.becomes(webWith(", proxy_protocol: {send: v1}", anyPort, a.yaml()))
	g := visit(t, r.listen("web"))
	line, err := g.in.ReadString('\n') // the backend says what it hears
	if err != nil || !strings.HasPrefix(line, "PROXY TCP4 127.0.0.1 ") {
		t.Errorf("%q, %v", line, err)
	}
	old.lives()
}

// A backend that dies before its first byte costs nothing once replay is on.
func TestReplayIsForWhoComesAfterIt(t *testing.T) {
	a := talk(t, "a")
	dying, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dying.Close()
	go func() {
		for {
			c, err := dying.Accept()
			if err != nil {
				return
			}
			c.SetReadDeadline(time.Now().Add(patience))
			io.ReadFull(c, make([]byte, 1))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	file := func(replay string) string {
		return webWith(", balance: first, passive: {failures: 0}, connect: {replay: "+replay+"}", anyPort,
			"{address: '"+dying.Addr().String()+"', name: dying}", a.yaml())
	}
	r := run(t, file("0"))
	say := func() (string, error) {
		c, err := net.Dial("tcp", r.listen("web"))
		if err != nil {
			return "", err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, "x\n")
		b := make([]byte, 2)
		_, err = io.ReadFull(c, b)
		return string(b), err
	}
	if got, err := say(); err == nil {
		t.Fatalf("without replay: %q", got)
	}
	r.becomes(file("4096"))
	if got, err := say(); err != nil || got != "a\n" {
		t.Errorf("with replay: %q, %v", got, err)
	}
}

// on_down is the one key that is for sessions that are there, too.
func TestOnDownIsForAllSessions(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	file := func(onDown string) string {
		return "services: [{name: web, listen: '" + anyPort + "', on_down: " + onDown + ", check: {interval: 20ms, timeout: 5s, fall: 1}, backends: [" + a.yaml() + ", " + b.yaml() + "]}]"
	}
	r := run(t, file("keep"))
	r.log.waitFor(t, `msg="backend up" service=web backend=a`)
	r.log.waitFor(t, `msg="backend up" service=web backend=b`)
	var g *guest
	for g == nil || g.name != "a" {
		g = visit(t, r.listen("web"))
	}
	r.becomes(file("close"))
	g.lives()
	a.ln.Close()
	if err := g.ended(); err == nil {
		t.Error("the session goes on")
	}
}
