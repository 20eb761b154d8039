package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func filterTests() []browserTest {
	return []browserTest{
		{"the filter finds services, backends, addresses and states", filterFinds},
		{"only problems are shown when asked", onlyProblems},
		{"services fold and unfold", foldAndUnfold},
		{"the timeline can be kept to one service", timelineOfOneService},
		{"the timeline keeps 500 and shows them on demand", timelineIsBounded},
	}
}

// shown is what the filters let through: services, and their backends.
const shown = `[...document.querySelectorAll('.service')].map((s) => s.querySelector('.toggle').textContent + ':' +
	[...s.querySelectorAll('tbody .name')].map((n) => n.textContent).join(',')).join(' ')`

// filter types a text in place of the one before.
func (p *tab) filter(text string) {
	p.t.Helper()
	eval[bool](p, `(document.querySelector('#filter').select(), true)`)
	p.press(text)
}

func filterFinds(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.die("web", "10.0.2.2:80", "connection refused")
	p.open(f)
	for text, want := range map[string]string{
		"redis": "redis:b1,b2,b3", "STANDBY": "postgres:standby", "10.0.0.2": "redis:b2", "down": "web:10.0.2.2:80",
		":8080": "web:10.0.2.1:80,10.0.2.2:80,10.0.2.3:80", "refused": "web:10.0.2.2:80",
	} {
		p.filter(text)
		p.until(fmt.Sprintf(`%s === %q`, shown, want))
	}
	p.filter("nothing like it")
	p.until(shown + ` === ''`)
	if got := p.text("#services"); got != "Nothing matches." {
		t.Errorf("an empty list says %q", got)
	}
}

func onlyProblems(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click("#problems")
	p.until(shown + ` === ''`)
	f.die("redis", "b2", "gone")
	p.until(shown + ` === 'redis:b2'`)
	p.until(`document.querySelector('#shown').textContent === '1 of 8 backends'`)
	p.click("#problems")
	p.until(`document.querySelectorAll('.service').length === 3`)
}

func foldAndUnfold(t *testing.T, p *tab) {
	p.open(newFake(t, small()))
	open := `[...document.querySelectorAll('.toggle')].map((b) => b.getAttribute('aria-expanded')).join(' ')`
	p.click("#fold")
	p.until(open + ` === 'false false false'`)
	p.click(".service .toggle")
	p.until(open + ` === 'true false false'`)
	if eval[bool](p, `document.querySelectorAll('.body')[1].checkVisibility()`) {
		t.Error("a folded service shows its backends")
	}
	p.click("#unfold")
	p.until(open + ` === 'true true true'`)
}

func timelineOfOneService(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.die("redis", "b1", "of redis")
	f.die("web", "10.0.2.1:80", "of web")
	p.until(`document.querySelectorAll('#events li').length === 2`)
	p.do(chromedp.SendKeys(chromedp.CSS("#timeline-service"), "redis"))
	p.until(`document.querySelectorAll('#events li').length === 1 && document.querySelector('#events').innerText.includes('of redis')`)
	f.die("web", "10.0.2.2:80", "of web too")
	f.die("redis", "b2", "of redis too")
	p.until(`document.querySelectorAll('#events li').length === 2`)
	if got := p.text("#events"); strings.Contains(got, "of web") || strings.Index(got, "of redis too") > strings.Index(got, "b1") {
		t.Errorf("events %q", got)
	}
}

func timelineIsBounded(t *testing.T, p *tab) {
	f := newFake(t, small())
	for i := range 700 {
		f.tell(api.Event{Kind: "admin", Service: "redis", Text: fmt.Sprintf("event %d", i)})
		f.tell(api.Event{Kind: "session", Service: "redis", Text: "a session failed"})
	}
	p.open(f)
	p.until(`document.querySelectorAll('#events li').length === 40 && document.querySelector('#events li').innerText.includes('event 699')`)
	p.click("#timeline-more")
	p.until(`document.querySelectorAll('#events li').length === 500`)
	f.with(func() { f.tell(api.Event{Kind: "admin", Text: "one more"}) })
	p.until(`document.querySelector('#events li').innerText.includes('one more')`)
	if n := eval[int](p, `document.querySelectorAll('#events li').length`); n != 500 {
		t.Errorf("%d events are kept", n)
	}
}
