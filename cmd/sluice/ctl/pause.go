package ctl

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxPause is the server's bound.
const maxPause = time.Hour

// pause always has an end: one that is forgotten would be an outage.
func (e *Env) pause() *cobra.Command {
	var d time.Duration
	cmd := &cobra.Command{
		Use:   "pause SERVICE",
		Short: "Let a service's new clients wait",
		Long: `Let new clients wait instead of being connected, for a switchover behind the service,
say. Sessions go on. The service resumes by itself when the time is over.`,
		Example: "  sluice pause postgres-write --for 10s",
		Args:    between(1, 1, "SERVICE"), ValidArgsFunction: e.completeServices,
	}
	cmd.Flags().DurationVar(&d, "for", 30*time.Second, "resume after this `TIME`, at most 1h")
	return e.define(cmd, false, func(ctx context.Context, c *call, args []string) error {
		if err := serviceOnly(cmd, args[0]); err != nil {
			return err
		}
		if d <= 0 || d > maxPause {
			return usage(cmd, "--for: must be above 0 and at most 1h")
		}
		if _, err := c.do(ctx, of(args[0], "", "/pause").send(http.MethodPost, api.Pause{For: api.Duration(d)}), nil); err != nil {
			return err
		}
		c.out.line("%s: paused for %s; 'sluice resume %s' ends it before", args[0], d, args[0])
		return nil
	})
}

// resume is no failure where nothing is paused: a script may always end with it.
func (e *Env) resume() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume SERVICE",
		Short:   "Let the clients of a paused service go on",
		Long:    "End a pause. A service that is not paused stays as it is, which is no failure.",
		Example: "  sluice resume postgres-write",
		Args:    between(1, 1, "SERVICE"), ValidArgsFunction: e.completeServices,
	}
	return e.define(cmd, false, func(ctx context.Context, c *call, args []string) error {
		if err := serviceOnly(cmd, args[0]); err != nil {
			return err
		}
		resumed := struct {
			Was bool `json:"was"` // it was paused
		}{true}
		if _, err := c.do(ctx, of(args[0], "", "/resume").send(http.MethodPost, nil), &resumed); err != nil {
			return err
		}
		if resumed.Was {
			c.out.line("%s: resumed", args[0])
		} else {
			c.out.line("%s: was not paused", args[0])
		}
		return nil
	})
}

// serviceOnly refuses a backend, which would otherwise be an unknown service with a strange name.
func serviceOnly(cmd *cobra.Command, arg string) error {
	if strings.Contains(arg, "/") {
		return usage(cmd, "%s is not a SERVICE", quote(arg))
	}
	return nil
}
