package app

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// breakListener ends a listening socket from outside, as `ss -K` does: accept fails for good.
func breakListener(t *testing.T, address string) {
	t.Helper()
	want, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for fd := range 1024 {
		listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err != nil || listens == 0 {
			continue
		}
		sa, _ := unix.Getsockname(fd)
		if sa, ok := sa.(*unix.SockaddrInet4); ok && netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)) == want {
			if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
				t.Fatal(err)
			}
			broken++
		}
	}
	if broken == 0 {
		t.Fatalf("nobody listens on %s", address)
	}
}

func lost(r *rig) bool {
	v, err := r.Service("web")
	return err == nil && len(v.Lost) > 0
}

func TestALostListenerIsToldAndOpensAgainByItself(t *testing.T) {
	for _, e := range []Engine{"", "portable"} {
		t.Run(string(e), func(t *testing.T) {
			b := talk(t, "b")
			r := runWith(t, web(anyPort, b.yaml()), Options{Engine: e})
			address := r.listen("web")
			eventually(t, "it is ready", func() bool { ok, _ := r.Ready(); return ok })
			breakListener(t, address)
			eventually(t, "the listener is lost", func() bool { return lost(r) })
			if v, _ := r.Service("web"); len(v.Listen) != 0 || !strings.HasPrefix(v.Lost[0], address+": ") {
				t.Errorf("%+v", v)
			}
			if ok, why := r.Ready(); ok || !strings.HasPrefix(why, "service web: listener lost: "+address) {
				t.Errorf("ready: %v, %q", ok, why)
			}
			eventually(t, "it is open again", func() bool { return !lost(r) })
			if got := r.listen("web"); got != address {
				t.Errorf("it listens on %s, it was on %s", got, address)
			}
			if err := visit(t, address).talks(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(r.log.String(), "listener lost") {
				t.Error("the log does not say it")
			}
		})
	}
}

func TestAReloadOpensALostListener(t *testing.T) {
	b := talk(t, "b")
	r := run(t, web(anyPort, b.yaml()))
	fixed := r.listen("web")
	r.end() // the port is free again, and not one that the system gives to others soon
	r = run(t, web(fixed, b.yaml()))
	breakListener(t, fixed)
	eventually(t, "the listener is lost", func() bool { return lost(r) })
	r.becomes(web(fixed, b.yaml()))
	if lost(r) {
		t.Error("it is lost after the reload")
	}
	if err := visit(t, fixed).talks(); err != nil {
		t.Error(err)
	}
}
