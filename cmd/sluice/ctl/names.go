package ctl

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// completionTime is how long a shell waits for names.
const completionTime = 500 * time.Millisecond

// split reads S/B. A service's name has no slash, a backend's may.
func split(arg string) (service, backend string) {
	service, backend, _ = strings.Cut(arg, "/")
	return service, backend
}

// pair reads S/B where both must be given.
func pair(cmd *cobra.Command, arg string) (service, backend string, err error) {
	service, backend = split(arg)
	if service == "" || backend == "" {
		return "", "", usage(cmd, "%s is not SERVICE/BACKEND", quote(arg))
	}
	return service, backend, nil
}

// between takes from least to most arguments; hint says what to write.
func between(least, most int, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, "%s: an argument is missing: %s", cmd.Name(), hint)
		case len(args) > most && most == 0:
			return usage(cmd, "%s takes no argument %s", cmd.Name(), quote(args[0]))
		case len(args) > most:
			return usage(cmd, "%s: one argument too many: %s; it takes %s", cmd.Name(), quote(args[most]), hint)
		}
		for _, a := range args {
			if a == "" {
				return usage(cmd, "%s: an argument is empty: %s", cmd.Name(), hint)
			}
		}
		return nil
	}
}

// completeServices offers the names of services for the first argument.
func (e *Env) completeServices(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return printable(names(e.running(cmd))), cobra.ShellCompDirectiveNoFileComp
}

// completeBackends offers services, and SERVICE/BACKEND once the service is there.
func (e *Env) completeBackends(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := e.running(cmd)
	service, _, slash := strings.Cut(start, "/")
	var list []string
	for _, s := range all {
		switch {
		case !slash:
			list = append(list, s.Name+"/")
		case s.Name == service:
			for _, b := range backendNames(s) {
				list = append(list, s.Name+"/"+b)
			}
		}
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	// The slash is offered with a service, and the backend follows without a space.
	if !slash {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return printable(list), directive
}

// running returns what the server has, or nothing: a shell shows no errors.
func (e *Env) running(cmd *cobra.Command) []api.Service {
	opt := optionsOf(cmd)
	opt.timeout = completionTime
	t, err := e.target(cmd, &opt)
	if err != nil {
		return nil
	}
	c := newClient(t, completionTime, e)
	defer c.close()
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background() // cobra gives none to a completion
	}
	all, _, err := c.services(ctx)
	if err != nil {
		return nil
	}
	return all
}

// optionsOf reads the common flags back from a command.
func optionsOf(cmd *cobra.Command) (o options) {
	for name, value := range map[string]*string{
		"admin": &o.admin, "token": &o.token, "config": &o.file, "ca": &o.ca, "cert": &o.cert, "key": &o.key,
	} {
		if f := cmd.Flags().Lookup(name); f != nil {
			*value = f.Value.String()
		}
	}
	return o
}

// printable drops names that a shell would stumble over.
func printable(list []string) []string {
	kept := list[:0]
	for _, s := range list {
		if clean(s) == s {
			kept = append(kept, s)
		}
	}
	return kept
}

// choices completes the value of a flag from a fixed list.
func choices(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that is not there, or twice.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
