package page

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func showTests() []browserTest {
	return []browserTest{
		{"a violation of the policy would be noticed", violationIsNoticed},
		{"the header says what runs and how it is", headerSaysHowItIs},
		{"each service is shown with its backends", servicesAreShown},
		{"every state has a word and a shape of its own", statesDiffer},
		{"a backend that dies is shown at once, without a reload", deathIsShown},
		{"rates and charts come from differences of counters", ratesAreShown},
		{"hostile text stays text", hostileTextStaysText},
		{"the strip tells of outages before the page was opened", stripKnowsThePast},
		{"the strip leaves out what is not known", stripLeavesOutTheUnknown},
		{"latencies have a unit that fits", latenciesHaveUnits},
		{"a service that comes or goes is followed", servicesComeAndGo},
		{"lists that are null are empty", nullsAreEmpty},
		{"another process begins with nothing of the one before", anotherProcess},
	}
}

func violationIsNoticed(t *testing.T, p *tab) {
	p.open(newFake(t, small()))
	eval[bool](p, `(document.body.setAttribute('style', 'color: red'), true)`)
	eval[bool](p, `(() => { try { document.body.innerHTML = '<b>'; return false } catch { return true } })()`)
	// Each is told by the page's watch, and by the browser in its own words; they come when they come.
	p.awaitComplaints("policy violated: style-src", "policy violated: require-trusted-types-for", "TrustedHTML")
}

func headerSaysHowItIs(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	top := p.text("header.top")
	for _, want := range []string{"1.2.3", "ready", "3 h 0 min", "800", "8 / 8", "7"} {
		if !strings.Contains(top, want) {
			t.Errorf("no %q in %q", want, top)
		}
	}
	f.with(func() {
		f.notReady = "the first round of probes goes on"
		f.reload = api.Reload{Refused: 1, Time: time.Now(), Error: "sluice.yaml:3:5: unknown key"}
		f.tell(api.Event{Kind: "reload", Text: "refused"})
	})
	p.until(`document.querySelector('#ready').textContent === 'not ready: the first round of probes goes on'`)
	p.until(`document.querySelector('#refused').innerText.includes('so the configuration before it is in force: sluice.yaml:3:5: unknown key')`)
}

func servicesAreShown(t *testing.T, p *tab) {
	p.open(newFake(t, small()))
	got := eval[[]string](p, `[...document.querySelectorAll('.service .toggle')].map((b) => b.textContent)`)
	if strings.Join(got, " ") != "redis postgres web" {
		t.Errorf("services %q", got)
	}
	p.until(row("b3"))
	text := eval[string](p, row("b3")+`.innerText`)
	for _, want := range []string{"b3", "10.0.0.3:6379", "up", "3", "30 / 500", "50 %", "240 µs", "1.9 ms", "1 h", "2 probes succeeded"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the row %q", want, text)
		}
	}
	if text := eval[string](p, row("standby")+`.innerText`); !strings.Contains(text, "prio 1") || !strings.Contains(text, "–") {
		t.Errorf("a standby without a connection reads %q", text)
	}
}

func statesDiffer(t *testing.T, p *tab) {
	of := func(name string, change func(*api.Backend)) api.Backend {
		b := up(name, name+":1", 1)
		change(&b)
		return b
	}
	p.open(newFake(t, []api.Service{service("s", "127.0.0.1:1", "random",
		of("up", func(*api.Backend) {}),
		of("unknown", func(b *api.Backend) { b.Health = "unknown" }),
		of("down", func(b *api.Backend) { b.Health, b.Usable = "down", false }),
		of("ejected", func(b *api.Backend) { b.Ejected, b.Usable = true, false }),
		of("drain", func(b *api.Backend) { b.Admin, b.Usable = api.Drain, false }),
		of("maint", func(b *api.Backend) { b.Admin, b.Usable = api.Maint, false }),
		of("leaving", func(b *api.Backend) { b.Leaving, b.Usable = true, false }),
		of("not used", func(b *api.Backend) { b.Usable = false }),
	)}))
	p.until(`document.querySelectorAll('tbody tr').length === 8`)
	wrong := eval[[]string](p, `[...document.querySelectorAll('tbody tr')].map((r) => [r.querySelector('.name').textContent, r.querySelector('.word').textContent]).filter(([a, b]) => a !== b).map(String)`)
	if len(wrong) > 0 {
		t.Errorf("wrong words: %q", wrong)
	}
	if n := eval[int](p, `new Set([...document.querySelectorAll('tbody tr use')].map((u) => document.querySelector(u.getAttribute('href')).innerHTML)).size`); n != 8 {
		t.Errorf("8 states have %d shapes", n)
	}
}

