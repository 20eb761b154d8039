package ctl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func changes(applied bool) api.Plan {
	return api.Plan{Applied: applied, Changes: []api.Change{
		{Service: "web", Backend: "b4", Action: "add", To: "10.0.0.4:80"},
		{Service: "old", Action: "remove", From: "10.0.0.10:81", Note: "its 5 sessions go on until drain_timeout"},
		{Service: "web", Action: "change", Key: "balance", From: "p2c", To: "maglev"},
		{Action: "change", Key: "log.level", From: "info", To: "debug"},
	}, Moved: []api.Moved{{Service: "web", Balance: "maglev", Share: 0.256, Needed: 0.25}}}
}

const planned = `
4 things would change:
+ add web/b4: 10.0.0.4:80
- remove old: was 10.0.0.10:81
    its 5 sessions go on until drain_timeout
~ change web balance: p2c -> maglev
~ change sluice log.level: info -> debug
web (maglev): 25.6 % of clients move to another backend; 25 % have to, theirs is gone
`

func newFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlanSendsTheFileAndShowsWhatWouldChange(t *testing.T) {
	f := newFake()
	f.plan = changes(false)
	d := newDesk(t, f)
	path := newFile(t, "services: []")
	d.run("plan", "-c", path).want(t, 0, planned, "")
	want := "POST /plan?name=" + strings.ReplaceAll(path, "/", "%2F") + " services: []"
	if got := f.requests(); !slices.Equal(got, []string{want}) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if kind := f.header.Get("Content-Type"); kind != "application/yaml" {
		t.Errorf("content type %q", kind)
	}
	if r := d.run("plan", "-c", path, "--json"); r.status != 0 || !strings.Contains(r.stdout, `"applied": false`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	f.plan = api.Plan{}
	d.run("plan", "-c", path).want(t, 0, "nothing would change\n", "")
}

func TestReloadShowsWhatChanged(t *testing.T) {
	f := newFake()
	f.plan = changes(true)
	d := newDesk(t, f)
	text := strings.NewReplacer("would change", "changed", "clients move", "clients moved", "have to", "had to").Replace(planned)
	d.run("reload").want(t, 0, text, "")
	if got := f.requests(); !slices.Equal(got, []string{"POST /reload"}) {
		t.Errorf("asked %q", got)
	}
	f.plan = api.Plan{Applied: true, Changes: f.plan.Changes[:1]}
	d.run("reload").want(t, 0, "1 thing changed:\n+ add web/b4: 10.0.0.4:80\n", "")
	if r := d.run("reload", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"applied": true`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

func TestAFileWithFaultsIsRefusedWithAllOfThem(t *testing.T) {
	f := newFake()
	f.fault = &api.Fault{Code: api.CodeConfig, Message: "the file has 2 faults", Faults: []string{"new.yaml:3:1: unknown key \"x\"", "new.yaml:9:4: listen: required"}}
	d := newDesk(t, f)
	const says = "the file has 2 faults\nnew.yaml:3:1: unknown key \"x\"\nnew.yaml:9:4: listen: required\n"
	d.run("reload").want(t, 1, "", says)
	d.run("plan", "-c", newFile(t, "x")).want(t, 1, "", says)
	f.fault = &api.Fault{Code: api.CodeBusy, Message: "another reload is under way"}
	d.run("reload").want(t, 1, "", "another reload is under way\n")
}

func TestPlanComparesTwoFilesWithoutAServer(t *testing.T) {
	d := newDesk(t, nil)
	d.run("plan", "-c", "new.yaml", "--from", "old.yaml").refused(t, 1, "two files cannot be compared here")
	d.env.Diff = func(old, new string) (api.Plan, error) {
		if old != "old.yaml" || new != "new.yaml" {
			return api.Plan{}, errors.New("new.yaml:1:1: wrong")
		}
		return changes(false), nil
	}
	d.run("plan", "-c", "new.yaml", "--from", "old.yaml").want(t, 0, planned, "")
	d.run("plan", "-c", "other.yaml", "--from", "old.yaml").want(t, 1, "", "new.yaml:1:1: wrong\n")
	if r := d.run("plan", "-c", "new.yaml", "--from", "old.yaml", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"share": 0.256`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

func TestPlanFindsTheServerByTheNewFileIfItIsRight(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	path := newFile(t, "x")
	for _, admin := range []func(string) (Admin, error){
		func(string) (Admin, error) { return Admin{}, errors.New("x:1:1: wrong") }, // the server says that better
		func(string) (Admin, error) { return Admin{}, nil },
		func(string) (Admin, error) { return Admin{Listen: "10.0.0.1:9090"}, nil },
	} {
		d.env.AdminOf = admin
		d.run("plan", "-c", path).want(t, 0, "nothing would change\n", "")
	}
}

func TestPlanRefusesWhatMakesNoSense(t *testing.T) {
	d := newDesk(t, newFake())
	d.run("plan").refused(t, 2, "which file? Use -c FILE")
	d.run("plan", "new.yaml").refused(t, 2, `plan takes no argument "new.yaml"`)
	d.run("reload", "now").refused(t, 2, `reload takes no argument "now"`)
	d.run("plan", "-c", filepath.Join(t.TempDir(), "none.yaml")).refused(t, 1, "no such file")
	d.run("plan", "-c", newFile(t, strings.Repeat("#", maxFile+1))).refused(t, 1, "larger than 8 MiB")
}
