package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is where Debian puts it. A machine without it fails the tests of the page.
const chromium = "/usr/bin/chromium"

// wait bounds one wait for the page; the machine may be busy.
const wait = 30 * time.Second

// TestThePageInChromium runs all that needs a browser in one, each in a profile of its own.
func TestThePageInChromium(t *testing.T) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting %s: %v", chromium, err)
	}
	for _, group := range [][]browserTest{showTests(), changeTests(), filterTests(), connectionTests(), layoutTests(), workTests()} {
		for _, test := range group {
			t.Run(test.name, func(t *testing.T) { test.run(t, newTab(t, browser)) })
		}
	}
	if err := chromedp.Cancel(browser); err != nil {
		t.Errorf("closing the browser: %v", err)
	}
}

// browserTest is named after the behaviour.
type browserTest struct {
	name string
	run  func(t *testing.T, p *tab)
}

// tab is an open page. What it complains of fails the test at its end.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &tab{t: t}
	t.Cleanup(func() {
		cancel()
		for _, c := range p.forgive() {
			t.Errorf("the browser complains: %s", c)
		}
	})
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 2*wait)
	t.Cleanup(stop)
	p.ctx = ctx
	call(p, log.Enable, cdp.Empty{})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript})
	return p
}

// call sends a command of the protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}

// watchScript reports violations of the policy, and counts what changes in the document.
const watchScript = `
document.addEventListener('securitypolicyviolation', (e) => console.error('policy violated: ' + e.violatedDirective + ' ' + e.sample));
window.mutations = 0;
new MutationObserver((list) => { for (const m of list) window.mutations += Math.max(1, m.addedNodes.length + m.removedNodes.length); })
	.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
`

// listen collects errors. Answers other than 2xx are left out: tests ask for them.
func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.complaints = append(p.complaints, fmt.Sprintf("%s: %s", e.Type, e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			p.complaints = append(p.complaints, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

// forgive drops complaints, and returns them.
func (p *tab) forgive() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.complaints
	p.complaints = nil
	return all
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// open loads the page of f and waits for its services.
func (p *tab) open(f *fake) {
	p.t.Helper()
	p.do(chromedp.Navigate(f.srv.URL))
	p.until(`document.querySelector('.service')`)
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

func (p *tab) media(features ...string) {
	p.t.Helper()
	var list []*emulation.MediaFeature
	for i := 0; i+1 < len(features); i += 2 {
		list = append(list, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
}

// until waits in the page for a condition.
func (p *tab) until(condition string) {
	p.t.Helper()
	script := fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		const look = () => { if (%s) done(true); else if (Date.now() > end) done(false); else setTimeout(look, 20); };
		look();
	})`, wait.Milliseconds(), condition)
	met, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", condition, err)
	}
	if !met {
		p.t.Fatalf("never: %s; the page says:\n%s", condition, p.text("body"))
	}
}

// text is what can be read in the first element that a selector finds.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`(document.querySelector(%q) || {innerText: 'no such element'}).innerText`, selector))
}

// click waits until the middle of an element is in reach of a pointer and clicks it, both
// in one turn of the page: a pointer that is sent there may find that all has moved.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e) return false;
		e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect();
		if (!e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) return false;
		e.focus();
		e.click();
		return true;
	})()`, selector))
}

func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// button is the selector of a backend's button.
func button(state, backend, service string) string {
	return fmt.Sprintf(`button[aria-label="%s: %s of %s"]`, state, backend, service)
}

// row is a script's expression for a backend's row.
func row(backend string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('tbody tr')].find((r) => r.querySelector('.name').textContent === %q)`, backend)
}

// awaitComplaints waits for complaints that have these words, and forgives all.
func (p *tab) awaitComplaints(words ...string) {
	p.t.Helper()
	late := time.After(wait)
	for {
		p.mu.Lock()
		all := strings.Join(p.complaints, " ")
		p.mu.Unlock()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) }) {
			break
		}
		select {
		case <-late:
			p.t.Fatalf("noticed only %q", all)
		case <-time.After(20 * time.Millisecond):
		}
	}
	eval[bool](p, "true") // whatever else was said is here then
	p.forgive()
}
