package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/systemd"
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
			return runFile(cmd.Context(), path, file, app.Engine(engine), signals, cmd.ErrOrStderr())
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

// process is one `sluice run`.
type process struct {
	app      *app.App
	log      *slog.Logger
	signals  <-chan os.Signal
	notifier *systemd.Notifier
}

// runFile runs until a signal or the end of ctx. A reload reads the file at path; "" is none.
func runFile(ctx context.Context, path string, file config.File, engine app.Engine, signals <-chan os.Signal, stderr io.Writer) error {
	defer spareThread()()
	passed := systemd.Passed()
	defer passed.Close()
	level := &slog.LevelVar{}
	direct := newLog(file.Log, level, stderr)
	queue := newLogQueue(stderr, func(n int64) { direct.Warn("log records dropped", "records", n) })
	defer queue.Close(lastWords)
	log := newLog(file.Log, level, queue)
	a, err := app.New(file, app.Options{
		Engine: engine, Log: log, Level: level, Path: path, Passed: passed, Version: version(), LogDropped: queue.Dropped,
	})
	if err != nil {
		return err
	}
	log.Info("starting", "version", version(), "pid", os.Getpid(), "services", len(file.Services), "engine", string(engine.Resolved()))
	page, err := a.ServeAdmin(ctx)
	if err != nil {
		a.Discard()
		return err
	}
	defer page.Stop()
	if err := a.Start(ctx); err != nil {
		return err
	}
	p := &process{app: a, log: log, signals: signals, notifier: systemd.NewNotifier(log)}
	p.run(ctx)
	return nil
}

// run serves until it is to stop.
func (p *process) run(ctx context.Context) {
	runtime.GC() // of what starting left: now, and not when the first clients are there
	p.notifier.Ready()
	watched, unwatch := context.WithCancel(context.Background())
	var watchdog sync.WaitGroup
	watchdog.Go(func() { p.notifier.Watchdog(watched, p.turns) })
	p.waitToStop(ctx)
	p.notifier.Stopping()
	p.stop()
	unwatch()
	watchdog.Wait()
}

// turnsWithin is how long an event loop may take to come round. None takes a millisecond
// unless it hangs, or the machine gives the process no time.
const turnsWithin = 5 * time.Second

// turns tells the watchdog whether clients are served.
func (p *process) turns() bool {
	ctx, cancel := context.WithTimeout(context.Background(), turnsWithin)
	defer cancel()
	err := p.app.Turns(ctx)
	if err != nil {
		p.log.Error("not turning", "error", err)
	}
	return err == nil
}

// waitToStop returns when the process is to end, and answers other signals until then.
func (p *process) waitToStop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-p.signals:
			switch {
			case stops(s):
				return
			case reloads(s):
				go p.reload() // on its own: a file that hangs must not keep the process from ending
			default:
				sayIgnored(s, p.log)
			}
		}
	}
}

// reload reads the file again. What is wrong with it is in the log.
func (p *process) reload() {
	p.notifier.Reloading()
	defer p.notifier.Ready()
	if _, err := p.app.Reload(api.Mark{Who: "SIGHUP"}); err == nil {
		p.notifier.Status("reloaded")
	} else {
		p.notifier.Status("reload refused: " + err.Error())
	}
}

// stop has the outside know first, then drains within the time of the file, 0 being without
// bound, or until a second signal.
func (p *process) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	drained := make(chan int)
	go func() { drained <- p.drain(ctx) }()
	began := time.Now()
	for {
		select {
		case s := <-p.signals:
			if stops(s) {
				p.log.Warn("drain cut short", "signal", signalName(s))
				cancel()
			} else {
				sayIgnored(s, p.log)
			}
		case forced := <-drained:
			p.log.Info("stopped", "forced", forced, "drain", time.Since(began).Round(time.Millisecond).String())
			return
		}
	}
}

// drain ends the balancer; with ctx done, at once. It returns how many sessions were reset.
func (p *process) drain(ctx context.Context) int {
	delay, within := p.app.Shutdown()
	if p.app.NotReady(); delay > 0 {
		p.log.Info("not ready", "delay", delay.String())
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	return p.app.Drain(ctx, func(sessions int64) {
		p.notifier.Extend(extendBy)
		p.notifier.Status(fmt.Sprintf("draining: %d sessions", sessions))
	})
}

// extendBy is for how much longer the service manager is asked to wait each time.
const extendBy = 30 * time.Second

// newLog makes the process's log.
func newLog(c config.Log, level *slog.LevelVar, w io.Writer) *slog.Logger {
	opt := &slog.HandlerOptions{Level: level}
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Level)); err == nil { // validation lets only levels pass
		level.Set(l)
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
