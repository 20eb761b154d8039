package ctl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxWeight is that of the configuration file.
const maxWeight = 256

// weight checks the bounds here, so that a slip of the hand is a matter of usage and costs no
// request.
func (e *Env) weight() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weight SERVICE/BACKEND N",
		Short: "Set a backend's weight",
		Long: `Set a backend's weight, 0 to 256: its share of new sessions. 0 gives it none; its
sessions go on. It lasts until a reload of a file that says otherwise.`,
		Example: "  sluice weight web/b1 10",
		Args:    between(2, 2, "SERVICE/BACKEND N"), ValidArgsFunction: e.completeBackends,
	}
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		service, backend, err := pair(cmd, args[0])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 0 || n > maxWeight {
			return usage(cmd, "%s is not a weight: 0 to %d", quote(args[1]), maxWeight)
		}
		var b api.Backend
		raw, err := c.do(ctx, of(service, backend, "/weight").send(http.MethodPut, api.Weight{Weight: &n}), &b)
		if err != nil {
			return err
		}
		err = c.show(raw, func() { c.out.line("%s: weight %d", args[0], b.Weight) })
		if n == 0 {
			c.warnIfNoneLeft(ctx, service)
		}
		return err
	})
}

// set sends only what is given: the rest stays as it is.
func (e *Env) set() *cobra.Command {
	var weight, priority, most int
	cmd := &cobra.Command{
		Use:   "set SERVICE/BACKEND [--weight N] [--priority N] [--max-connections N]",
		Short: "Set a backend's weight, priority and limit",
		Long: `Set what is given of a backend, all of it or nothing. It lasts until a reload of a file
that says otherwise. Sessions over a lower limit go on.`,
		Example: "  sluice set web/b1 --max-connections 200\n  sluice set web/b1 --priority 1 --weight 5",
		Args:    between(1, 1, "SERVICE/BACKEND"), ValidArgsFunction: e.completeBackends,
	}
	f := cmd.Flags()
	f.IntVar(&weight, "weight", 0, "its share of new sessions, `N` from 0 to 256")
	f.IntVar(&priority, "priority", 0, "`N`: 0 is used first, a higher one only while no lower one is usable")
	f.IntVar(&most, "max-connections", 0, "at most `N` sessions at a time; 0 = no limit")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		service, backend, err := pair(cmd, args[0])
		if err != nil {
			return err
		}
		var to api.Setting
		given := func(name string, n *int) *int {
			if f.Changed(name) {
				return n
			}
			return nil
		}
		to.Weight, to.Priority, to.MaxConnections = given("weight", &weight), given("priority", &priority), given("max-connections", &most)
		switch {
		case to == (api.Setting{}):
			return usage(cmd, "what? Give --weight, --priority or --max-connections")
		case weight < 0 || weight > maxWeight:
			return usage(cmd, "--weight: must be 0 to %d", maxWeight)
		case priority < 0 || most < 0:
			return usage(cmd, "--priority and --max-connections: must not be below 0")
		}
		var b api.Backend
		raw, err := c.do(ctx, of(service, backend, "").send(http.MethodPatch, to), &b)
		if err != nil {
			return err
		}
		bound := "no limit"
		if b.MaxConnections > 0 {
			bound = "at most " + plural(b.MaxConnections, "session")
		}
		err = c.show(raw, func() { c.out.line("%s: weight %d, priority %d, %s", args[0], b.Weight, b.Priority, bound) })
		if to.Weight != nil && weight == 0 {
			c.warnIfNoneLeft(ctx, service)
		}
		return err
	})
}

// add sends a weight only if one is given: what a backend has by default is for the server to
// say.
func (e *Env) add() *cobra.Command {
	var b api.NewBackend
	var weight int
	cmd := &cobra.Command{
		Use:   "add SERVICE ADDRESS",
		Short: "Add a backend to a service",
		Long: `Add a backend, host:port or unix:PATH, to a service. It is probed first. It stays until
it is removed, or a reload of a file without it.`,
		Example: "  sluice add web 10.0.0.4:80 --name b4 --weight 2",
		Args:    between(2, 2, "SERVICE ADDRESS"), ValidArgsFunction: e.completeServices,
	}
	f := cmd.Flags()
	f.StringVar(&b.Name, "name", "", "its `NAME` (default the address)")
	f.IntVar(&weight, "weight", 1, "its share of new sessions, `N` from 0 to 256")
	f.IntVar(&b.Priority, "priority", 0, "`N`: 0 is used first, a higher one only while no lower one is usable")
	f.IntVar(&b.MaxConnections, "max-connections", 0, "at most `N` sessions at a time; 0 = no limit")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		switch {
		case strings.Contains(args[0], "/"):
			return usage(cmd, "%s is not a SERVICE; the backend's name is given by --name", quote(args[0]))
		case weight < 0 || weight > maxWeight:
			return usage(cmd, "--weight: must be 0 to %d", maxWeight)
		case b.Priority < 0 || b.MaxConnections < 0:
			return usage(cmd, "--priority and --max-connections: must not be below 0")
		}
		b.Address = args[1]
		if f.Changed("weight") {
			b.Weight = &weight
		}
		var made api.Backend
		raw, err := c.do(ctx, of(args[0], "", "/backends").send(http.MethodPost, b), &made)
		if err != nil {
			return err
		}
		return c.show(raw, func() {
			c.out.line("%s/%s added: %s, weight %d, %s", args[0], made.Name, made.Address, made.Weight, state(made))
		})
	})
}

