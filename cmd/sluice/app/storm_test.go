package app

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// Everybody changes something while clients come; none of them is lost, and what is left is
// what the configuration says.
func TestChangesOfManyAtOnceLoseNoClient(t *testing.T) {
	if testing.Short() {
		return
	}
	for _, engine := range []Engine{Default, Portable} {
		t.Run(string(engine.Resolved()), func(t *testing.T) { storm(t, engine) })
	}
}

func storm(t *testing.T, engine Engine) {
	always, a, b, c := talk(t, "always"), talk(t, "a"), talk(t, "b"), talk(t, "c")
	address := fixed(t)
	files := []string{
		web(address, always.yaml(), a.yaml(), b.yaml()),
		webWith(", balance: maglev, timeouts: {user: 9s}", address, b.yaml(), always.yaml("weight: 3")),
		strings.Replace(web(address, always.yaml(), c.yaml()), "type: none", "interval: 1h", 1),
		webWith(", drain_timeout: 0s", address, a.yaml(), b.yaml(), c.yaml(), always.yaml()) + second("other", a, ""),
	}
	for i := range files { // sessions of removed backends end by themselves
		files[i] = strings.Replace(files[i], "{name: web,", "{name: web, passive: {failures: 0}, ", 1)
	}
	r := runWith(t, files[0], Options{Engine: engine})
	stop := connects(t, address)
	var people sync.WaitGroup
	changes := []func(i int) error{
		func(i int) error {
			r.write(files[i%len(files)])
			_, err := r.Reload(someone)
			return err
		},
		func(i int) error {
			_, err := r.SetAdmin(someone, "web", "abc"[i%3:i%3+1], []string{api.Drain, api.Maint, api.Ready}[rand.N(3)])
			return err
		},
		func(i int) error { _, err := r.SetWeight(someone, "web", "abc"[i%3:i%3+1], rand.N(3)); return err },
		func(i int) error {
			_, err := r.Add(someone, "web", api.NewBackend{Address: c.address, Name: fmt.Sprint("added", i%3)})
			return err
		},
		func(i int) error {
			hour := time.Hour
			_, err := r.Remove(someone, "web", fmt.Sprint("added", i%3), &hour)
			return err
		},
		func(int) error {
			_, err := r.Kill(someone, api.Filter{Service: "web", MinAge: api.Duration(time.Hour)})
			return err
		},
		func(int) error { return r.Pause(someone, "web", time.Millisecond) },
		func(int) error {
			r.Services()
			r.Status()
			r.Config()
			_, err := r.Sessions(api.Filter{}, "", 0)
			return err
		},
	}
	for _, change := range changes {
		people.Go(func() {
			for i := range 25 {
				f := api.AsFault(orNone(change(i)))
				if f.Code != "" && f.Code != api.CodeNotFound && f.Code != api.CodeConflict {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	people.Wait()
	stop()
	agree(t, r.App)
	r.becomes(files[0])
	agree(t, r.App)
	visit(t, address).lives()
}

// orNone is err as AsFault wants it: no error is no fault.
func orNone(err error) error {
	if err == nil {
		return &api.ControlError{}
	}
	return err
}

func TestAHundredReloadsLeaveNothingBehind(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	address := fixed(t)
	check := func(interval string) string {
		return "services: [{name: web, listen: '" + address + "', check: {type: tcp, interval: " + interval + "}, backends: [" + a.yaml() + ", " + b.yaml() + "]}]"
	}
	files := []string{
		check("1h"), check("2h"),
		named("other", address, a.yaml()),
		webWith(", timeouts: {user: 7s}", address, b.yaml()),
		web(address, a.yaml(), b.yaml()) + second("second", a, ""),
	}
	r := run(t, files[0])
	for range 2 {
		for _, f := range files {
			r.becomes(f)
		}
	}
	count := func() (goroutines, descriptors int) {
		open, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine(), len(open)
	}
	settled := func() bool { return len(r.Services()) == 2 }
	eventually(t, "removed services are gone", settled)
	goroutines, descriptors := count()
	for range 100 / len(files) {
		for _, f := range files {
			r.becomes(f)
		}
	}
	eventually(t, "removed services are gone", settled)
	eventually(t, "as many goroutines and descriptors as before", func() bool {
		g, d := count()
		return g <= goroutines+2 && d <= descriptors+2
	})
	if st := r.Status().Reload; st.Count != 110 || st.Refused != 0 {
		t.Errorf("%+v", st)
	}
}
