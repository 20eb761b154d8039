//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// changing makes files that differ from one another in all that a reload may change.
type changing struct {
	main, second, extra string   // addresses of listeners
	backends            []string // the first is in each file
}

var policies = []string{"round-robin", "least-conn", "p2c", "random", "source-hash", "maglev", "first"}

// file is the i-th file.
func (c changing) file(i int) string {
	var b strings.Builder
	b.WriteString(adminKey)
	fmt.Fprintf(&b, "log: {level: %s, sessions: errors}\n", []string{"info", "debug"}[i%2])
	listen := `"` + c.main + `"`
	if i%3 == 1 {
		listen += `, "` + c.second + `"`
	}
	fmt.Fprintf(&b, "services:\n  - name: s\n    listen: [%s]\n    balance: %s\n    drain_timeout: 1s\n", listen, policies[i%len(policies)])
	fmt.Fprintf(&b, "    timeouts: {idle: %ds, user: %ds, keepalive: %ds}\n", 60+i%2, 20+i%4/2, 10+i%5/4)
	fmt.Fprintf(&b, "    check: {type: tcp, interval: %dms, fall: %d}\n", 100+10*(i%6/3), 2+i%7/6)
	fmt.Fprintf(&b, "    connect: {timeout: %dms, hold: 1s}\n    limits: {per_source: %d, rate_per_source: %d}\n", 900+i%3, 10_000+i%2, 100_000*(i%4/2))
	b.WriteString("    backends:\n")
	for j, addr := range c.backends {
		if j == 0 || (i>>(j%3))%2 == 0 {
			fmt.Fprintf(&b, "      - {address: \"%s\", name: b%d, weight: %d}\n", addr, j+1, 1+(i+j)%4)
		}
	}
	if i%4 >= 2 {
		fmt.Fprintf(&b, "  - {name: extra, listen: \"%s\", drain_timeout: 1s, backends: [\"%s\"]}\n", c.extra, c.backends[0])
	}
	return b.String()
}

// Serial: it offers load and looks at memory.
func TestFiftyReloadsUnderLoadFailNoClientAndLeakNothing(t *testing.T) {
	_, addrs := greeters(t, 5)
	c := changing{main: parts.FreeAddr(t), second: parts.FreeAddr(t), extra: parts.FreeAddr(t), backends: addrs}
	s := run(t, c.file(0))
	admin := s.Admin(t)
	admin.AwaitReady()
	reload(t, s, admin, c.file(1), 1) // what is made once is made now
	reload(t, s, admin, c.file(0), 2)
	before := holdings(t, s, admin)
	clients := newSteady(t)
	clients.clients(8, "new client", func() error { return exchangeAnew(c.main) })
	long := sessionWithFirst(t, c.main)
	for i := 1; i <= 50; i++ {
		reload(t, s, admin, c.file(i), i)
		clients.more(10)
		if i%3 == 1 {
			whoNow(t, "", c.second)
		}
		if i%4 >= 2 {
			whoNow(t, "", c.extra)
		}
	}
	t.Logf("%d exchanges", clients.stop())
	parts.Echoes(t, long, "the backend of this session was in each file")
	_ = long.Close()
	reload(t, s, admin, c.file(0), 0)
	if !parts.Within(parts.Patience, func() bool { return holdings(t, s, admin).within(before) }) {
		t.Errorf("before: %+v, after: %+v", before, holdings(t, s, admin))
	}
	if n := len(s.Log.All(parts.Match{Msg: "reloaded"})); n != 53 {
		t.Errorf("%d reloads were applied, want 53", n)
	}
}

// sessionWithFirst is a session with the backend that is in each file.
func sessionWithFirst(t *testing.T, addr string) net.Conn {
	t.Helper()
	for range 20 {
		conn := parts.Dial(t, addr)
		if name, err := parts.Name(conn); err == nil && name == "b1" {
			return conn
		}
		_ = conn.Close()
	}
	t.Fatal("b1 serves nobody")
	return nil
}

// reload puts a file in force, by the command or by the signal in turn.
func reload(t *testing.T, s *parts.Sluice, admin *parts.Admin, yaml string, i int) {
	t.Helper()
	mark := s.Log.Len()
	s.Rewrite(t, yaml)
	if i%2 == 0 {
		admin.MustCtl("reload")
	} else {
		s.Signal(syscall.SIGHUP)
	}
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "reloaded", After: mark})
}

// holding is what a process has.
type holding struct{ fds, sockets, threads, goroutines, rss int }

func holdings(t *testing.T, s *parts.Sluice, admin *parts.Admin) holding {
	t.Helper()
	m := admin.Metrics()
	fds := parts.CountFDs(t, s.Pid())
	return holding{
		fds: fds.Total, sockets: fds.Sockets, threads: parts.Threads(t, s.Pid()), goroutines: int(m.Value("go_goroutines")),
		rss: parts.RSSAnon(t, s.Pid()),
	}
}

// within tells whether h is no more than before: a probe may be under way, and the heap is collected when it likes.
func (h holding) within(before holding) bool {
	return h.fds <= before.fds+4 && h.threads <= before.threads+8 && h.goroutines <= before.goroutines+4 && h.rss <= before.rss+64<<20
}