func deathIsShown(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.until(row("b2"))
	eval[bool](p, `(window.sameDocument = true)`)
	f.die("redis", "b2", "connect: connection refused")
	p.until(row("b2") + `.dataset.state === 'down'`)
	p.until(row("b2") + `.innerText.includes('connect: connection refused')`)
	p.until(`document.querySelector('#events li').innerText.includes('up → down')`)
	p.until(`document.querySelector('#live').textContent.includes('redis b2 connect: connection refused')`)
	p.until(`document.title === '(1) sluice'`)
	if !eval[bool](p, `window.sameDocument === true`) {
		t.Error("the page was loaded anew")
	}
}

func ratesAreShown(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.live = true
	p.open(f)
	p.until(`document.querySelector('.service .line').getAttribute('d').split('L').length > 1`)
	f.with(func() { f.services[0].Ended["no-backend"] += 40 })
	p.until(`document.querySelector('.service dd.bad')`)
	figures := p.text(".service .figures")
	if strings.Contains(figures, "NaN") || strings.Contains(figures, "undefined") {
		t.Errorf("figures %q", figures)
	}
}

func hostileTextStaysText(t *testing.T, p *tab) {
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	services := small()
	services[0].Name, services[0].Backends[0].Name, services[0].Backends[0].Reason = evil+"s", evil+"b", evil
	services[1].Listen[0], services[1].Balance = evil, evil
	f := newFake(t, services)
	f.reload.Error, f.notReady = evil, evil
	p.open(f)
	f.with(func() {
		f.tell(api.Event{Kind: evil, Service: evil + "s", Backend: evil, Text: evil, Who: evil, From: evil, To: evil, Source: evil})
	})
	p.until(`document.querySelector('#events li')`)
	eval[bool](p, `(document.querySelector('.group button:nth-child(2)').click(), true)`)
	p.until(`document.querySelector('#ask').open`)
	if n := eval[int](p, `document.querySelectorAll('img, body script').length`); n != 0 {
		t.Errorf("%d elements were made of text", n)
	}
	if title := p.text("#ask-title"); !strings.Contains(title, evil) {
		t.Errorf("the text is not shown as it is: %q", title)
	}
	p.click("#ask-yes")
	p.until(`document.querySelector('#notice-text').textContent.includes('is now set to drain')`)
	if c := f.changes(); len(c) != 1 || c[0].path != "/api/v1/services/"+evil+"s/backends/"+evil+"b/admin" {
		t.Errorf("asked for %q", c)
	}
}

func stripKnowsThePast(t *testing.T, p *tab) {
	f := newFake(t, small())
	for _, step := range []struct {
		ago            time.Duration
		from, to, name string
	}{
		{8 * time.Minute, "up", "down", "primary"}, {6 * time.Minute, "up", "ejected", "standby"},
		{5 * time.Minute, "down", "up", "primary"}, {4 * time.Minute, "ejected", "up", "standby"},
	} {
		f.tell(api.Event{Kind: "transition", Service: "postgres", Backend: step.name, From: step.from, To: step.to})
		f.events[len(f.events)-1].Time = time.Now().Add(-step.ago)
	}
	p.open(f)
	p.until(`document.querySelectorAll('.strip title')[1].textContent === 'last 10 minutes: no backend was up for 1 min, some backends were out for 3 min'`)
	if got := eval[string](p, `document.querySelector('.strip title').textContent`); strings.Contains(got, "out") {
		t.Errorf("the outage of another service is in the strip: %q", got)
	}
}

