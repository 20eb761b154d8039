//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// downs waits until the backend is down for a reason, and returns when.
func downs(t *testing.T, s *parts.Sluice, backend string, after int, reason string) time.Time {
	t.Helper()
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": backend}, After: after})
	if !strings.Contains(r.Get("reason"), reason) {
		t.Errorf("it is down for %q, want %q", r.Get("reason"), reason)
	}
	return r.Time
}

// explained asks why a backend was what it was a moment after a time, in the words of a clock, and expects them all.
func explained(t *testing.T, admin *parts.Admin, backend string, at time.Time, want ...string) {
	t.Helper()
	// A clock of seconds: the end of the one in which it happened.
	clock := at.Add(time.Second).Local().Format("15:04:05")
	parts.Eventually(t, parts.Patience, "it is "+clock, func() bool { return time.Now().Local().Format("15:04:05") >= clock })
	out := admin.MustCtl("explain", "s/"+backend, "--at", clock)
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("explain --at %s does not say %q:\n%s", clock, w, out)
		}
	}
}

func TestExplainTellsWhyABackendWasOutAlsoAfterACrash(t *testing.T) {
	t.Parallel()
	b := parts.NginxHTTP(t, "b1", false)
	spare := serveHealth(t, func(int64) int { return http.StatusOK })
	yaml := adminKey + "state_dir: " + parts.TempDir(t) + "\n" +
		service("check: {type: http, path: /, interval: 100ms, timeout: 300ms, rise: 2, fall: 2}", b.Addr, spare.addr)
	s := run(t, yaml)
	admin := s.Admin(t)
	s.AwaitUp(t, "b1", "b2")
	mark := s.Log.Len()
	b.Kill()
	killed := downs(t, s, "b1", mark, "refused")
	explained(t, admin, "b1", killed, ": down, since", "refused", "up -> down  probe: ", "during connect")
	mark = s.Log.Len()
	b.Start(t)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
	mark = s.Log.Len()
	b.Signal(syscall.SIGSTOP)
	hung := downs(t, s, "b1", mark, "no answer")
	explained(t, admin, "b1", hung, ": down, since", "no answer", "during http")
	b.Signal(syscall.SIGCONT)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
	mark = s.Log.Len()
	sick := func(int64) int { return http.StatusServiceUnavailable }
	spare.answer.Store(&sick)
	ill := downs(t, s, "b2", mark, "503")
	explained(t, admin, "b2", ill, ": down, since", "status 503", "up -> down  probe: ")
	s.Crash()

	again := run(t, yaml)
	admin = again.Admin(t)
	admin.AwaitReady()
	explained(t, admin, "b1", killed, ": down, since", "refused")
	explained(t, admin, "b1", hung, ": down, since", "no answer")
	explained(t, admin, "b2", ill, ": down, since", "status 503")
	if res := admin.Ctl("explain", "s/b9"); res.Code != 1 || !strings.Contains(res.Stderr, "b9") {
		t.Errorf("of a backend that never was: exit %d, %q", res.Code, res.Stderr)
	}
}

func TestExplainTellsWhatClientsAndPeopleDid(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 1)
	s, admin, addr := startAdmin(t, "", noCheck+"balance: first", parts.RefusedAddr(t), addrs[0])
	whoNow(t, "", addr) // its dial is refused by the first
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1", "source": "dial"}})
	out := admin.MustCtl("explain", "s/b1")
	for _, want := range []string{": ejected, since", "-> ejected  dial: ", "refused"} {
		if !strings.Contains(out, want) {
			t.Errorf("explain does not say %q:\n%s", want, out)
		}
	}
	admin.MustCtl("maint", "s/b2")
	out = admin.MustCtl("explain", "s/b2")
	for _, want := range []string{": maint, since", "-> maint  admin (", ": put into maintenance by "} {
		if !strings.Contains(out, want) {
			t.Errorf("explain does not say %q:\n%s", want, out)
		}
	}
}

func TestPickIsWhatClientsGetBeforeAndAfterAReload(t *testing.T) {
	t.Parallel()
	for _, balance := range []string{"source-hash", "maglev"} {
		t.Run(balance, func(t *testing.T) {
			t.Parallel()
			_, addrs := greeters(t, 5)
			for i := range addrs {
				addrs[i] = fmt.Sprintf(`{address: "%s", name: b%d}`, addrs[i], i+1)
			}
			s, admin, addr := startAdmin(t, "", noCheck+"balance: "+balance, addrs...)
			check := func(when string) map[string]string {
				got := map[string]string{}
				for i := range 40 {
					source := fmt.Sprintf("127.0.%d.%d", i%3, 2+i)
					var pick struct {
						Choice  string
						Certain bool
					}
					admin.Must(http.StatusOK, http.MethodGet, "/api/v1/services/s/pick?source="+source, "", &pick)
					got[source] = whoNow(t, source, addr)
					if got[source] != pick.Choice || !pick.Certain {
						t.Errorf("%s, %s: it got %s, pick says %+v", when, source, got[source], pick)
					}
				}
				return got
			}
			before := check("at first")
			var plan struct {
				Moved []struct{ Share, Needed float64 }
			}
			s.Rewrite(t, adminKey+service(noCheck+"balance: "+balance, append(addrs[:2:2], addrs[3:]...)...))
			out := admin.MustCtl("plan", "-c", s.File, "--json")
			if err := json.Unmarshal([]byte(out), &plan); err != nil || len(plan.Moved) != 1 {
				t.Fatalf("plan: %v: %s", err, out)
			}
			admin.MustCtl("reload")
			after := check("after the reload")
			moved := 0
			for source := range before {
				if before[source] != after[source] {
					moved++
				}
			}
			t.Logf("%d of %d moved, the plan says %.2f of which %.2f had to", moved, len(before), plan.Moved[0].Share, plan.Moved[0].Needed)
			admin.MustCtl("drain", "s/b1")
			check("with a backend in drain")
		})
	}
}

