package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func happened() []api.Event {
	return []api.Event{
		{ID: 1, Time: ago(time.Hour), Kind: "lifecycle", Text: "started"},
		{ID: 2, Time: ago(9 * time.Minute), Kind: "transition", Service: "web", Backend: "b2", Text: "down: http: status 503", From: "up", To: "down", Source: "probe"},
		{ID: 3, Time: ago(5 * time.Minute), Kind: "admin", Service: "web", Backend: "b1", Text: "weight 10", Who: "ann@desk"},
		{ID: 4, Time: ago(time.Minute), Kind: "outage", Service: "web", Text: "no usable backend"},
	}
}

func TestEventsAreLines(t *testing.T) {
	f := newFake()
	f.events = happened()
	d := newDesk(t, f)
	d.run("events").want(t, 0, `
1  2026-03-14 02:00:00  lifecycle   started
2  2026-03-14 02:51:00  transition  web/b2: down: http: status 503
3  2026-03-14 02:55:00  admin       web/b1: weight 10 (ann@desk)
4  2026-03-14 02:59:00  outage      web: no usable backend
`, "")
	d.width, d.height = 80, 24
	if got := d.run("events").stdout; !strings.Contains(got, "\x1b[31moutage    \x1b[0m") || !strings.Contains(got, "\x1b[33mtransition\x1b[0m") {
		t.Errorf("%q", got)
	}
}

func TestEventsSince(t *testing.T) {
	f := newFake()
	f.events = happened()
	d := newDesk(t, f)
	for since, first := range map[string]string{"10m": "2", "9m": "2", "-6m": "3", "2": "3", "1m": "4", "0": "1",
		ago(6 * time.Minute).Format(time.RFC3339): "3", ago(9 * time.Minute).In(d.env.Zone).Format("2006-01-02 15:04"): "2"} {
		r := d.run("events", "--since="+since)
		if got, _, _ := strings.Cut(r.stdout, " "); r.status != 0 || got != first {
			t.Errorf("since %s: begins with %q, want %q: %s", since, got, first, r.stderr)
		}
	}
	if got := f.requests(); !slices.Contains(got, "GET /events?since=2") {
		t.Errorf("asked %q", got)
	}
	f.requests()
	d.run("events", "web", "--since", "4").want(t, 0, "", "")
	if got := f.requests(); !slices.Equal(got, []string{"GET /events?service=web&since=4"}) {
		t.Errorf("asked %q", got)
	}
	f.lost = true
	if r := d.run("events", "--since", "2"); !strings.Contains(r.stderr, "events right after 2 are no longer kept") {
		t.Errorf("%s", r.stderr)
	}
	d.run("events", "--since", "monday").refused(t, 2, `--since: "monday" is not a time such as 10m`)
	d.run("events", "a", "b").refused(t, 2, "one argument too many")
}

func TestWhoDidSomethingIsSaidOnce(t *testing.T) {
	f := newFake()
	f.events = []api.Event{
		{ID: 1, Time: ago(time.Minute), Kind: "transition", Service: "web", Backend: "b1", Text: "drain: made drain by ann@desk", Who: "ann@desk"},
		{ID: 2, Time: ago(time.Minute), Kind: "admin", Service: "web", Text: "paused for 5s", Who: "ann@desk"},
	}
	out := newDesk(t, f).run("events").stdout
	if strings.Count(out, "ann@desk") != 2 || !strings.Contains(out, "paused for 5s (ann@desk)") {
		t.Error(out)
	}
}

func TestEventsAsJSONAreOneALine(t *testing.T) {
	f := newFake()
	f.events = happened()
	r := newDesk(t, f).run("events", "--json", "--since", "2")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.status != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], `{"id":3,"time":"2026-03-14T02:55:00Z","kind":"admin"`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

// send writes events to a stream, as the server does.
func send(w http.ResponseWriter, ids ...uint64) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": hello\n\n")
	for _, id := range ids {
		fmt.Fprintf(w, "id: %d\r\nevent: admin\r\ndata: {\"id\":%d,\"time\":\"2026-03-14T03:00:00Z\",\r\ndata: \"kind\":\"admin\",\"text\":\"n%d\"}\r\n\r\n", id, id, id)
	}
	http.NewResponseController(w).Flush()
}

// followed runs events --follow for a while of virtual time and returns the result.
func followed(t *testing.T, f http.Handler, during time.Duration, args ...string) (r result) {
	inBubble(t, f, func(t *testing.T, d *desk) {
		ctx, cancel := context.WithTimeout(d.ctx, during)
		defer cancel()
		d.ctx = ctx
		r = d.run(append([]string{"events", "--follow"}, args...)...)
	})
	return r
}

