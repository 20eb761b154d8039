package l4

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// C72: dials are under way when people take the backend out. Their clients go elsewhere,
// and once that has been answered no session begins there, whenever it accepts.
func TestDialsUnderWayGoElsewhereWhenTheirBackendIsTakenOut(t *testing.T) {
	const clients = 50
	for name, out := range map[string]func(r *rig, b *Backend){
		"drain": func(r *rig, b *Backend) { r.Pool().SetAdmin(b, Drain, byAdmin) },
		"maint": func(r *rig, b *Backend) { r.Pool().SetAdmin(b, Maint, byAdmin) },
		"removed": func(r *rig, b *Backend) {
			r.edit(Edit{Remove: []*Backend{b}})
			r.EndRemoved(b, -1)
			r.closings.Wait()
		},
	} {
		for _, cfg := range []Config{{}, {Connect: ConnectConfig{Replay: 100}}, {Connect: ConnectConfig{Attempts: 1}}, {Proxy: ProxyConfig{Send: 2}}} {
			path := t.TempDir() + "/s"
			ln := listenShort(t, path)
			cfg.Balance = picker.First
			r := serve(t, cfg, BackendConfig{Address: "unix:" + path, Name: "slow", Weight: 1}, backend(t, afterHeader(cfg, echo)).config("b2"))
			slow := r.backends[0]
			conns := make([]relay.Conn, clients)
			for i := range conns {
				conns[i] = r.connect()
			}
			const fit = 2 // into its queue: they are connected
			eventually(t, "the dials to be under way", func() bool { return slow.active.Load() == clients && slow.total.Load() == fit })
			out(r, slow)
			acceptAll(t, ln, afterHeader(cfg, echo))
			lost := 0
			for _, c := range conns {
				io.WriteString(c, "x")
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					lost++
				}
			}
			if want := map[string]int{"removed": fit}[name]; lost != want {
				t.Errorf("%s: %d clients were lost, want %d", name, lost, want)
			}
			if n := slow.total.Load(); n != fit {
				t.Errorf("%s: %d sessions began on it", name, n-fit)
			}
			if n := slow.failed[dialWithdrawn].Load(); n != clients-fit {
				t.Errorf("%s: %d dials were withdrawn", name, n)
			}
			for _, c := range conns {
				c.Close()
			}
			eventually(t, "its sessions to end", func() bool { return slow.active.Load() == 0 })
		}
	}
}

// acceptAll accepts from now on, and gives every connection to handle.
func acceptAll(t *testing.T, ln net.Listener, handle func(relay.Conn)) {
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			conns.Go(func() {
				defer c.Close()
				handle(c.(relay.Conn))
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		within(t, "its connections to end", conns.Wait)
	})
}

// afterHeader handles a connection behind its PROXY header of version 2 over IPv4, if it
// gets one.
func afterHeader(cfg Config, handle func(relay.Conn)) func(relay.Conn) {
	return func(c relay.Conn) {
		if cfg.Proxy.Send == 2 {
			io.ReadFull(c, make([]byte, 16+12))
		}
		handle(c)
	}
}

// The only backend is drained while it is dialled, and said to be ready again: its clients
// have it then, since it has not failed.
func TestADrainThatIsTakenBackCostsNobodyAnything(t *testing.T) {
	path := t.TempDir() + "/s"
	ln := listenShort(t, path)
	r := serve(t, Config{Connect: holdFor(patience)}, BackendConfig{Address: "unix:" + path, Name: "slow", Weight: 1})
	var conns []relay.Conn
	for range 10 {
		conns = append(conns, r.connect())
	}
	eventually(t, "the dials to be under way", func() bool {
		return r.backends[0].active.Load() == 10 && r.backends[0].total.Load() == 2
	})
	r.Pool().SetAdmin(r.backends[0], Drain, byAdmin)
	acceptAll(t, ln, echo)
	r.awaitHeld(8)
	r.Pool().SetAdmin(r.backends[0], Ready, byAdmin)
	for _, c := range conns {
		expectEcho(t, c, "x")
		c.Close()
	}
}

// C72 over TCP, where the system repeats the dial by itself.
func TestATCPDialUnderWayGoesElsewhereWhenItsBackendIsDrained(t *testing.T) {
	hole, open := blackholeUntil(t, "slow")
	r := serve(t, Config{Balance: picker.First}, hole, backend(t, echo).config("b2"))
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.backends[0].active.Load() == 1 })
	r.Pool().SetAdmin(r.backends[0], Drain, byAdmin)
	open()
	expectEcho(t, c, "x")
	if s := r.Backends()[0]; s.Total != 0 || s.Sessions != 0 || s.DialFailures["withdrawn"] != 1 {
		t.Errorf("%+v", s)
	}
}
