package ctl

import (
	"context"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// pick asks for an address and takes no name: which of a name's addresses a client has is not
// ours to guess.
func (e *Env) pick() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "pick SERVICE --source IP",
		Short: "Say which backend a client would get now, and why",
		Long: `Say which backend a client with that address would get now, and why. Nothing is
connected, and no turn is used up.`,
		Example: "  sluice pick web --source 10.1.2.3",
		Args:    between(1, 1, "SERVICE"), ValidArgsFunction: e.completeServices,
	}
	cmd.Flags().StringVar(&source, "source", "", "the client's `IP` address")
	return e.define(cmd, true, func(ctx context.Context, c *call, args []string) error {
		if err := serviceOnly(cmd, args[0]); err != nil {
			return err
		}
		if source == "" {
			return usage(cmd, "which client? Give --source IP")
		}
		if _, err := netip.ParseAddr(source); err != nil {
			return usage(cmd, "--source: %s is not an IP address", quote(source))
		}
		r := of(args[0], "", "/pick")
		r.query = url.Values{"source": {source}}
		var pick api.Pick
		raw, err := c.do(ctx, r, &pick)
		if err != nil {
			return err
		}
		return c.show(raw, func() { writePick(c.out, pick) })
	})
}

// writePick says first how sure the answer is: of policies that take turns it is none.
func writePick(p *printer, k api.Pick) {
	switch {
	case k.Choice == "":
		p.line("%s would get %s of %s (%s)", k.Source, painted{red, "no backend"}, k.Service, k.Balance)
	case k.Certain:
		p.line("%s gets %s (%s)", k.Source, painted{bold, k.Service + "/" + k.Choice}, k.Balance)
	default:
		p.line("%s would get %s (%s), but the next moment may be another's", k.Source, painted{bold, k.Service + "/" + k.Choice}, k.Balance)
	}
	if k.Why != "" {
		p.line("  %s", k.Why)
	}
	if k.Key != "" {
		p.line("  key %s, table %s", k.Key, k.Digest)
	}
	if len(k.Candidates) > 0 {
		p.line("")
		t := &table{columns: []column{
			{title: "CANDIDATE", least: 12}, {title: "TIER", right: true}, {title: "PRIORITY", right: true}, {title: "HEALTH"},
			{title: "WEIGHT", right: true}, {title: "SESSIONS", right: true},
		}}
		for _, b := range k.Candidates {
			t.add(b.Backend, strconv.Itoa(b.Tier), strconv.Itoa(b.Priority), b.Health, strconv.Itoa(b.Weight), count(b.Sessions))
		}
		t.print(p)
	}
	if len(k.Excluded) > 0 {
		p.line("")
	}
	for _, b := range k.Excluded {
		p.line("not %s: %s", b.Backend, b.Reason)
	}
}
