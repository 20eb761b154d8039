package ctl

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// kill has one filter for all its forms; everything that is given narrows it.
func (e *Env) kill() *cobra.Command {
	var q query
	var yes bool
	cmd := &cobra.Command{
		Use:   "kill [SERVICE | SERVICE/BACKEND] [--id ID] [--client CIDR]",
		Short: "Reset sessions",
		Long: `Reset the sessions that all that is given selects: both ends get a reset. A whole
service, or all clients, are killed after a question only, or with --yes.`,
		Example: `  sluice kill web/b1
  sluice kill --id web/123
  sluice kill web --client 10.1.2.0/24 --min-age 1h`,
		Args: between(0, 1, "SERVICE or SERVICE/BACKEND"), ValidArgsFunction: e.completeBackends,
	}
	f := cmd.Flags()
	f.StringVar(&q.id, "id", "", "the session with this `ID`, as 'sluice sessions' shows it")
	q.register(cmd)
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		filter, err := q.filter(cmd, args)
		if err != nil {
			return err
		}
		if filter == (api.Filter{}) {
			return usage(cmd, "which sessions? Give SERVICE, SERVICE/BACKEND, --id, --client or --min-age")
		}
		if sweeping(filter) && !yes {
			if sure, err := c.confirm(ctx, filter); err != nil || !sure {
				return err
			}
		}
		var k api.Killed
		r := killing(filter)
		raw, err := c.do(ctx, r, &k)
		if err == nil && k.Killed == 0 {
			err = c.mustBeThere(ctx, r)
		}
		if err != nil {
			return err
		}
		return c.show(raw, func() { c.out.line("%s killed", plural(k.Killed, "session")) })
	})
}

// killing is the request; for a backend as such there is one that knows whether it exists.
func killing(f api.Filter) request {
	if f == (api.Filter{Service: f.Service, Backend: f.Backend}) && f.Backend != "" {
		return of(f.Service, f.Backend, "/kill").send(http.MethodPost, nil)
	}
	r := request{path: "/sessions/kill", service: f.Service, backend: f.Backend}
	return r.send(http.MethodPost, f)
}

// sweeping tells whether a filter selects so much that it may be a slip: a service with
// nothing that narrows it, or clients from everywhere.
func sweeping(f api.Filter) bool {
	everybody := f.Client == ""
	if p, err := netip.ParsePrefix(f.Client); err == nil {
		everybody = p.Bits() == 0
	}
	return f.Backend == "" && f.ID == "" && everybody && (f.Service == "" || f.MinAge == 0)
}

// confirm asks the person.
func (c *call) confirm(ctx context.Context, f api.Filter) (sure bool, err error) {
	if _, _, ok := c.env.Terminal(c.cmd.InOrStdin()); !ok {
		return false, usage(c.cmd, "this selects %s: say --yes if that is meant", selected(f))
	}
	// How many there are tells a slip better than any warning.
	var s api.Sessions
	r := sessionsRequest(f, "", 1)
	if _, err := c.do(ctx, r, &s); err != nil {
		return false, err
	}
	c.errs.w.WriteString(fmt.Sprintf("kill %s, which is %s? [y/N] ", plural(s.Total, "session"), selected(f)))
	c.errs.flush()
	line, _ := bufio.NewReader(c.cmd.InOrStdin()).ReadString('\n') // an end without an answer is a no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, fmt.Errorf("nothing was killed")
}

// selected is what a sweeping filter selects, in words.
func selected(f api.Filter) string {
	if f.Service == "" {
		return "clients of every service"
	}
	return "all of " + clean(f.Service)
}

// query is the flags that select sessions.
type query struct {
	id, client string
	minAge     time.Duration
}

// register adds the flags that sessions and kill share: what was listed is what is killed.
func (q *query) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.client, "client", "", "clients with this address, or within this `CIDR`")
	f.DurationVar(&q.minAge, "min-age", 0, "sessions that are at least this `TIME` old")
}

// filter checks what the server would refuse, where it can be said which flag is wrong.
func (q *query) filter(cmd *cobra.Command, args []string) (f api.Filter, err error) {
	if len(args) > 0 {
		if f.Service, f.Backend = split(args[0]); f.Service == "" || strings.HasSuffix(args[0], "/") && f.Backend == "" {
			return f, usage(cmd, "%s is not SERVICE or SERVICE/BACKEND", quote(args[0]))
		}
	}
	if q.client != "" {
		_, bad := netip.ParsePrefix(q.client)
		if _, err := netip.ParseAddr(q.client); err != nil && bad != nil {
			return f, usage(cmd, "--client: %s is not an address or a CIDR such as 10.1.0.0/16", quote(q.client))
		}
	}
	if service, number, ok := strings.Cut(q.id, "/"); q.id != "" && (!ok || service == "" || number == "") {
		return f, usage(cmd, "--id: %s is not SERVICE/NUMBER", quote(q.id))
	}
	if q.minAge < 0 {
		return f, usage(cmd, "--min-age: must not be below 0")
	}
	f.ID, f.Client, f.MinAge = q.id, q.client, api.Duration(q.minAge)
	return f, nil
}

// sessionsRequest asks for sessions. Limit 0 is all of them.
func sessionsRequest(f api.Filter, sort string, limit int) request {
	q := url.Values{}
	for name, value := range map[string]string{
		"service": f.Service, "backend": f.Backend, "client": f.Client, "sort": sort,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.MinAge > 0 {
		q.Set("min_age", f.MinAge.String())
	}
	q.Set("limit", fmt.Sprint(limit))
	return request{path: "/sessions", query: q, service: f.Service, backend: f.Backend}
}
