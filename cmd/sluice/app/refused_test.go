package app

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// two services, the last of which has more keys.
func two(firstListen, secondListen, backend, more string) string {
	return "services:\n" +
		"  - {name: first, listen: '" + firstListen + "', check: {type: none}, backends: [" + backend + "]}\n" +
		"  - {name: second, listen: '" + secondListen + "', backends: [" + backend + "]" + more + "}\n"
}

// Whatever is wrong, and however late it is found, the process goes on as it was.
func TestAReloadThatIsRefusedChangesNothing(t *testing.T) {
	b, other := talk(t, "b"), talk(t, "other")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const none = ", check: {type: none}"
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct{ text, code, says string }{
		"a fault in the last service":  {two(anyPort, anyPort, other.yaml(), ", balance: best, on_down: x"), api.CodeConfig, "wrong in 2 places"},
		"one fault":                    {two(anyPort, anyPort, other.yaml(), ", balance: best"), api.CodeConfig, "wrong in one place"},
		"a port that is taken":         {two(anyPort, taken.Addr().String(), other.yaml(), none), api.CodeConfig, `service "second": listen ` + taken.Addr().String()},
		"a password that is nowhere":   {two(anyPort, anyPort, other.yaml(), ", check: {type: redis, password: 'file:"+missing+"'}"), api.CodeConfig, "password: stat " + missing},
		"an environment without it":    {two(anyPort, anyPort, other.yaml(), ", check: {type: redis, password: 'env:SLUICE_TEST_UNSET'}"), api.CodeConfig, "SLUICE_TEST_UNSET is not set"},
		"an authority that is nowhere": {two(anyPort, anyPort, other.yaml(), ", check: {type: http, tls: {ca: '"+missing+"'}}"), api.CodeConfig, "wrong in one place"},
		"a socket that was not passed": {two(anyPort, "fd:x", other.yaml(), none), api.CodeConfig, "no socket was passed"},
		"no such folder":               {two(anyPort, "unix:"+missing+"/s", other.yaml(), none), api.CodeConfig, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, two(anyPort, anyPort, b.yaml(), none))
			g := visit(t, r.listen("first"))
			config, services, revision := string(r.Config()), r.Services(), r.Revision()
			addresses := r.Addresses("second")
			r.write(c.text)
			plan, err := r.Reload(someone)
			refused(t, err, c.code, c.says)
			if plan.Applied || plan.Changes != nil {
				t.Errorf("a plan came with the error: %+v", plan)
			}
			if now := string(r.Config()); now != config {
				t.Errorf("the configuration is\n%s", now)
			}
			if r.Revision() != revision || len(r.Services()) != len(services) || r.Addresses("second")[0] != addresses[0] {
				t.Errorf("revision %d was %d, services %+v", r.Revision(), revision, r.Services())
			}
			if b := r.backend("first", "b"); b.Total != 1 || b.Sessions != 1 {
				t.Errorf("counters: %+v", b)
			}
			g.lives()
			for _, s := range []string{"first", "second"} {
				if g := visit(t, r.listen(s)); g.name != "b" {
					t.Errorf("%s is served by %s", s, g.name)
				}
			}
			if n := strings.Count(r.log.String(), "reload refused"); n != 1 {
				t.Errorf("it was logged %d times:\n%s", n, r.log)
			}
			for _, f := range append(api.AsFault(err).Faults, api.AsFault(err).Message) {
				if f = strings.ReplaceAll(f, `"`, `\"`); !strings.Contains(r.log.String(), f) {
					t.Errorf("no %q in the log:\n%s", f, r.log)
				}
			}
			st := r.Status().Reload
			if st.Count != 0 || st.Refused != 1 || st.Time.IsZero() || !strings.Contains(st.Error, api.AsFault(err).Message) {
				t.Errorf("status: %+v", st)
			}
			all := r.Events(0, "").Events
			if !slices.ContainsFunc(all, func(e api.Event) bool { return e.Kind == "reload" && strings.HasPrefix(e.Text, "refused: ") }) {
				t.Errorf("events: %+v", all)
			}
		})
	}
}

func TestAReloadAfterARefusedOneSucceeds(t *testing.T) {
	b := talk(t, "b")
	r := run(t, web(anyPort, b.yaml()))
	r.write("services: [")
	if _, err := r.Reload(someone); err == nil {
		t.Fatal("it was taken")
	}
	r.becomes(web(anyPort, b.yaml("weight: 2")))
	if st := r.Status().Reload; st.Count != 1 || st.Refused != 1 || st.Error != "" {
		t.Errorf("%+v", st)
	}
	r.log.waitFor(t, `msg=reloaded file=`+r.path+` changes="change 1 keys" revision=2 who=test`)
}

func TestWithoutAFileThereIsNothingToReload(t *testing.T) {
	b := talk(t, "b")
	r := run(t, web(anyPort, b.yaml()))
	r.Path = ""
	_, err := r.Reload(someone)
	refused(t, err, api.CodeConflict, "started from flags")
}

func TestAFileThatIsGoneIsAReason(t *testing.T) {
	b := talk(t, "b")
	r := run(t, web(anyPort, b.yaml()))
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	_, err := r.Reload(someone)
	refused(t, err, api.CodeConfig, "no such file")
}

// The file of a Unix socket is shared with the listener that goes on.
func TestARefusedReloadLeavesAUnixSocketWhereItIs(t *testing.T) {
	b := talk(t, "b")
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	r := run(t, web(socket, b.yaml()))
	r.write("services:\n" +
		"  - {name: renamed, listen: '" + socket + "', check: {type: none}, backends: [" + b.yaml() + "]}\n" +
		"  - {name: bad, listen: 'fd:x', check: {type: none}, backends: [" + b.yaml() + "]}\n")
	if _, err := r.Reload(someone); err == nil {
		t.Fatal("it was taken")
	}
	visit(t, socket).lives()
}

// A listener that was closed for one that then could not be opened is back.
func TestARefusedReloadOpensAgainWhatItHadToClose(t *testing.T) {
	b := talk(t, "b")
	address := fixed(t)
	_, port, _ := net.SplitHostPort(address)
	r := run(t, web(address, b.yaml()))
	other, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r.write(web("0.0.0.0:"+port, b.yaml())) // 127.0.0.1 can be given up, 127.0.0.2 is not ours
	_, err = r.Reload(someone)
	refused(t, err, api.CodeConfig, "listen 0.0.0.0:"+port)
	visit(t, address).lives()
	if got := r.Addresses("web"); len(got) != 1 || got[0] != address {
		t.Errorf("it listens on %v", got)
	}
	r.becomes(web(address, b.yaml("weight: 3")))
	visit(t, address).lives()
}
