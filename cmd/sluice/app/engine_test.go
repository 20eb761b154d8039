package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
)

func TestAnEngineIsMadeByItsName(t *testing.T) {
	for name, want := range map[Engine]Engine{Default: defaultEngine, Portable: Portable, Loops: Loops} {
		e, err := name.make(1)
		if errors.Is(err, errors.ErrUnsupported) && name == Loops && defaultEngine != Loops {
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if _, portable := e.(*relay.Portable); portable != (want == Portable) {
			t.Errorf("%q made a %T", name, e)
		}
		e.Close()
	}
}

func TestAnUnknownEngineIsRefused(t *testing.T) {
	file := parse(t, "services: [{name: web, listen: '127.0.0.1:0', backends: ['127.0.0.1:1']}]")
	if _, err := New(file, Options{Engine: "steam"}); err == nil || !strings.Contains(err.Error(), `"steam"`) {
		t.Errorf("error %v", err)
	}
}

func TestEveryEngineServes(t *testing.T) {
	for _, engine := range []Engine{Portable, defaultEngine} {
		t.Run(string(engine), func(t *testing.T) {
			a, _ := startOn(t, engine, "services: [{name: web, listen: '127.0.0.1:0', check: {type: none}, backends: ['"+greeter(t, "hello")+"']}]")
			if got, err := ask(t, a.Addresses("web")[0]); got != "hello" {
				t.Errorf("answer %q, %v", got, err)
			}
		})
	}
}
