package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func connectionTests() []browserTest {
	return []browserTest{
		{"a token is asked for, tried, and kept", tokenIsAskedFor},
		{"a token that is cancelled can be entered later", tokenLater},
		{"a token that is needed during a change is asked for", tokenDuringChange},
		{"a process that is gone is said, and its numbers are greyed", goneAndBack},
		{"a process that does not answer is said", silentAndBack},
		{"events of the time without a connection come afterwards", eventsAreCaughtUp},
		{"nothing can be changed without a connection", noChangeWhileGone},
	}
}

func tokenIsAskedFor(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.token = "secret"
	p.do(chromedp.Navigate(f.srv.URL))
	p.until(`document.querySelector('#login').open && document.activeElement.id === 'login-token'`)
	p.press("wrong\r")
	p.until(`document.querySelector('#login').open && !document.querySelector('#login-wrong').hidden`)
	p.press("secret\r")
	p.until(`document.querySelector('.service') && !document.querySelector('#login').open`)
	f.die("redis", "b1", "streamed with the token")
	p.until(`document.querySelector('#events').innerText.includes('streamed with the token')`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector('.service')`)
	if eval[bool](p, `document.querySelector('#login').open`) {
		t.Error("asked again after a reload")
	}
}

func tokenLater(t *testing.T, p *tab) {
	f := newFake(t, small())
	f.token = "secret"
	p.do(chromedp.Navigate(f.srv.URL))
	p.until(`document.querySelector('#login').open`)
	p.click("#login-no")
	p.until(`!document.querySelector('#login').open`)
	p.click("#auth-again")
	p.until(`document.querySelector('#login').open`)
	if !eval[bool](p, `document.querySelector('#login-wrong').hidden`) {
		t.Error("a token that was never entered is called wrong")
	}
	p.press("secret\r")
	p.until(`document.querySelector('.service') && document.querySelector('#auth').hidden`)
}

func tokenDuringChange(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	p.click(button("drain", "b1", "redis"))
	f.with(func() { f.token = "new" })
	p.until(`document.querySelector('#login').open`)
	if eval[bool](p, `document.querySelector('#ask').open`) {
		t.Error("two dialogs lie over each other")
	}
	p.press("new\r")
	p.until(`document.querySelector('#auth').hidden`)
	p.click(button("drain", "b1", "redis"))
	p.click("#ask-yes")
	p.until(row("b1") + `.dataset.state === 'drain'`)
}

const lost = `!document.querySelector('#loss').hidden && document.body.classList.contains('stale')`

func goneAndBack(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.hang(closes)
	p.until(lost)
	if got := p.text("#loss"); !strings.Contains(got, "sluice does not answer") || !strings.Contains(got, "old") {
		t.Errorf("it says %q", got)
	}
	if opacity := eval[string](p, `getComputedStyle(document.querySelector('.columns')).opacity`); opacity == "1" {
		t.Error("old numbers look new")
	}
	f.with(func() { f.mode, f.services[0].Backends[0].Weight = works, 99 })
	p.until(`document.querySelector('#loss').hidden && !document.body.classList.contains('stale')`)
	p.until(row("b1") + `.innerText.includes('99')`)
}

func silentAndBack(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.hang(silent)
	p.until(lost)
	f.hang(works)
	p.until(`document.querySelector('#loss').hidden`)
}

func eventsAreCaughtUp(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.die("redis", "b1", "before")
	p.until(`document.querySelector('#events').innerText.includes('before')`)
	f.hang(closes)
	p.until(lost)
	f.die("redis", "b2", "meanwhile")
	f.hang(works)
	p.until(`document.querySelector('#events').innerText.includes('meanwhile')`)
	f.with(func() { f.tell(api.Event{Kind: "admin", Text: "after"}) })
	p.until(`document.querySelector('#events').innerText.includes('after')`)
	if n := eval[int](p, `document.querySelectorAll('#events li').length`); n != 3 {
		t.Errorf("%d events, want each of the 3 once", n)
	}
}

func noChangeWhileGone(t *testing.T, p *tab) {
	f := newFake(t, small())
	p.open(f)
	f.hang(closes)
	p.until(lost)
	p.click(button("drain", "b1", "redis"))
	p.click("#ask-yes")
	p.until(`document.querySelector('#notice-text').textContent === 'Nothing was changed: there is no connection.'`)
	if got := f.changes(); len(got) > 0 {
		t.Errorf("asked for %q", got)
	}
}
