package systemd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// sendTimeout is how long a full queue of the manager is waited for. It is far above what an answer takes, and far below
// every timeout that a manager has for a service.
const sendTimeout = time.Second

// Notifier tells the service manager how the service is, by the protocol of sd_notify(3). Its methods may be called from
// any goroutine. They do nothing where no manager wants to know; where one cannot be told, the first failure is logged.
type Notifier struct {
	address string // "" = nobody wants to know
	log     *slog.Logger
	failed  atomic.Bool
}

// NewNotifier returns a Notifier for the socket that NOTIFY_SOCKET names now: a path, or an abstract one with @ in front.
// A nil log discards.
func NewNotifier(log *slog.Logger) *Notifier {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Notifier{address: os.Getenv("NOTIFY_SOCKET"), log: log}
}

// Ready tells that the start, or a reload that Reloading told of, is over.
func (n *Notifier) Ready() { n.send(daemon.SdNotifyReady) }

// Reloading tells that a reload begins. Ready is to follow, whether the reload is applied or refused: a unit of
// Type=notify-reload waits for it.
func (n *Notifier) Reloading() {
	// The time tells the manager which of its requests this answers, systemd.service(5).
	n.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping tells that the service ends.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping) }

// Extend asks for time: a start or stop that is under way may go on for d from now, and longer if Extend is called again
// within it. A drain that the file allows to be longer than the unit's TimeoutStopSec needs it.
func (n *Notifier) Extend(d time.Duration) {
	n.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()))
}

// Status sets the line that `systemctl status` shows.
func (n *Notifier) Status(text string) {
	// A line end would begin another assignment.
	n.send("STATUS=" + strings.NewReplacer("\n", " ", "\r", " ").Replace(text))
}

// Watchdog tells the manager that the service lives, at once and then twice in every WATCHDOG_USEC, while healthy says
// so. Once healthy says no, or does not return, the manager ends the process when WATCHDOG_USEC has passed. Watchdog
// returns when ctx is done, or at once if the manager does not watch this process.
func (n *Notifier) Watchdog(ctx context.Context, healthy func() bool) {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.fail(err)
	}
	if err != nil || within == 0 || n.address == "" {
		return
	}
	n.watch(ctx, within/2, healthy, func() { n.send(daemon.SdNotifyWatchdog) })
}

// watch calls alive at every beat at which healthy holds, and says once when it no longer does.
func (n *Notifier) watch(ctx context.Context, beat time.Duration, healthy func() bool, alive func()) {
	tick := time.NewTicker(max(beat, time.Millisecond))
	defer tick.Stop()
	for was := true; ; {
		now := healthy()
		switch {
		case now:
			alive()
		case was:
			n.log.Warn("watchdog not answered", "within", (2 * beat).String())
		}
		was = now
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// send sends one message. daemon.SdNotify would do, but waits for a full queue without end.
func (n *Notifier) send(state string) {
	if n.address == "" {
		return
	}
	if err := sendTo(n.address, state); err != nil {
		n.fail(err)
	}
}

func sendTo(address, state string) error {
	if address[0] != '/' && address[0] != '@' {
		return fmt.Errorf("systemd: notify: address %q: %w", address, errors.ErrUnsupported)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: address})
	if err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	return nil
}

func (n *Notifier) fail(err error) {
	if !n.failed.Swap(true) {
		n.log.Warn("service manager not told", "error", err)
	}
}
