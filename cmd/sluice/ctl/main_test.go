package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// desk is where a person sits: how the commands of a test are run.
type desk struct {
	env           Env
	vars          map[string]string
	width, height int    // of the terminal; 0 = output goes elsewhere
	keyboard      bool   // whether stdin is a terminal
	typed         string // what is typed on it
	ctx           context.Context
}

// result is what a command line came to.
type result struct {
	status         int
	stdout, stderr string
}

// newDesk returns one in front of a server that is reached over pipes, so that it also
// works within a bubble of synctest.
func newDesk(t *testing.T, h http.Handler) *desk {
	t.Helper()
	d := &desk{vars: map[string]string{}, ctx: t.Context()}
	ln := newPipeListener()
	server := &http.Server{Handler: h}
	var served sync.WaitGroup
	served.Go(func() { server.Serve(ln) })
	t.Cleanup(func() {
		server.Close()
		served.Wait()
	})
	d.env = Env{Zone: time.UTC, dial: ln.dial, User: func() string { return "ann@desk" }}
	return d
}

// run runs one command line, as main does.
func (d *desk) run(args ...string) result {
	var out, errs bytes.Buffer
	err := d.runTo(&out, &errs, args...)
	return result{statusOf(err, &errs), out.String(), errs.String()}
}

func (d *desk) runTo(out, errs io.Writer, args ...string) error {
	env := d.env
	env.Getenv = func(name string) string { return d.vars[name] }
	env.Terminal = func(stream any) (int, int, bool) {
		if _, in := stream.(*strings.Reader); in {
			return d.width, d.height, d.keyboard
		}
		return d.width, d.height, d.width > 0
	}
	root := &cobra.Command{Use: "sluice", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return UsageError{err, cmd.CommandPath()} })
	root.AddCommand(Commands(env)...)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetIn(strings.NewReader(d.typed))
	return root.ExecuteContext(d.ctx)
}

// statusOf is main's rule.
func statusOf(err error, errs io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, err)
	var exit ExitError
	switch {
	case errors.As(err, new(UsageError)):
		return 2
	case errors.As(err, &exit):
		return exit.Status
	}
	return 1
}

// want compares a whole result.
func (r result) want(t *testing.T, status int, stdout, stderr string) {
	t.Helper()
	stdout, stderr = strings.TrimPrefix(stdout, "\n"), strings.TrimPrefix(stderr, "\n")
	if r.status != status {
		t.Errorf("status %d, want %d", r.status, status)
	}
	if r.stdout != stdout {
		t.Errorf("stdout:\n%s\nwant:\n%s", r.stdout, stdout)
	}
	if r.stderr != stderr {
		t.Errorf("stderr:\n%s\nwant:\n%s", r.stderr, stderr)
	}
}

// refused wants a status and parts of what stderr says, and nothing on stdout.
func (r result) refused(t *testing.T, status int, parts ...string) {
	t.Helper()
	if r.status != status || r.stdout != "" {
		t.Errorf("status %d, want %d; stdout %q, want none", r.status, status, r.stdout)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("stderr says nothing of %q:\n%s", part, r.stderr)
		}
	}
}

// pipeListener accepts the other ends of what is dialled.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