// remove leaves the time to the server unless one is given, as the file may have one for this
// service.
func (e *Env) remove() *cobra.Command {
	var within string
	var now, wait bool
	cmd := &cobra.Command{
		Use:   "remove SERVICE/BACKEND",
		Short: "Remove a backend from a service",
		Long: `Remove a backend: no new sessions, and those that it has go on until the time is over,
then they are reset. It is listed as leaving meanwhile.`,
		Example: "  sluice remove web/b4 --within 30s --wait",
		Args:    between(1, 1, "SERVICE/BACKEND"), ValidArgsFunction: e.completeBackends,
	}
	f := cmd.Flags()
	f.StringVar(&within, "within", "", "reset its sessions after this `TIME`, or never (default the service's drain_timeout)")
	f.BoolVar(&now, "now", false, "reset its sessions at once")
	f.BoolVar(&wait, "wait", false, "return when it is gone")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		service, backend, err := pair(cmd, args[0])
		if err != nil {
			return err
		}
		r := of(service, backend, "").send(http.MethodDelete, nil)
		if f.Changed("within") || now {
			d, err := bound(cmd, within, now)
			if err != nil {
				return err
			}
			r.query = url.Values{"within": {d.String()}}
		}
		return c.runRemove(ctx, r, args[0], wait)
	})
}

// bound is how long the sessions of a removed backend may go on, as the server takes it: 0 is
// for ever. From a person 0 may mean that or at once, so it is neither.
func bound(cmd *cobra.Command, within string, now bool) (time.Duration, error) {
	d, err := time.ParseDuration(within)
	switch {
	case now && within != "":
		return 0, usage(cmd, "--now and --within: give one of them")
	case now:
		return time.Millisecond, nil
	case within == "never":
		return 0, nil
	case err != nil || d <= 0:
		return 0, usage(cmd, "--within: %s is not a time above 0, such as 30s; never is for no bound, and --now for at once", quote(within))
	}
	return d, nil
}

// runRemove removes, tells, and waits if that is asked for.
func (c *call) runRemove(ctx context.Context, r request, label string, wait bool) error {
	var removed api.Removed
	raw, err := c.do(ctx, r, &removed)
	if err != nil {
		return err
	}
	if err := c.show(raw, func() { c.out.line("%s removed%s", label, left(removed)) }); err != nil {
		return err
	}
	// What was done is told before a wait that may be long, and before a warning on stderr.
	if err := c.out.flush(); err != nil {
		return err
	}
	c.warnIfNoneLeft(ctx, r.service)
	if !wait {
		return nil
	}
	return c.waitGone(ctx, label, r.service, r.backend)
}

// left says what becomes of a removed backend's sessions.
func left(r api.Removed) string {
	switch {
	case r.Sessions == 0:
		return ""
	case r.Within == 0:
		return ": " + plural(r.Sessions, "session") + " " + goOn(r.Sessions) + " until the end"
	}
	return ": " + plural(r.Sessions, "session") + " " + goOn(r.Sessions) + ", to be reset after " + short(time.Duration(r.Within))
}

// waitGone returns when the backend is listed no more. The server bounds that, or the
// sessions' own ends do.
func (c *call) waitGone(ctx context.Context, label, service, backend string) error {
	done, err := c.await(ctx, 0, func(time.Duration) (bool, error) {
		s, _, err := c.service(ctx, service)
		if err != nil {
			return gone(err), err // the service may go as well
		}
		i := slices.IndexFunc(s.Backends, func(b api.Backend) bool { return b.Name == backend && b.Leaving })
		if i < 0 {
			return true, nil
		}
		c.progress("%s: %s left", label, plural(s.Backends[i].Sessions, "session"))
		return false, nil
	})
	c.progressed()
	switch {
	case errors.Is(err, errInterrupted):
		return fmt.Errorf("interrupted: %s is removed, its sessions go on until their deadline", clean(label))
	case done && !c.json:
		c.out.line("%s is gone", label)
		return nil
	}
	return err
}
