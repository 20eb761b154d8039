package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

var errNoFile = errors.New("no file given: use -c FILE")

func newRunCommand() *cobra.Command {
	var path string
	var flags config.Flags
	var engine string
	cmd := &cobra.Command{
		Use:   "run (-c FILE | --listen ADDR [flags] BACKEND...)",
		Short: "Run from a file, or one service from flags",
		Example: `  sluice run -c sluice.yaml
  sluice run --listen :8080 --balance least-conn --check http 10.0.0.1:80 10.0.0.2:80`,
		RunE: func(cmd *cobra.Command, args []string) error {
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, handledSignals()...)
			defer signal.Stop(signals)
			ignoreBrokenPipes()
			flags.Backends = args
			file, err := runConfig(cmd, path, flags)
			if err != nil {
				return err
			}
			return runFile(cmd.Context(), file, app.Engine(engine), signals, cmd.ErrOrStderr())
		},
	}
	fileFlag(cmd, &path)
	f := cmd.Flags()
	f.StringSliceVar(&flags.Listen, "listen", nil, "`ADDR` to accept on, host:port, unix:/path or fd:NAME; may be repeated")
	f.StringVar(&flags.Balance, "balance", "", "policy: round-robin, least-conn, p2c, random, source-hash, maglev or first")
	f.StringVar(&flags.Check, "check", "", "active check: tcp, http, redis, postgres, mysql or none")
	f.StringVar(&flags.SendProxy, "send-proxy", "", "PROXY header to backends: none, v1 or v2")
	f.StringVar(&flags.Admin, "admin", "", "`ADDR` of the admin page: unix:/path, or host:port on loopback")
	f.StringVar(&flags.LogSessions, "log-sessions", "", "sessions to log: all, errors or off")
	f.StringVar(&engine, engineFlag, "", "relay `ENGINE`: portable or loops")
	f.MarkHidden(engineFlag) // fails only for a flag that is not there
	return cmd
}

// engineFlag selects the relay engine. It is for comparisons and for help in need.
const engineFlag = "engine"

// runConfig reads the file, or the flags in its place.
func runConfig(cmd *cobra.Command, path string, flags config.Flags) (config.File, error) {
	if path == "" {
		if len(flags.Listen) == 0 {
			return config.File{}, usageError{errors.New("nothing to run: use -c FILE, or --listen ADDR and backends"), cmd.CommandPath()}
		}
		return config.FromFlags(flags)
	}
	given := cmd.Flags().NFlag()
	if cmd.Flags().Changed(engineFlag) {
		given-- // a matter of the process, not of the configuration
	}
	if given > 1 || len(flags.Backends) > 0 {
		return config.File{}, usageError{errors.New("-c FILE goes with no other flag and no backend"), cmd.CommandPath()}
	}
	return loadFile(path)
}

// spareThread has Go run one thread more than it would, until restore is called: the
// event loops take one for each processor, and everything else needs one too.
func spareThread() (restore func()) {
	was := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(was + 1)
	return func() { runtime.GOMAXPROCS(was) }
}

// runFile runs until a signal or the end of ctx.
func runFile(ctx context.Context, file config.File, engine app.Engine, signals <-chan os.Signal, stderr io.Writer) error {
	defer spareThread()()
	direct := newLog(file.Log, stderr)
	queue := newLogQueue(stderr, func(n int64) { direct.Warn("log records dropped", "records", n) })
	defer queue.Close(lastWords)
	log := newLog(file.Log, queue)
	a, err := app.New(file, engine, log)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version(), "pid", os.Getpid(), "services", len(file.Services), "engine", string(engine.Resolved()))
	if err := a.Start(ctx); err != nil {
		return err
	}
	waitToStop(ctx, signals, log)
	stop(a, file.ShutdownTimeout, signals, log)
	return nil
}

// waitToStop returns when the process is to end, and answers other signals until then.
func waitToStop(ctx context.Context, signals <-chan os.Signal, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			if stops(s) {
				return
			}
			sayIgnored(s, log)
		}
	}
}

// stop drains within the given time, 0 being without bound, or until a second signal.
func stop(a *app.App, within time.Duration, signals <-chan os.Signal, log *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if within > 0 {
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	drained := make(chan int)
	go func() { drained <- a.Drain(ctx) }()
	began := time.Now()
	for {
		select {
		case s := <-signals:
			if stops(s) {
				log.Warn("drain cut short", "signal", signalName(s))
				cancel()
			} else {
				sayIgnored(s, log)
			}
		case forced := <-drained:
			log.Info("stopped", "forced", forced, "drain", time.Since(began).Round(time.Millisecond).String())
			return
		}
	}
}

// newLog makes the process's log.
func newLog(c config.Log, w io.Writer) *slog.Logger {
	opt := &slog.HandlerOptions{}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err == nil { // validation lets only levels pass
		opt.Level = level
	}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, opt))
	}
	return slog.New(slog.NewJSONHandler(w, opt))
}

func sayIgnored(s os.Signal, log *slog.Logger) {
	if msg, reason := ignored(s); msg != "" {
		log.Warn(msg, "signal", signalName(s), "reason", reason)
	}
}