func TestFailuresShowEachAttemptOfARetriedSession(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b3"))
	refused := parts.RefusedAddr(t)
	_, admin, addr := startAdmin(t, "", noCheck+"balance: first", refused, parts.RefusedAddr(t), b.Addr)
	c := parts.Dial(t, addr)
	parts.Expect(t, c, "b3\n")
	client := c.LocalAddr().String()
	_ = c.Close()
	var out string
	parts.Eventually(t, parts.Patience, "the session is among the failures", func() bool {
		out = admin.MustCtl("failures", "s")
		return strings.Contains(out, client)
	})
	for _, want := range []string{"b3", "tried b1", "tried b2", "refused"} {
		if !strings.Contains(out, want) {
			t.Errorf("failures does not say %q:\n%s", want, out)
		}
	}
	admin.MustCtl("drain", "s", "--all")
	parts.Refused(t, "", addr, parts.Patience)
	parts.Eventually(t, parts.Patience, "the refused client is among them", func() bool {
		return strings.Contains(admin.MustCtl("failures", "s"), "no-backend")
	})
}

func TestEventsFollowPrintsATransitionAsItHappens(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	other := parts.Serve(t, parts.Greet("b2"))
	s, admin, _ := startAdmin(t, "", fastCheck, b.Addr, other.Addr)
	s.AwaitUp(t, "b1", "b2")
	lines := follow(t, binary(t), "events", "s", "--follow", "--admin", admin.Addr)
	var seen []string
	await := func(words ...string) {
		t.Helper()
		end := time.After(parts.Patience)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatal("the command has ended")
				}
				seen = append(seen, line)
				if containsWords(line, words) {
					return
				}
			case <-end:
				t.Fatalf("no line with %q; so far:\n%s", words, strings.Join(seen, "\n"))
			}
		}
	}
	await("b2", "up")
	b.Close()
	await("b1", "down", "refused")
	b.Reopen(t)
	await("b1", "up")
	admin.MustCtl("drain", "s/b2")
	await("b2", "drain")
}

func containsWords(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// follow runs a command that goes on, at most until the end of the test, and returns what it prints.
func follow(t *testing.T, name string, args ...string) <-chan string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			select {
			case lines <- scan.Text():
			default: // nobody looks any more
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %s, interrupted: %v", name, args[0], err)
		}
	})
	return lines
}

// One source's rate is bounded, and nobody else pays for it.
func TestRatePerSourceBoundsOneSourceAlone(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s, admin, addr := startAdmin(t, "", noCheck+"limits: {rate_per_source: 20}", b.Addr)
	begin := time.Now()
	served, refused := 0, 0
	for range 200 {
		c, err := parts.TryDial("127.0.0.66", addr)
		if err == nil {
			_, err = parts.Name(c)
			_ = c.Close()
		}
		if err == nil {
			served++
		} else {
			refused++
		}
		if refused%20 == 1 { // in between, others come at their own rate
			if got := whoNow(t, fmt.Sprintf("127.0.1.%d", 1+refused%250), addr); got != "b1" {
				t.Errorf("another source got %q", got)
			}
		}
	}
	most := 20 + int(20*time.Since(begin).Seconds()) + 2
	if served < 20 || served > most {
		t.Errorf("%d of 200 connections in %v, want 20 to %d", served, time.Since(begin), most)
	}
	r := s.Log.Await(t, parts.Patience, refused, parts.Match{Msg: "session", Fields: parts.Fields{"end": "map[who:sluice why:limit-rate]"}})
	if host, _, _ := net.SplitHostPort(r.Get("client")); host != "127.0.0.66" {
		t.Errorf("the record is of another: %s", r.Raw)
	}
	if v := admin.Metrics().Value("sluice_refused_total", `reason="limit-rate"`); v != float64(refused) {
		t.Errorf("%v by the metric, %d clients were refused", v, refused)
	}
	parts.Eventually(t, parts.Patience, "the source may come again", func() bool {
		name, err := parts.Who("127.0.0.66", addr)
		return err == nil && name == "b1"
	})
}