func stripLeavesOutTheUnknown(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.tell(api.Event{Kind: "admin", Service: "web", Text: "the oldest that is kept"})
	f.events[0].Time = time.Now().Add(-4 * time.Minute)
	f.lost = true
	f.hold = make(chan struct{})
	p.open(f)
	p.until(`document.querySelector('.strip .unknown').getAttribute('d') === 'M0 0H600V8H0Z'`)
	close(f.hold)
	// 360 of the 600 seconds, give or take the steps in which it moves.
	p.until(`Math.abs(parseFloat(document.querySelector('.strip .unknown').getAttribute('d').split('H')[1]) - 360) <= 6`)
	p.until(`!document.querySelector('#timeline-lost').hidden`)
}

func latenciesHaveUnits(t *testing.T, p *tab) {
	var backends []api.Backend
	for name, d := range map[string]time.Duration{
		"–": 0, "7 µs": 7 * time.Microsecond, "1.0 ms": time.Millisecond, "12 ms": 12345 * time.Microsecond, "1.50 s": 1500 * time.Millisecond, "90.00 s": 90 * time.Second,
	} {
		b := up(name, "10.0.0.1:1", 1)
		b.ConnectP99 = api.Duration(d)
		backends = append(backends, b)
	}
	p.open(newFake(t, []api.Service{service("s", "127.0.0.1:1", "random", backends...)}))
	p.until(`document.querySelectorAll('tbody tr').length === 6`)
	wrong := eval[[]string](p, `[...document.querySelectorAll('tbody tr')].map((r) => [r.querySelector('.name').textContent, r.querySelector('.col-p99').textContent]).filter(([a, b]) => a !== b).map(String)`)
	if len(wrong) > 0 {
		t.Errorf("wrong: %q", wrong)
	}
}

func servicesComeAndGo(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.with(func() {
		f.services = append(f.services[1:], service("mail", "127.0.0.1:25", "random", up("m", "10.9.9.9:25", 1)))
		f.tell(api.Event{Kind: "reload", Text: "applied"})
	})
	p.until(`[...document.querySelectorAll('.service .toggle')].map((b) => b.textContent).join(' ') === 'postgres web mail'`)
	p.until(`[...document.querySelectorAll('#timeline-service option')].map((o) => o.textContent).join(' ') === 'all services postgres web mail'`)
}

func nullsAreEmpty(t *testing.T, p *tab) {
	f := newFake(t, []api.Service{{Name: "bare"}})
	p.open(f)
	p.until(`document.querySelector('.service .figures').innerText.includes('0 / 0')`)
	f.with(func() {
		f.services = nil
		f.tell(api.Event{Kind: "reload", Text: "applied"})
	})
	p.until(`document.querySelector('#services').innerText === 'There are no services.'`)
}

func anotherProcess(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.die("redis", "b1", "of the first process")
	p.until(`document.querySelector('#events').innerText.includes('of the first process')`)
	f.with(func() {
		f.started, f.services, f.pageToken, f.version = time.Now(), small(), "token-of-the-next", "1.3.0"
		f.events = []api.Event{{ID: 1, Time: time.Now(), Kind: "lifecycle", Text: "of the second"}}
	})
	p.until(`document.querySelector('#events').innerText.includes('of the second')`)
	if strings.Contains(p.text("#events"), "of the first") {
		t.Error("events of both are mixed")
	}
	p.until(`document.querySelector('#notice-text').textContent.includes('now version 1.3.0')`)
	// The page was served by the first one: it must find the new token itself.
	p.click(button("maint", "b2", "redis"))
	p.click("#ask-yes")
	p.until(row("b2") + `.dataset.state === 'maint'`)
}
