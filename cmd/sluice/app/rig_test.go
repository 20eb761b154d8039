package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/systemd"
)

// rig is an App that runs from a file, which the test writes anew.
type rig struct {
	*App
	t    *testing.T
	path string
	log  *lockedBuffer
}

// run starts the text of a file until the test ends.
func run(t *testing.T, text string) *rig { return runWith(t, text, Options{}) }

func runWith(t *testing.T, text string, o Options) *rig {
	t.Helper()
	r := prepare(t, text, o)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.Drain(ctx, nil)
	})
	return r
}

// prepare is run without the start, and without the end.
func prepare(t *testing.T, text string, o Options) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "sluice.yaml"), log: &lockedBuffer{grown: make(chan struct{}, 1)}}
	r.write(text)
	o.Path = r.path
	o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: o.Level}))
	if o.Level == nil {
		o.Log = slog.New(slog.NewTextHandler(r.log, nil))
	}
	var err error
	if r.App, err = New(parse(t, text), o); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// becomes reloads the text, which is right.
func (r *rig) becomes(text string) api.Plan {
	r.t.Helper()
	r.write(text)
	p, err := r.Reload(api.Mark{Who: "test"})
	if err != nil {
		r.t.Fatalf("%v\n%v", err, api.AsFault(err).Faults)
	}
	if !p.Applied {
		r.t.Errorf("%+v was not applied", p)
	}
	return p
}

// backend returns a backend as the API shows it.
func (r *rig) backend(service, name string) api.Backend {
	r.t.Helper()
	s, err := r.Service(service)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range s.Backends {
		if b.Name == name && !b.Leaving {
			return b
		}
	}
	r.t.Fatalf("no backend %q in %+v", name, s)
	return api.Backend{}
}

// listen returns the first address of a service.
func (r *rig) listen(service string) string {
	r.t.Helper()
	all := r.Addresses(service)
	if len(all) == 0 {
		r.t.Fatalf("service %q listens nowhere", service)
	}
	return all[0]
}

// talker is a backend that says its name and then what it hears.
type talker struct {
	name, address string
	ln            net.Listener
	accepted      atomic.Int64
	changed       chan struct{} // has a token when a connection has come since it was taken
	conns         sync.WaitGroup
}

func talk(t *testing.T, name string) *talker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &talker{name: name, address: ln.Addr().String(), ln: ln, changed: make(chan struct{}, 1)}
	b.conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b.accepted.Add(1)
			select {
			case b.changed <- struct{}{}:
			default:
			}
			b.conns.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(6 * patience))
				io.WriteString(c, b.name+"\n")
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		b.conns.Wait()
	})
	return b
}

// yaml is the backend in a file.
func (b *talker) yaml(more ...string) string {
	return "{address: '" + b.address + "', name: " + b.name + strings.Join(append([]string{""}, more...), ", ") + "}"
}

// guest is a client with a session.
type guest struct {
	net.Conn
	t    *testing.T
	in   *bufio.Reader
	name string // of its backend
}

// visit connects until the test ends and hears who it is with.
func visit(t *testing.T, address string) *guest {
	t.Helper()
	g, err := knock(address)
	if err != nil {
		t.Fatal(err)
	}
	g.t = t
	t.Cleanup(func() { g.Close() })
	return g
}

// knock is visit for what may fail.
func knock(address string) (*guest, error) {
	network, where := "tcp", address
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		network, where = "unix", path
	}
	c, err := net.DialTimeout(network, where, patience)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(patience))
	g := &guest{Conn: c, in: bufio.NewReader(c)}
	line, err := g.in.ReadString('\n')
	if err != nil {
		c.Close()
		return nil, err
	}
	g.name = strings.TrimSpace(line)
	return g, nil
}

// talks tells whether the session lives.
func (g *guest) talks() error {
	g.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(g, "still here\n"); err != nil {
		return err
	}
	_, err := g.in.ReadString('\n')
	return err
}

// lives fails the test if the session does not.
func (g *guest) lives() {
	g.t.Helper()
	if err := g.talks(); err != nil {
		g.t.Errorf("a session has ended: %v", err)
	}
}

// ended waits for the end of the session and returns it.
func (g *guest) ended() error {
	g.SetDeadline(time.Now().Add(patience))
	_, err := g.in.ReadString('\n')
	return err
}

// eventually waits for a state that nothing tells of.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

// refused checks an error's code and what it says.
func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	f := api.AsFault(err)
	if err == nil || f.Code != code || !strings.Contains(f.Message, text) {
		t.Errorf("got %+v, want %s: …%s…", f, code, text)
	}
}

// web is a file of one service without a check.
func web(listen string, backends ...string) string {
	return webWith("", listen, backends...)
}

// webWith is web with more keys.
func webWith(keys, listen string, backends ...string) string {
	return "services:\n  - {name: web, listen: '" + listen + "', check: {type: none}, backends: [" + strings.Join(backends, ", ") + "]" + keys + "}\n"
}

const anyPort = "127.0.0.1:0"

var someone = api.Mark{Who: "ann"}

var _ = systemd.Sockets{}

// SetWeight is Set of a weight alone.
func (r *rig) SetWeight(m api.Mark, service, backend string, weight int) (api.Backend, error) {
	return r.Set(m, service, backend, api.Setting{Weight: &weight})
}
