package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/ctl"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	log.SetOutput(io.Discard) // net/http speaks there of connections that others misuse; we do not
	os.Exit(exitStatus(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// run executes one command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// usageError is a command line that cannot be understood.
type usageError struct {
	error
	command string // to ask for help; "" = sluice
}

// exitStatus reports err and returns the process's status for it.
func exitStatus(err error, stderr io.Writer) int {
	var usage usageError
	if u := (ctl.UsageError{}); errors.As(err, &u) {
		err = usageError{u.Err, u.Command}
	}
	exit := ctl.ExitError{Status: exitFailed}
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"): // cobra has no type for it
		fmt.Fprintf(stderr, "sluice: %v\nrun '%s --help' for usage\n", err, cmp.Or(usage.command, "sluice"))
		return exitUsage
	}
	fmt.Fprintln(stderr, err)
	errors.As(err, &exit) // else it stays
	return exit.Status
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A layer-4 TCP load balancer",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError{error: errors.New("which command?")}
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{err, cmd.CommandPath()} })
	run := newRunCommand()
	completeRun(run)
	root.AddCommand(run, newCheckCommand(), newDemoCommand(), newUnitCommand(), newContainerCommand(), newVersionCommand())
	root.AddCommand(ctl.Commands(controls())...)
	return root
}

// completeRun tells a shell the values of flags that have few. It fails only for flags that
// are not there.
func completeRun(cmd *cobra.Command) {
	for flag, values := range map[string][]string{
		"balance":      config.Balances(),
		"check":        {"tcp", "http", "redis", "postgres", "mysql", "none"},
		"send-proxy":   {"none", "v1", "v2"},
		"log-sessions": {"all", "errors", "off"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// controls is what the commands that talk to a running sluice may know of this process.
func controls() ctl.Env {
	return ctl.Env{
		Getenv:    os.Getenv,
		User:      ctl.User,
		Terminal:  ctl.Terminal,
		Interrupt: untilInterrupted,
		AdminOf:   adminOf,
		Diff:      diffFiles,
	}
}

// diffFiles compares two files.
func diffFiles(old, next string) (api.Plan, error) {
	from, err := config.Load(old)
	if err != nil {
		return api.Plan{}, err
	}
	to, err := config.Load(next)
	if err != nil {
		return api.Plan{}, err
	}
	return app.Diff(from, to), nil
}

// untilInterrupted returns a context that the first signal ends; the second ends the process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// adminOf reads where a file says that the admin server is.
func adminOf(path string) (ctl.Admin, error) {
	file, err := config.Load(path)
	if err != nil || file.Admin == nil {
		return ctl.Admin{}, err
	}
	return ctl.Admin{Listen: file.Admin.Listen, Token: file.Admin.Token}, nil
}

// noArgs refuses arguments; hint, if any, says what to write instead.
func noArgs(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usageError{fmt.Errorf("%s takes no argument %q%s", cmd.Name(), args[0], hint), cmd.CommandPath()}
	}
}
