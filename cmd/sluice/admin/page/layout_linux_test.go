package page

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func layoutTests() []browserTest {
	return []browserTest{
		{"nothing is wider than a narrow screen", narrowFits},
		{"nothing is wider than any usual screen", widthsFit},
		{"every text can be read, light and dark", contrastSuffices},
		{"every control has a name and every column a header", controlsHaveNames},
		{"nothing moves for those who asked for that", motionIsReduced},
	}
}

// crowded has long names, states and events, as a bad day has.
func crowded(t *testing.T) *fake {
	services := small()
	services[0].Name = "a-service-with-a-very-long-name-that-somebody-generated-from-a-template"
	services[0].Listen = []string{"[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535", "unix:/run/sluice/with/a/long/path/to/a.sock", "10.0.0.1:1"}
	services[0].Backends[0].Name = "backend-0123456789abcdef0123456789abcdef.example.internal"
	services[0].Backends[0].Sessions = 1234567
	services[0].Sessions = 1234597
	f := newFake(t, services)
	f.apply("postgres", "standby", "", []byte(`{"state":"maint"}`))
	f.apply("web", "10.0.2.3:80", "", []byte(`{"state":"drain"}`))
	f.apply("web", "", "/pause", []byte(`{"for":"30s"}`))
	f.die("web", "10.0.2.1:80", "connect: dial tcp 10.0.2.1:80: i/o timeout after 1.000s while waiting for the greeting; 3 in a row, the last saw \"-LOADING Redis is loading the dataset in memory\"")
	f.services[2].Backends[1].Ejected, f.services[2].Backends[1].Usable = true, false
	f.reload = api.Reload{Error: "sluice.yaml:12:7: unknown key \"chek\" (did you mean \"check\"?)"}
	f.notReady = "draining"
	return f
}

// overflow lists elements that reach beyond the right edge.
const overflow = `(() => {
	const width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= width) return [];
	return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1)
		.map((e) => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.slice(0, 40)).slice(0, 8);
})()`

func narrowFits(t *testing.T, p *tab) {
	p.size(360, 740)
	p.open(crowded(t))
	p.until(row("standby"))
	if wide := eval[[]string](p, overflow); len(wide) > 0 {
		t.Errorf("wider than the screen: %q", wide)
	}
	if got := eval[string](p, `getComputedStyle(document.querySelector('tbody tr')).display`); got != "grid" {
		t.Errorf("rows are no cards: %s", got)
	}
	p.click(button("ready", "standby", "postgres"))
	if wide := eval[[]string](p, overflow); len(wide) > 0 {
		t.Errorf("with a dialog, wider than the screen: %q", wide)
	}
	if !eval[bool](p, `document.querySelector('#ask').getBoundingClientRect().right <= 360`) {
		t.Error("the dialog is wider than the screen")
	}
}

func widthsFit(t *testing.T, p *tab) {
	p.open(crowded(t))
	p.until(row("standby"))
	for _, width := range []int64{320, 480, 561, 800, 901, 1181, 1280, 1920} {
		p.size(width, 800)
		if wide := eval[[]string](p, overflow); len(wide) > 0 {
			t.Errorf("at %d wider than the screen: %q", width, wide)
		}
	}
}

// faint lists texts whose contrast with what is painted behind them is below 4.5, by the
// formulas of WCAG 2.2 (relative luminance, contrast ratio).
const faint = `(() => {
	const parse = (c) => c.match(/[\d.]+/g).map(Number);
	const lum = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } };
	const found = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest('svg, noscript')) continue;
		const [a, b] = [lum(parse(getComputedStyle(e).color)), lum(ground(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) found.add(ratio.toFixed(2) + ' ' + e.tagName + '.' + e.className + ' ' + walk.currentNode.data.slice(0, 30));
	}
	return [...found];
})()`

func contrastSuffices(t *testing.T, p *tab) {
	f := crowded(t)
	p.open(f)
	p.until(row("standby"))
	p.click(button("drain", "primary", "postgres"))
	grounds := make(map[string]bool)
	for _, scheme := range []string{"light", "dark"} {
		p.media("prefers-color-scheme", scheme)
		grounds[eval[string](p, `getComputedStyle(document.body).backgroundColor`)] = true
		for _, f := range eval[[]string](p, faint) {
			t.Errorf("%s: contrast %s", scheme, f)
		}
	}
	if len(grounds) != 2 {
		t.Errorf("light and dark look the same: %v", grounds)
	}
}

func controlsHaveNames(t *testing.T, p *tab) {
	p.open(crowded(t))
	p.until(row("standby"))
	nameless := eval[[]string](p, `[...document.querySelectorAll('button, input, select')]
		.filter((e) => e.checkVisibility() && !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels[0])))
		.map((e) => e.cloneNode().outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	odd := eval[[]string](p, `[...document.querySelectorAll('table')].filter((t) => t.querySelectorAll('thead th[scope=col]').length !== t.querySelectorAll('tbody tr:first-child > *').length
		|| t.querySelectorAll('tbody th[scope=row]').length !== t.querySelectorAll('tbody tr').length).map((t) => t.innerText)`)
	if len(odd) > 0 {
		t.Errorf("columns or rows without a header: %q", odd)
	}
	if n := eval[int](p, `document.querySelectorAll('[aria-live=polite], [role=alert], [role=status]').length`); n != 3 {
		t.Errorf("%d live regions, want those of changes, of the connection and of outcomes", n)
	}
}

func motionIsReduced(t *testing.T, p *tab) {
	p.media("prefers-reduced-motion", "reduce")
	p.open(newFake(t, small()))
	moving := eval[int](p, `[...document.querySelectorAll('*')].filter((e) => ['', '::after'].some((part) => parseFloat(getComputedStyle(e, part || null).transitionDuration) > 0)).length`)
	if moving > 0 {
		t.Errorf("%d elements move", moving)
	}
}
