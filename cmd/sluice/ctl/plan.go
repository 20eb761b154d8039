package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxFile is more than the server reads, which has its own words for it.
const maxFile = 8 << 20

// plan sends the file's text and not its name, for the server may run elsewhere or not be
// allowed to read it.
func (e *Env) plan() *cobra.Command {
	var old string
	cmd := &cobra.Command{
		Use:   "plan -c FILE [--from FILE]",
		Short: "Say what a reload of a file would change",
		Long: `Compare a file with what runs, or with the file of --from, without changing anything:
what would change, and which share of the clients of hashed services would get another
backend. A file with faults is refused, each with its place.`,
		Example: `  sluice plan -c new.yaml
  sluice plan -c new.yaml --from sluice.yaml`,
		Args: between(0, 0, "-c FILE"),
	}
	cmd.Flags().StringVar(&old, "from", "", "compare with this `FILE`, and not with a running sluice")
	// The new file says where the server is only if it is right; what is wrong with it is for
	// the server to say.
	e.defineWith(&options{guess: true}, cmd, true, func(ctx context.Context, c *call, _ []string) error {
		switch {
		case c.opt.file == "":
			return usage(cmd, "which file? Use -c FILE")
		case old != "":
			return c.offline(old)
		}
		text, err := readFile(c.opt.file)
		if err != nil {
			return err
		}
		r := request{path: "/plan", query: url.Values{"name": {c.opt.file}}, kind: yamlType}
		var plan api.Plan
		raw, err := c.do(ctx, r.send(http.MethodPost, text), &plan)
		if err != nil {
			return err
		}
		return c.show(raw, func() { writePlan(c.out, plan) })
	})
	cmd.Flags().Lookup("config").Usage = "the new configuration `FILE`"
	return cmd
}

// offline compares two files.
func (c *call) offline(old string) error {
	if c.env.Diff == nil {
		return errors.New("--from: two files cannot be compared here; without it the file is compared with the running sluice")
	}
	plan, err := c.env.Diff(old, c.opt.file)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return c.show(raw, func() { writePlan(c.out, plan) })
}

// readFile reads no more than anybody wants of a file.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB, which no configuration is", path, maxFile>>20)
	}
	return text, err
}

// reload answers as plan does, so that the two can be compared line by line.
func (e *Env) reload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Read the file again",
		Long: `Have the running sluice read the file that it was started with again, as SIGHUP does,
and print what changed. A file with faults is refused, each with its place, and changes
nothing.`,
		Example: "  sluice plan -c sluice.yaml && sluice reload",
		Args:    between(0, 0, ""),
	}
	return e.define(cmd, true, func(ctx context.Context, c *call, _ []string) error {
		if err := c.readsFile(ctx, cmd); err != nil {
			return err
		}
		var plan api.Plan
		raw, err := c.do(ctx, request{path: "/reload"}.send(http.MethodPost, nil), &plan)
		if err != nil {
			return err
		}
		return c.show(raw, func() { writePlan(c.out, plan) })
	})
}

// readsFile refuses a file of -c that is not the one which a reload reads: after a plan of it
// that is easily typed.
func (c *call) readsFile(ctx context.Context, cmd *cobra.Command) error {
	given := cmd.Flags().Lookup("config")
	if given == nil || !given.Changed {
		return nil
	}
	var st api.Status
	if _, err := c.do(ctx, request{path: "/status"}, &st); err != nil {
		return err
	}
	if filepath.Base(given.Value.String()) == filepath.Base(st.File) {
		return nil
	}
	return usage(cmd, "a reload reads %s, the file that sluice was started with, not %s", quote(st.File), quote(given.Value.String()))
}

// writePlan prints changes in the server's order, which is the file's.
func writePlan(p *printer, plan api.Plan) {
	would := "would change"
	if plan.Applied {
		would = "changed"
	}
	switch len(plan.Changes) {
	case 0:
		p.line("nothing %s", would)
	case 1:
		p.line("1 thing %s:", would)
	default:
		p.line("%d things %s:", len(plan.Changes), would)
	}
	for _, c := range plan.Changes {
		writeChange(p, c)
	}
	for _, m := range plan.Moved {
		move, have := "move", "have"
		if plan.Applied {
			move, have = "moved", "had"
		}
		p.line("%s (%s): %s of clients %s to another backend; %s %s to, theirs is gone", m.Service, m.Balance, percent(m.Share), move, percent(m.Needed), have)
	}
}

// writeChange prints what, where, from what to what, and what that means.
func writeChange(p *printer, c api.Change) {
	sign := map[string]painted{"add": {"32", "+"}, "remove": {red, "-"}}[c.Action]
	if sign.text == "" {
		sign = painted{yellow, "~"}
	}
	where := c.Service
	if c.Backend != "" {
		where += "/" + c.Backend
	}
	if where == "" {
		where = "sluice"
	}
	text := c.Action + " " + where
	if c.Key != "" {
		text += " " + c.Key
	}
	switch {
	case c.From != "" && c.To != "":
		text += ": " + c.From + " -> " + c.To
	case c.From != "":
		text += ": was " + c.From
	case c.To != "":
		text += ": " + c.To
	}
	p.line("%s %s", sign, text)
	if c.Note != "" {
		p.line("    %s", c.Note)
	}
}

// percent of a share from 0 to 1.
func percent(share float64) string {
	return trimZero(strconv.FormatFloat(share*100, 'f', 1, 64)) + " %"
}
