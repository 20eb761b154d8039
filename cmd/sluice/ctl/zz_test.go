package ctl

import "testing"

func TestLook(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	show := func(args ...string) {
		r := d.run(args...)
		t.Logf("%v\n%d\n%s\n--\n%s", args, r.status, r.stdout, r.stderr)
	}
	show("status")
	show("status", "--problems", "redis")
	d.width, d.height = 80, 24
	show("status")
	show("status", "wbe")
	show("drain", "web/b9")
	show("drain", "redis", "--all")
	show("maint", "web/b1", "--kill")
	show("status", "--problems")
	show("add", "web", "unix:/x y", "--name", "b/4%")
	show("weight", "web/b/4%", "0")
	show("kill", "web")
	show("sessions")
	t.Log(f.requests())
}
