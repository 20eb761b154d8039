package ctl

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// Env is what the commands know of the process they run in. The zero value works: no
// environment, no terminal, no file.
type Env struct {
	// Getenv reads the environment; nil = it is empty.
	Getenv func(name string) string
	// User names the person for the server's log, as user@host; nil = nobody.
	User func() string
	// Terminal tells whether a stream is one, and its size in characters; nil = none is.
	Terminal func(stream any) (width, height int, ok bool)
	// Interrupt returns a context that ends when the person wants the command to end; nil =
	// only with the context that the command was given.
	Interrupt func(ctx context.Context) (context.Context, context.CancelFunc)
	// AdminOf returns what a configuration file says of the admin server; nil = files cannot
	// be read.
	AdminOf func(path string) (Admin, error)
	// Diff compares two configuration files without a running sluice; nil = that is refused.
	Diff func(old, new string) (api.Plan, error)
	// Zone is the one that times are printed in; nil = the local one.
	Zone *time.Location

	// dial replaces the network; nil = the real one.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Admin is where a configuration file says that the admin server is. The zero value says
// that it has none.
type Admin struct {
	Listen string // host:port or unix:PATH
	Token  string // the text, env:NAME or file:PATH; "" = none
}

// UsageError is a command line that cannot be understood.
type UsageError struct {
	Err     error
	Command string // to ask for help
}

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.Err }

// ExitError is an error with an exit status of its own.
type ExitError struct {
	Status int
	Err    error
}

func (e ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its status.
func (e ExitError) Unwrap() error { return e.Err }

// usage is a UsageError of cmd.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// Commands returns the commands, each new, to be added to a root. Their errors are
// UsageError, ExitError or, for exit status 1, anything else.
func Commands(env Env) []*cobra.Command {
	e := &env
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Terminal == nil {
		e.Terminal = func(any) (int, int, bool) { return 0, 0, false }
	}
	if e.Interrupt == nil {
		e.Interrupt = context.WithCancel
	}
	if e.Zone == nil {
		e.Zone = time.Local
	}
	return []*cobra.Command{
		e.status(), e.drain(), e.ready(), e.maint(), e.weight(), e.set(), e.add(), e.remove(), e.kill(), e.pause(), e.resume(),
		e.sessions(), e.events(), e.failures(), e.explain(), e.pick(), e.plan(), e.reload(),
	}
}

// call is one run of a command.
type call struct {
	*client
	env  *Env
	cmd  *cobra.Command
	opt  *options
	json bool
	out  *printer
	errs *printer
}

// define makes a command that talks to the server: it gets the common flags and, where it
// has something to print, --json.
func (e *Env) define(cmd *cobra.Command, withJSON bool, run func(ctx context.Context, c *call, args []string) error) *cobra.Command {
	return e.defineWith(&options{}, cmd, withJSON, run)
}

// defineWith is define for a command that treats the common flags in its own way.
func (e *Env) defineWith(opt *options, cmd *cobra.Command, withJSON bool, run func(ctx context.Context, c *call, args []string) error) *cobra.Command {
	opt.register(cmd, withJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := e.open(cmd, opt)
		if err != nil {
			return err
		}
		defer c.close()
		ctx, stop := e.Interrupt(cmd.Context())
		defer stop()
		err = run(ctx, c, args)
		if flushed := c.out.flush(); err == nil {
			err = flushed
		}
		return err
	}
	return cmd
}

// open finds the server and prepares the output. It sends nothing.
func (e *Env) open(cmd *cobra.Command, opt *options) (*call, error) {
	t, err := e.target(cmd, opt)
	if err != nil {
		return nil, err
	}
	c := &call{client: newClient(t, opt.timeout, e), env: e, cmd: cmd, opt: opt, json: opt.json}
	c.out, c.errs = e.printer(cmd.OutOrStdout()), e.printer(cmd.ErrOrStderr())
	return c, nil
}

// show prints the answer as JSON if --json is given, and else by calling f.
func (c *call) show(raw []byte, f func()) error {
	if c.json {
		return c.out.json(raw)
	}
	f()
	return nil
}

// warn writes a line to stderr. That it cannot be written is nothing to fail for.
func (c *call) warn(format string, args ...any) {
	c.errs.line(format, args...)
	c.errs.flush()
}

// printer returns one for w, as wide as its terminal and in color unless NO_COLOR
// (no-color.org) asks for none.
func (e *Env) printer(w io.Writer) *printer {
	p := newPrinter(w)
	p.zone = e.Zone
	width, height, ok := e.Terminal(w)
	if !ok || e.Getenv("TERM") == "dumb" {
		return p
	}
	p.live, p.width, p.height = true, width, height
	p.color = e.Getenv("NO_COLOR") == ""
	return p
}