func TestFileWithFaultsIsRefusedAndServiceGoesOn(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, admin, addr := startAdmin(t, "", noCheck, b.Addr)
	admin.AwaitReady()
	c := parts.Dial(t, addr)
	parts.Echoes(t, c, "before")
	fine := adminKey + service(noCheck, b.Addr)
	s.Rewrite(t, strings.Replace(fine, "    check:", "    blance: first\n    check:", 1))
	place := s.File + ":7:5: "
	res := admin.Ctl("reload")
	if res.Code != 1 || !strings.Contains(res.Stderr, place) || !strings.Contains(res.Stderr, `"balance"`) {
		t.Errorf("exit %d, %q, want 1 and the place %s with what was meant", res.Code, res.Stderr, place)
	}
	refused := func(n int) {
		t.Helper()
		r := s.Log.Await(t, parts.Patience, n, parts.Match{Msg: "reload refused"})
		if !strings.Contains(r.Get("error"), place) {
			t.Errorf("the record has no place: %s", r.Raw)
		}
		if got := admin.Metrics().Value("sluice_config_reloads_total", `result="refused"`); got != float64(n) {
			t.Errorf("%v reloads refused by the metric, want %d", got, n)
		}
	}
	refused(1)
	s.Signal(syscall.SIGHUP)
	refused(2)
	var st struct {
		Reload struct {
			Count, Refused int
			Error          string
		}
	}
	admin.Must(http.StatusOK, http.MethodGet, "/api/v1/status", "", &st)
	if st.Reload.Refused != 2 || st.Reload.Count != 0 || !strings.Contains(st.Reload.Error, place) || admin.Metrics().Value("sluice_config_last_reload_successful") != 0 {
		t.Errorf("status says %+v", st)
	}
	if res := admin.Ctl("status"); !strings.Contains(res.Stdout+res.Stderr, "refused") {
		t.Errorf("`sluice status` does not say that the file was refused:\n%s%s", res.Stdout, res.Stderr)
	}
	if out := admin.MustCtl("events"); strings.Count(out, place) != 2 {
		t.Errorf("`sluice events` does not say where, twice:\n%s", out)
	}
	parts.Echoes(t, c, "after")
	parts.Echoes(t, parts.Dial(t, addr), "new")
	reload(t, s, admin, fine, 0)
	if m := admin.Metrics(); m.Value("sluice_config_last_reload_successful") != 1 || m.Value("sluice_config_reloads_total", `result="applied"`) != 1 {
		t.Error("the metrics do not say that the next file was applied")
	}
}

func TestPlanSaysWhatAReloadThenDoes(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 3)
	s, admin, addr := startAdmin(t, "", noCheck, addrs[0], addrs[1])
	next := adminKey + service(noCheck+"balance: first\nlisten: "+addr, addrs[0], `{address: "`+addrs[1]+`", name: b2, weight: 7}`, addrs[2])
	s.Rewrite(t, next)
	planned := admin.MustCtl("plan", "-c", s.File)
	for _, want := range []string{"b3", "weight", "balance"} {
		if !strings.Contains(planned, want) {
			t.Errorf("the plan does not speak of %s:\n%s", want, planned)
		}
	}
	if v, _ := admin.Service("s"); len(v.Backends) != 2 {
		t.Error("the plan has changed something")
	}
	done := admin.MustCtl("reload")
	for line := range strings.Lines(planned) {
		if strings.Contains(line, "weight") && !strings.Contains(done, line) {
			t.Errorf("planned %q, done:\n%s", line, done)
		}
	}
	if v, _ := admin.Service("s"); len(v.Backends) != 3 {
		t.Errorf("after the reload: %+v", v)
	}
}

func TestListenerInTheWayOfItsSuccessorIsReplaced(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	narrow := parts.FreeAddr(t)
	wide := "0.0.0.0" + narrow[strings.LastIndex(narrow, ":"):]
	file := func(listen string) string { return adminKey + service(noCheck+"listen: "+listen, b.Addr) }
	s := run(t, file(`"`+wide+`"`))
	admin := s.Admin(t)
	admin.AwaitReady()
	// 192.0.2.1 is nobody's: that file cannot be put in force, and what was closed for it comes back.
	s.Rewrite(t, file(`["`+narrow+`", "`+strings.Replace(narrow, "127.0.0.1", "192.0.2.1", 1)+`"]`))
	if res := admin.Ctl("reload"); res.Code != 1 || !strings.Contains(res.Stderr, "192.0.2.1") {
		t.Errorf("exit %d, %q, want 1 and the address", res.Code, res.Stderr)
	}
	whoNow(t, "", narrow)
	if v, _ := admin.Service("s"); len(v.Listen) != 1 || v.Listen[0] != wide {
		t.Errorf("it listens on %v, want %s", v.Listen, wide)
	}
	for _, listen := range []string{narrow, wide} {
		reload(t, s, admin, file(`"`+listen+`"`), 0)
		whoNow(t, "", narrow)
		if v, _ := admin.Service("s"); len(v.Listen) != 1 || v.Listen[0] != listen {
			t.Errorf("it listens on %v, want %s", v.Listen, listen)
		}
	}
	if lost := s.Log.All(parts.Match{Msg: "listener lost"}); len(lost) > 0 {
		t.Error(lost[0].Raw)
	}
}
