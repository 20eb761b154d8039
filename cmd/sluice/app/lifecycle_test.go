package app

import (
	"context"
	"net"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestAnAppIsReadyWhenEachFirstProbeHasEnded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r := run(t, "services: [{name: web, listen: '"+anyPort+"', check: {type: send-expect, expect: x, interval: 1h, timeout: 1h}, backends: ['"+silent.Addr().String()+"']}]")
	if ok, why := r.Ready(); ok || why != "starting: the first round of probes has not ended" {
		t.Errorf("ready %v: %s", ok, why)
	}
	if st := r.Status(); st.Ready || st.NotReady == "" {
		t.Errorf("%+v", st)
	}
	c, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	eventually(t, "it is ready", func() bool { ok, _ := r.Ready(); return ok })
	if all := r.Events(0, "").Events; all[len(all)-1].Kind != "lifecycle" {
		t.Errorf("%+v", all)
	}
	r.NotReady()
	if ok, why := r.Ready(); ok || why != "draining" {
		t.Errorf("ready %v: %s", ok, why)
	}
}

// A reload that starts probes anew does not have the first round end early.
func TestAReloadDoesNotMakeAnAppReadyBeforeItsProbesHaveEnded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	file := func(rise string) string {
		return "services: [{name: web, listen: '" + anyPort + "', check: {type: send-expect, expect: x, interval: 1h, timeout: 1h, rise: " + rise + "}, backends: ['" + silent.Addr().String() + "']}]"
	}
	r := run(t, file("1"))
	first, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	r.becomes(file("2"))
	second, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := r.Ready(); ok {
		t.Error("it is ready while its first probe is under way")
	}
	second.Close()
	eventually(t, "it is ready", func() bool { ok, _ := r.Ready(); return ok })
}

func TestWithoutDescriptorsAnAppIsNotReady(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	eventually(t, "it is ready", func() bool { ok, _ := r.Ready(); return ok })
	if r.budget.Limit() == 0 {
		t.Log("there is no limit here")
		return
	}
	r.budget.Reserve(r.budget.Limit()) // there is always room for one
	visit(t, r.listen("web"))
	if ok, why := r.Ready(); ok || why != "no descriptor is left for one more session" {
		t.Errorf("ready %v: %s", ok, why)
	}
}

func TestChangesWaitForTheStart(t *testing.T) {
	a := talk(t, "a")
	r := prepare(t, web(anyPort, a.yaml()), Options{})
	changed := make(chan error, 1)
	go func() {
		_, err := r.SetAdmin(someone, "web", "a", api.Maint)
		changed <- err
	}()
	if v := r.Services(); len(v) != 1 || len(v[0].Listen) != 0 || v[0].Backends[0].Admin != api.Ready {
		t.Errorf("%+v", v)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Error(err)
	}
	r.Drain(t.Context(), nil)
}

func TestAStartThatFailsAnswersWhoWaitsForIt(t *testing.T) {
	a := talk(t, "a")
	r := prepare(t, web("192.0.2.1:1", a.yaml()), Options{})
	changed := make(chan error, 1)
	go func() { changed <- r.Pause(someone, "web", 1) }()
	if err := r.Start(t.Context()); err == nil {
		t.Error("it has started")
	}
	refused(t, <-changed, api.CodeBusy, "draining")
	if n := r.Drain(t.Context(), nil); n != 0 {
		t.Errorf("%d sessions were reset", n)
	}
	r.Discard()
}

func TestADrainIsOnce(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	visit(t, r.listen("web"))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	results := make(chan int, 3)
	for range 3 {
		go func() { results <- r.Drain(done, nil) }()
	}
	sum := 0
	for range 3 {
		sum += <-results
	}
	if again := r.Drain(done, nil); sum != 1 || again != 0 {
		t.Errorf("%d sessions were reset in all, %d by one more drain", sum, again)
	}
}

func TestNothingChangesOnceTheDrainHasBegun(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	r.NotReady()
	for name, change := range map[string]func() error{
		"reload": func() error { _, err := r.Reload(someone); return err },
		"admin":  func() error { _, err := r.SetAdmin(someone, "web", "a", api.Drain); return err },
		"weight": func() error { _, err := r.SetWeight(someone, "web", "a", 2); return err },
		"add":    func() error { _, err := r.Add(someone, "web", api.NewBackend{Address: "127.0.0.1:1"}); return err },
		"remove": func() error { _, err := r.Remove(someone, "web", "a", nil); return err },
		"pause":  func() error { return r.Pause(someone, "web", 1) },
		"resume": func() error { _, err := r.Resume(someone, "web"); return err },
	} {
		t.Run(name, func(t *testing.T) { refused(t, change(), api.CodeBusy, "the process is draining") })
	}
	if r.Revision() != 1 {
		t.Errorf("revision %d", r.Revision())
	}
	r.Drain(t.Context(), nil)
}
