package ctl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxStatus is the largest exit status of drain --then kill: those above 125 mean other
// things to shells.
const maxStatus = 125

// ready has nothing to do after the state is set.
func (e *Env) ready() *cobra.Command {
	return e.stateCommand(&cobra.Command{
		Use:   "ready SERVICE/BACKEND | SERVICE --all",
		Short: "Let a backend have new sessions again",
		Long: `End what drain or maint began: the backend is probed at once, and has new sessions as
soon as it is up. With --wait the command returns then; exit status 1 means that it was
not up in time.`,
		Example: "  sluice ready web/b1 --wait 30s",
	}, api.Ready, func(cmd *cobra.Command) func(context.Context, *call, selection) error {
		wait := cmd.Flags().Duration("wait", 0, "wait until its probe has passed, at most this `TIME`")
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("wait") && *wait <= 0 {
				return usage(cmd, "--wait: must be above 0")
			}
			return nil
		}
		return func(ctx context.Context, c *call, s selection) error {
			if *wait == 0 {
				return nil
			}
			return c.waitUp(ctx, s, *wait)
		}
	})
}

// waitUp returns when each backend is up and usable.
func (c *call) waitUp(ctx context.Context, s selection, wait time.Duration) error {
	var missing string
	done, err := c.await(ctx, wait, func(rest time.Duration) (bool, error) {
		var svc api.Service
		if _, err := c.do(ctx, of(s.service, "", ""), &svc); err != nil {
			return false, err
		}
		missing = ""
		for _, b := range svc.Backends {
			if slices.Contains(s.backends, b.Name) && !b.Leaving && (b.Health != "up" || !b.Usable) {
				missing = fmt.Sprintf("%s is %s: %s", clean(b.Name), state(b), clean(b.Reason))
				c.progress("%s, %s to go", missing, max(0, rest.Round(time.Second)))
			}
		}
		return missing == "", nil
	})
	c.progressed()
	switch {
	case done:
		c.out.line("%s: up", s.label)
		return nil
	case errors.Is(err, errInterrupted):
		return fmt.Errorf("interrupted: %s", missing)
	case err != nil:
		return err
	}
	return errors.New(missing)
}

// maint sets the state before it kills: else a session that ends could come back at once.
func (e *Env) maint() *cobra.Command {
	return e.stateCommand(&cobra.Command{
		Use:     "maint SERVICE/BACKEND | SERVICE --all",
		Short:   "Take a backend out for maintenance: no new sessions, no probes",
		Long:    "Take a backend out: no new sessions, and it is not probed. Its sessions go on, unless\n--kill resets them.",
		Example: "  sluice maint web/b1 --kill",
	}, api.Maint, func(cmd *cobra.Command) func(context.Context, *call, selection) error {
		kill := cmd.Flags().Bool("kill", false, "reset the sessions that it has")
		return func(ctx context.Context, c *call, s selection) error {
			if !*kill {
				return nil
			}
			n, err := c.killAll(ctx, s)
			if err == nil {
				c.out.line("%s killed", plural(n, "session"))
			}
			return err
		}
	})
}

// drain checks its flags before the state is set, so that a command line which is wrong has
// changed nothing.
func (e *Env) drain() *cobra.Command {
	return e.stateCommand(&cobra.Command{
		Use:   "drain SERVICE/BACKEND | SERVICE --all",
		Short: "Let a backend's sessions end, and give it no new ones",
		Long: `Give a backend no new sessions; those that it has go on. It is still probed. With
--wait the command returns as soon as the last session has ended.

Exit status: 0 if no session is left, or if there was no --wait. When the time is
over: 1, the sessions go on; with --then kill they are killed, and it is 2 + their
number, at most 125, or 0 if there was none to kill. 2 by itself is a command line
that cannot be understood.`,
		Example: `  sluice drain web/b1
  sluice drain web/b1 --wait 30s --then kill`,
	}, api.Drain, func(cmd *cobra.Command) func(context.Context, *call, selection) error {
		wait := cmd.Flags().Duration("wait", 0, "wait for the last session, at most this `TIME`")
		then := cmd.Flags().String("then", "", "what to do with the sessions left after --wait: `kill`")
		choices(cmd, "then", "kill")
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
			switch {
			case *then != "" && *then != "kill":
				return usage(cmd, "--then: %s is not kill", quote(*then))
			case *then != "" && *wait <= 0:
				return usage(cmd, "--then kill needs --wait TIME; 'sluice maint --kill' kills at once")
			case cmd.Flags().Changed("wait") && *wait <= 0:
				return usage(cmd, "--wait: must be above 0")
			}
			return nil
		}
		return func(ctx context.Context, c *call, s selection) error {
			if *wait == 0 {
				return nil
			}
			return c.waitDrained(ctx, s, *wait, *then == "kill")
		}
	})
}

// stateCommand makes one of the three; more adds its flags and returns what follows once
// the state is set.
func (e *Env) stateCommand(cmd *cobra.Command, to string, more func(*cobra.Command) func(context.Context, *call, selection) error) *cobra.Command {
	cmd.Args = between(1, 1, "SERVICE/BACKEND")
	cmd.ValidArgsFunction = e.completeBackends
	all := cmd.Flags().Bool("all", false, "each backend of the SERVICE")
	follow := more(cmd)
	return e.define(cmd, false, func(ctx context.Context, c *call, args []string) error {
		s, err := c.choose(ctx, args[0], *all)
		if err != nil {
			return err
		}
		if err := c.setState(ctx, s, to); err != nil {
			return err
		}
		if follow == nil {
			return nil
		}
		return follow(ctx, c, s)
	})
}

