package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func changeTests() []browserTest {
	return []browserTest{
		{"a drain is asked for once it is confirmed", drainIsConfirmed},
		{"a question that is cancelled changes nothing", cancelChangesNothing},
		{"the question warns before the last usable backend goes", lastBackendIsWarnedOf},
		{"an open question follows what happens meanwhile", questionStaysTrue},
		{"a backend is made ready again", readyAgain},
		{"the state that it has cannot be asked for", sameStateAsksNothing},
		{"a service is paused for the chosen time, and resumed", pauseAndResume},
		{"a change of what somebody else changed is not made", staleChange},
		{"a change that is refused tells why", refusedChange},
		{"a change without an answer is said to be unknown", unansweredChange},
		{"a drain needs nothing but the keyboard", keyboardDrain},
	}
}

func drainIsConfirmed(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	if got := p.text("#ask"); !strings.Contains(got, "12 sessions go on.") || !strings.Contains(got, "2 of 3 backends stay usable.") {
		t.Errorf("the question says %q", got)
	}
	if len(f.changes()) > 0 {
		t.Fatal("asked before it was confirmed")
	}
	p.click("#ask-yes")
	p.until(row("b1") + `.dataset.state === 'drain'`)
	p.until(`document.querySelector('#notice-text').textContent === 'b1 of redis is now set to drain.'`)
	want := change{"PUT", "/api/v1/services/redis/backends/b1/admin", `{"state":"drain"}`, `"7"`, testToken, "application/json"}
	if got := f.changes(); len(got) != 1 || got[0] != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	p.until(`document.querySelector('` + button("drain", "b1", "redis") + `').getAttribute('aria-pressed') === 'true'`)
	p.click("#notice-close")
	p.until(`document.querySelector('#notice').hidden`)
}

func cancelChangesNothing(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("maint", "b1", "redis"))
	p.click("#ask-no")
	p.until(`!document.querySelector('#ask').open`)
	p.click(button("maint", "b1", "redis"))
	p.press(kb.Escape)
	p.until(`!document.querySelector('#ask').open`)
	// A later change shows that the earlier ones are not still to come.
	p.click(button("drain", "b2", "redis"))
	p.click("#ask-yes")
	p.until(row("b2") + `.dataset.state === 'drain'`)
	if got := f.changes(); len(got) != 1 {
		t.Errorf("asked for %q", got)
	}
}

func lastBackendIsWarnedOf(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.die("postgres", "standby", "gone")
	p.open(f)
	p.click(button("maint", "primary", "postgres"))
	got := p.text("#ask")
	for _, want := range []string{"Set primary of postgres to maint?", "is not probed", "41 sessions go on.", "0 of 2 backends stay usable.", "No backend of postgres will be usable"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func questionStaysTrue(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	f.die("redis", "b2", "meanwhile")
	p.until(`document.querySelector('#ask').innerText.includes('1 of 3 backends stays usable.')`)
	f.die("redis", "b3", "meanwhile too")
	p.until(`document.querySelector('#ask-warning').checkVisibility()`)
	f.with(func() {
		f.services[0].Backends = f.services[0].Backends[1:]
		f.tell(api.Event{Kind: "admin", Service: "redis", Backend: "b1", Text: "removed"})
	})
	p.until(`!document.querySelector('#ask').open`)
	if got := f.changes(); len(got) > 0 {
		t.Errorf("asked for %q", got)
	}
}

func readyAgain(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.apply("redis", "b1", "", []byte(`{"state":"drain"}`))
	p.open(f)
	p.click(button("ready", "b1", "redis"))
	if got := p.text("#ask"); !strings.Contains(got, "at once") || !strings.Contains(got, "2 of 3 backends are usable now.") {
		t.Errorf("the question says %q", got)
	}
	p.click("#ask-yes")
	p.until(row("b1") + `.dataset.state === 'up'`)
}

func sameStateAsksNothing(t *testing.T, p *tab) {
	services := small()
	services[0].Backends[1].Leaving = true
	p.open(newFake(t, services))
	p.click(button("ready", "b1", "redis"))
	p.click(button("drain", "b2", "redis"))
	if eval[bool](p, `document.querySelector('#ask').open`) {
		t.Error("there is a question about nothing")
	}
}

func pauseAndResume(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(`button[aria-label="Pause redis"]`)
	p.do(chromedp.SetValue(chromedp.CSS("#ask-for"), "1m"))
	p.click("#ask-yes")
	p.until(`document.querySelector('.service .badge').innerText === 'paused, 1 min left'`)
	f.with(func() {
		f.services[0].Held = 4
		f.tell(api.Event{Kind: "lifecycle", Text: "clients wait"})
	})
	p.until(`document.querySelector('.service .figures .warn')`)
	p.click(`button[aria-label="Resume redis"]`)
	if got := p.text("#ask"); !strings.Contains(got, "4 clients wait now") {
		t.Errorf("the question says %q", got)
	}
	p.click("#ask-yes")
	p.until(`document.querySelector('.service .badge').hidden`)
	got := f.changes()
	if len(got) != 2 || got[0].path != "/api/v1/services/redis/pause" || got[0].body != `{"for":"1m"}` ||
		got[1].path != "/api/v1/services/redis/resume" || got[1].body != "" || got[1].ifMatch != `"8"` {
		t.Errorf("asked for %q", got)
	}
}

func staleChange(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	f.with(func() {
		f.revision++
		f.services[0].Backends[0].Weight = 77
	})
	p.click("#ask-yes")
	p.until(`document.querySelector('#notice-text').textContent.includes('somebody else made a change')`)
	p.until(row("b1") + `.innerText.includes('77')`)
	if state := eval[string](p, row("b1")+`.dataset.state`); state != "up" {
		t.Errorf("it is %s all the same", state)
	}
	p.click(button("drain", "b1", "redis"))
	p.click("#ask-yes")
	p.until(row("b1") + `.dataset.state === 'drain'`)
}

func refusedChange(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.refuse = &api.Fault{Code: api.CodeInternal, Message: "the pool is on fire"}
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	p.click("#ask-yes")
	p.until(`document.querySelector('#notice-text').textContent === 'Nothing was changed: the pool is on fire'`)
}

func unansweredChange(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	f.with(func() { f.mode = closes })
	p.click("#ask-yes")
	p.until(`/It is not known|there is no connection/.test(document.querySelector('#notice-text').textContent)`)
}

func keyboardDrain(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.until(row("b1"))
	for range 40 {
		p.press(kb.Tab)
		if eval[string](p, `document.activeElement.getAttribute('aria-label') || ''`) == "drain: b1 of redis" {
			break
		}
	}
	if outline := eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("focus is not to be seen: outline %q", outline)
	}
	p.press(kb.Enter)
	p.until(`document.querySelector('#ask').open && document.activeElement.id === 'ask-no'`)
	p.press(kb.Tab, kb.Enter)
	p.until(row("b1") + `.dataset.state === 'drain'`)
	p.until(`document.activeElement.getAttribute('aria-label') === 'drain: b1 of redis'`)
}