func TestFollowGoesOnWithWhatComes(t *testing.T) {
	f := newFake()
	for id := range uint64(20) {
		f.events = append(f.events, api.Event{ID: id + 1, Time: began, Kind: "admin", Text: fmt.Sprint("n", id+1)})
	}
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		send(w, 20, 21) // the first was seen
		fmt.Fprint(w, "event: admin\ndata: no json\n\nevent: lost\ndata: {\"lost\":5}\n\nevent: later\ndata: {\"x\":1}\n\ndata: cut off")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	r := followed(t, f, time.Minute)
	var lines []string
	for line := range strings.Lines(r.stdout) {
		lines = append(lines, line[strings.LastIndex(line, "n"):])
	}
	if want := "n11\nn12\nn13\nn14\nn15\nn16\nn17\nn18\nn19\nn20\nn21\n"; strings.Join(lines, "") != want {
		t.Errorf("%q, want %q", lines, want)
	}
	if r.status != 0 || r.stderr != "5 events lost here: too many at a time\n" {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
	if got := f.requests(); got[len(got)-1] != "GET /events/stream?since=20" {
		t.Errorf("asked %q", got)
	}
}

func TestFollowConnectsAgainAfterTheLastEvent(t *testing.T) {
	f := newFake()
	times := 0
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		switch times++; times {
		case 1:
			send(w, 1, 2)
		case 2, 3: // once more, for the client repeats a request on a connection that was kept
			panic(http.ErrAbortHandler)
		case 4:
			send(w, 2, 3)
			<-r.Context().Done()
		}
	}
	r := followed(t, f, time.Minute, "web")
	if n := strings.Count(r.stdout, "\n"); n != 3 || r.status != 0 {
		t.Errorf("status %d, %d events:\n%s", r.status, n, r.stdout)
	}
	if n := strings.Count(r.stderr, "no events for now, trying again: 127.0.0.1:9090 (the default)"); n != 2 {
		t.Errorf("%s", r.stderr)
	}
	want := []string{"GET /events?service=web&since=0", "GET /events/stream?service=web&since=0", "GET /events/stream?service=web&since=2", "GET /events/stream?service=web&since=2", "GET /events/stream?service=web&since=2"}
	if got := f.requests(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestFollowBeginsAnewWithAProcessThatIsNew(t *testing.T) {
	f := newFake()
	times := 0
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		if times++; times == 1 {
			send(w, 500)
			f.mu.Lock()
			f.status.Started = began.Add(2 * time.Hour)
			f.mu.Unlock()
			return
		}
		send(w, 1)
		<-r.Context().Done()
	}
	r := followed(t, f, time.Minute)
	if !strings.Contains(r.stdout, "n500") || !strings.Contains(r.stdout, "n1\n") || !strings.Contains(r.stderr, "sluice was restarted at 2026-03-14 04:00:00") {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
}

func TestFollowWaitsLongerEachTimeButNotForEver(t *testing.T) {
	f := newFake()
	var at []time.Time
	f.stream = func(w http.ResponseWriter, _ *http.Request) {
		at = append(at, time.Now())
		send(w)
	}
	followed(t, f, 20*time.Second)
	var gaps []time.Duration
	for i := range at[1:] {
		gaps = append(gaps, at[i+1].Sub(at[i]).Round(time.Millisecond))
	}
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, lastRetry, lastRetry}
	if !slices.Equal(gaps, want) {
		t.Errorf("gaps %v, want %v", gaps, want)
	}
}

func TestFollowEndsWhenItIsRefused(t *testing.T) {
	f := newFake()
	f.stream = func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, api.Fault{Code: api.CodeForbidden, Message: "not from here"})
	}
	d := newDesk(t, f)
	d.run("events", "-f").want(t, 1, "", "not from here\n")
	f.stream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }
	d.run("events", "-f").refused(t, 1, `answers with "text/html; charset=utf-8" and not with a stream of events`)
	f.stream = func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, api.Fault{Code: api.CodeNotFound, Message: "no"})
	}
	d.run("events", "wbe", "-f").refused(t, 1, `no service "wbe": there are web, redis`)
}

func TestFollowEndsWhenItsReaderIsGone(t *testing.T) {
	f := newFake()
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		send(w, 1)
		<-r.Context().Done()
	}
	if err := newDesk(t, f).runTo(full{}, io.Discard, "events", "-f"); err == nil || !strings.Contains(err.Error(), "output:") {
		t.Errorf("%v", err)
	}
}

