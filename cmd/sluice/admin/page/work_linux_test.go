package page

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func workTests() []browserTest {
	return []browserTest{
		{"of 1,000 backends in 50 services only what can be seen is made", manyServices},
		{"of 1,000 backends in one service only the first are made", oneLargeService},
		{"an answer that says nothing new changes next to nothing", quietAnswer},
	}
}

// elements counts what the page made.
const elements = `document.querySelectorAll('*').length`

// changed returns how much changes in the document when a backend dies.
func (p *tab) changed(f *fake, service, backend string) int {
	p.t.Helper()
	eval[int](p, `(window.mutations = 0)`)
	f.die(service, backend, "counted")
	p.until(`document.querySelector('#events').innerText.includes('counted')`)
	p.until(`document.title.startsWith('(1)')`)
	return eval[int](p, `window.mutations`)
}

func manyServices(t *testing.T, p *tab) {
	f := newFake(t, fleet(50, 20))
	p.open(f)
	p.until(`document.querySelectorAll('.service').length === 50`)
	if n := eval[int](p, elements); n > 3500 {
		t.Errorf("%d elements at first", n)
	}
	if n := eval[int](p, `window.mutations`); n > 10000 {
		t.Errorf("%d changes at first", n)
	}
	if n := p.changed(f, "service-30", "b30-7"); n > 150 {
		t.Errorf("%d changes for one backend", n)
	}
	p.click("#problems")
	p.until(row("b30-7") + `.dataset.state === 'down'`)
}

func oneLargeService(t *testing.T, p *tab) {
	f := newFake(t, fleet(1, 1000))
	p.open(f)
	p.until(`document.querySelectorAll('tbody tr').length === 50`)
	if n := eval[int](p, elements); n > 50*35+400 {
		t.Errorf("%d elements at first", n)
	}
	if n := p.changed(f, "service-00", "b0-7"); n > 150 {
		t.Errorf("%d changes for one backend", n)
	}
	eval[int](p, `(window.mutations = 0)`)
	f.with(func() {
		for i := range f.services[0].Backends {
			f.services[0].Backends[i].Sessions += 1000
		}
		f.tell(api.Event{Kind: "lifecycle", Text: "all of them"})
	})
	p.until(row("b0-0") + `.innerText.includes('1,000')`)
	if n := eval[int](p, `window.mutations`); n > 50*6+100 {
		t.Errorf("%d changes for all backends", n)
	}
	p.click(".more")
	p.until(`document.querySelectorAll('tbody tr').length === 250`)
}

func quietAnswer(t *testing.T, p *tab) {
	f := newFake(t, fleet(1, 50))
	p.open(f)
	p.until(`document.querySelectorAll('tbody tr').length === 50`)
	p.until(`document.querySelector('.line').getAttribute('d').split('L').length > 1`)
	eval[int](p, `(window.mutations = 0)`)
	p.until(`document.querySelector('.line').getAttribute('d').split('L').length > 3`)
	if n := eval[int](p, `window.mutations`); n > 80 {
		t.Errorf("%d changes in two answers without news", n)
	}
}