// selection is one or all of the backends of a service.
type selection struct {
	service  string
	backends []string
	label    string // what it was called
}

// choose reads the argument. A service alone is too little, so that a name which was forgotten
// does not take out all that there is.
func (c *call) choose(ctx context.Context, arg string, all bool) (selection, error) {
	service, backend := split(arg)
	switch {
	case service == "", !all && strings.HasSuffix(arg, "/") && backend == "":
		return selection{}, usage(c.cmd, "%s is not SERVICE/BACKEND", quote(arg))
	case all && backend != "":
		return selection{}, usage(c.cmd, "--all goes with a SERVICE, not with %s", quote(arg))
	case !all && backend == "":
		return selection{}, usage(c.cmd, "which backend? Write %s, or %s --all for each of them", quote(service+"/BACKEND"), clean(service))
	case !all:
		return selection{service, []string{backend}, arg}, nil
	}
	s, _, err := c.service(ctx, service)
	s.Backends = slices.DeleteFunc(s.Backends, func(b api.Backend) bool { return b.Leaving }) // nothing is left to decide
	return selection{service, backendNames(s), "all of " + service}, err
}

// setState sets it everywhere, also where another one failed, and says what came of it.
func (c *call) setState(ctx context.Context, s selection, to string) error {
	var failed []error
	for _, name := range s.backends {
		var b api.Backend
		_, err := c.do(ctx, of(s.service, name, "/admin").send(http.MethodPut, api.AdminState{State: to}), &b)
		if err != nil {
			if len(s.backends) > 1 {
				err = fmt.Errorf("%s/%s: %w", clean(s.service), clean(name), err)
			}
			failed = append(failed, err)
			continue
		}
		c.out.line("%s/%s: %s, %s", s.service, name, becomes(b, to), plural(b.Sessions, "session"))
	}
	c.out.flush() // before a warning about it; the error stays for the end
	if to != api.Ready && len(failed) < len(s.backends) {
		c.warnIfNoneLeft(ctx, s.service)
	}
	return errors.Join(failed...)
}

// becomes says the new state; one that is ready again has one of its own.
func becomes(b api.Backend, to string) string {
	if to == api.Ready && !b.Usable && state(b) != "up" {
		return "ready, " + state(b) + " for now"
	}
	return to
}

// warnIfNoneLeft warns of a service whose clients will be refused. That it cannot be asked
// for is no reason to fail: the change was made.
func (c *call) warnIfNoneLeft(ctx context.Context, service string) {
	s, _, err := c.service(ctx, service)
	if err == nil && s.Usable == 0 {
		c.warn("warning: %s has no usable backend now: new clients wait or are refused", service)
	}
}

// waitDrained returns nil when the sessions are gone, by themselves or because none had to
// be killed.
func (c *call) waitDrained(ctx context.Context, s selection, wait time.Duration, kill bool) error {
	var left int64
	done, err := c.await(ctx, wait, func(rest time.Duration) (bool, error) {
		n, err := c.sessionsOf(ctx, s)
		if err != nil {
			return false, err
		}
		left = n
		if n > 0 {
			c.progress("%s: %s left, %s to go", s.label, plural(n, "session"), max(0, rest.Round(time.Second)))
		}
		return n == 0, nil
	})
	c.progressed()
	switch {
	case done:
		c.out.line("%s: drained", s.label)
		return nil
	case errors.Is(err, errInterrupted):
		return fmt.Errorf("interrupted: %s stays in drain, %s when last seen", clean(s.label), plural(left, "session"))
	case err != nil:
		return err
	case kill:
		return c.killLeft(ctx, s)
	}
	return fmt.Errorf("%s of %s %s", plural(left, "session"), clean(s.label), goOn(left))
}

// killLeft kills what is left, and has their number as exit status.
func (c *call) killLeft(ctx context.Context, s selection) error {
	n, err := c.killAll(ctx, s)
	switch {
	case err != nil:
		return err
	case n == 0:
		c.out.line("%s: drained", s.label)
		return nil
	}
	return ExitError{min(2+n, maxStatus), fmt.Errorf("%s of %s killed", plural(n, "session"), clean(s.label))}
}

// killAll resets the sessions of a selection.
func (c *call) killAll(ctx context.Context, s selection) (total int, err error) {
	for _, name := range s.backends {
		var k api.Killed
		if _, err := c.do(ctx, of(s.service, name, "/kill").send(http.MethodPost, nil), &k); err != nil {
			return total, err
		}
		total += k.Killed
	}
	return total, nil
}

// sessionsOf counts those of a selection; a backend that is gone has none. One that is leaving
// may have the name of its successor, which is the one that is meant.
func (c *call) sessionsOf(ctx context.Context, s selection) (n int64, err error) {
	service, _, err := c.service(ctx, s.service)
	for _, b := range service.Backends {
		if slices.Contains(s.backends, b.Name) && !b.Leaving {
			n += b.Sessions
		}
	}
	return n, err
}