func TestFollowAsJSONIsOneEventALine(t *testing.T) {
	f := newFake()
	f.stream = func(w http.ResponseWriter, r *http.Request) {
		send(w, 1, 2)
		<-r.Context().Done()
	}
	r := followed(t, f, time.Second, "--json")
	if want := `{"id":1,"time":"2026-03-14T03:00:00Z","kind":"admin","text":"n1"}` + "\n"; r.status != 0 || !strings.HasPrefix(r.stdout, want) || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

func TestMessagesOfAStreamAreRead(t *testing.T) {
	const text = "\n\n:ping\nid: 7\nevent: a\ndata: 1\ndata:2\nretry: 5\nunknown\n\ndata: \n\nevent: none\n\nevent: b\ndata: 3\n\ndata: cut off\n"
	var got []string
	err := readMessages(strings.NewReader(text), func(m message) error {
		got = append(got, m.event+"="+string(m.data))
		return nil
	})
	if want := []string{"a=1\n2", "b=3"}; !slices.Equal(got, want) || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	long := bytes.Repeat([]byte("x"), maxLine+1)
	if err := readMessages(bytes.NewReader(long), nil); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a line without an end: %v", err)
	}
	stop := errors.New("stop")
	if err := readMessages(strings.NewReader("data: 1\n\n"), func(message) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func FuzzMessagesOfAStream(f *testing.F) {
	f.Add([]byte("event: a\ndata: {}\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		err := readMessages(bytes.NewReader(b), func(m message) error {
			if len(m.data) == 0 || len(m.data) > len(b) {
				t.Errorf("%q", m.data)
			}
			return nil
		})
		if err == nil {
			t.Error("a stream without an end")
		}
	})
}

// frames is a terminal that tells each write from the next.
type frames struct {
	list  []string
	after func() // what happens after each; nil = nothing
}

func (f *frames) Write(p []byte) (int, error) {
	f.list = append(f.list, string(p))
	if f.after != nil {
		f.after()
	}
	return len(p), nil
}

// watched runs status --watch for a while of virtual time.
func watched(t *testing.T, h http.Handler, during time.Duration, width int, args ...string) (all []string, err error) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, h)
		d.width, d.height = width, 8
		ctx, cancel := context.WithTimeout(d.ctx, during)
		defer cancel()
		d.ctx = ctx
		var out frames
		err = d.runTo(&out, io.Discard, append([]string{"status"}, args...)...)
		all = out.list
	})
	return all, err
}

func TestWatchDrawsAgainUntilItIsInterrupted(t *testing.T) {
	for args, draws := range map[string]int{"--watch": 3, "-w": 3, "--watch=1s": 5, "--watch 1s": 5, "web --watch 500ms": 10, "-w web": 3} {
		all, err := watched(t, newFake(), 4900*time.Millisecond, 80, strings.Fields(args)...)
		if err != nil || len(all) != draws {
			t.Errorf("%s: %d frames, want %d: %v", args, len(all), draws, err)
		}
	}
}

func TestAFrameFitsTheTerminalAndReplacesTheOneBefore(t *testing.T) {
	all, err := watched(t, newFake(), time.Second, 80, "--watch")
	if err != nil || len(all) != 1 {
		t.Fatalf("%q, %v", all, err)
	}
	frame := all[0]
	if !strings.HasPrefix(frame, cursorHome+wrapOff) || !strings.HasSuffix(frame, clearBelow+wrapOn) || strings.Count(frame, "\n") != 7 || strings.Count(frame, clearRight) != 7 {
		t.Errorf("%q", frame)
	}
	if !strings.Contains(frame, "… 6 lines more; --problems shows only what is out") {
		t.Errorf("%q", frame)
	}
	all, err = watched(t, newFake(), time.Second, 0, "--watch")
	if err != nil || len(all) != 1 || strings.Contains(all[0], "\x1b") || !strings.HasSuffix(all[0], "\n\n") {
		t.Errorf("elsewhere than on a terminal: %q, %v", all, err)
	}
}

func TestWatchOutlivesAServerThatRestarts(t *testing.T) {
	f := newFake()
	asked := 0
	flaky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 3 || asked == 4 { // it is repeated once if the connection was kept
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	})
	all, err := watched(t, flaky, 5*time.Second, 80, "--watch")
	if err != nil || len(all) != 3 || !strings.Contains(all[1], "no answer") || !strings.Contains(all[2], "web") {
		t.Errorf("%q, %v", all, err)
	}
}

func TestWatchFailsAtOnceWhereNothingCanBeSeen(t *testing.T) {
	if _, err := watched(t, newFake(), time.Minute, 80, "wbe", "--watch"); err == nil || !strings.Contains(err.Error(), `no service "wbe"`) {
		t.Errorf("%v", err)
	}
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if _, err := watched(t, broken, time.Minute, 80, "--watch"); err == nil || !strings.Contains(err.Error(), "not as sluice does") {
		t.Errorf("%v", err)
	}
}
