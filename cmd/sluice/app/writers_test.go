package app

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/health/probe/probetest"
)

// primary is a redis that says that it is the master, and keeps what clients log in with.
type primary struct {
	address string
	mu      sync.Mutex
	logins  []string
}

func servePrimary(t *testing.T) *primary {
	p := &primary{}
	p.address = probetest.Serve(t, func(c net.Conn) {
		in := bufio.NewScanner(c)
		for in.Scan() {
			switch line := in.Text(); line {
			case "PING":
				io.WriteString(c, "+PONG\r\n")
			case "ROLE":
				io.WriteString(c, "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n")
			case "AUTH":
				in.Scan() // the length
				in.Scan()
				p.mu.Lock()
				p.logins = append(p.logins, in.Text())
				p.mu.Unlock()
				io.WriteString(c, "+OK\r\n")
			}
		}
	}).Address
	return p
}

// login returns the newest.
func (p *primary) login() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.logins) == 0 {
		return ""
	}
	return p.logins[len(p.logins)-1]
}

// What is done when two claim to take writes can be changed while they do.
func TestAnotherRuleForSeveralWritersIsInForceAtOnce(t *testing.T) {
	one, other := servePrimary(t), servePrimary(t)
	file := func(conflict string) string {
		return "services: [{name: db, listen: '" + anyPort + "', on_down: close, check: {type: redis, role: master, conflict: " + conflict + ", interval: 1h}," +
			" backends: [{address: '" + one.address + "', name: one}, {address: '" + other.address + "', name: other}]}]"
	}
	r := run(t, file("first"))
	r.log.waitFor(t, `msg="several writers"`)
	usable := func() string {
		var names []string
		v, _ := r.Service("db")
		for _, b := range v.Backends {
			if b.Usable {
				names = append(names, b.Name)
			}
		}
		return strings.Join(names, ", ")
	}
	for _, c := range []struct{ conflict, serves string }{{"none", ""}, {"first", "one"}, {"keep", "one"}, {"none", ""}} {
		r.becomes(file(c.conflict))
		if got := usable(); got != c.serves {
			t.Errorf("conflict: %s has %q serve, want %q", c.conflict, got, c.serves)
		}
	}
}

// A password file is read at each reload: who rotates it has no other key to change.
func TestANewPasswordInTheSameFileReachesTheProbes(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "password")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one\n")
	p := servePrimary(t)
	file := "services: [{name: db, listen: '" + anyPort + "', check: {type: redis, interval: 1h, password: 'file:" + secret + "'}, backends: [{address: '" + p.address + "', name: b}]}]"
	r := run(t, file)
	eventually(t, "it is probed", func() bool { return p.login() == "one" })
	if plan := r.becomes(file); len(plan.Changes) != 0 {
		t.Errorf("%+v: a reload of the same password is none", plan)
	}
	put("two\n")
	planned, err := r.Plan("f", []byte(file))
	plan := r.becomes(file)
	eventually(t, "it is probed anew", func() bool { return p.login() == "two" })
	for _, plan := range []api.Plan{planned, plan} {
		if c := plan.Changes; err != nil || len(c) != 1 || c[0].Service != "db" || c[0].Key != "check" || !strings.Contains(c[0].Note, "password") || strings.Contains(fmt.Sprint(c), "two") {
			t.Errorf("%v, %+v", err, plan)
		}
	}
	if len(p.logins) != 2 {
		t.Errorf("logins %q", p.logins)
	}
	if n := strings.Count(r.log.String(), "backend="); n != 1 {
		t.Errorf("%d transitions were logged:\n%s", n, r.log)
	}
}
