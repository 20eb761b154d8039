package systemd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// manager is a service manager's end of NOTIFY_SOCKET.
type manager struct {
	*net.UnixConn
}

// manage listens at address, or at a path of its own for "", and has NOTIFY_SOCKET name it.
func manage(t *testing.T, address string) manager {
	t.Helper()
	if address == "" {
		address = filepath.Join(shortDir(t), "notify")
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", address)
	return manager{conn}
}

// shortDir is a directory whose path leaves room in a socket's address, as that of t.TempDir may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// next returns the next message.
func (m manager) next(t *testing.T) string {
	t.Helper()
	m.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 4096)
	n, err := m.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestEachStateIsOneMessage(t *testing.T) {
	m := manage(t, "")
	n := NewNotifier(nil)
	for _, c := range []struct {
		tell func()
		want string // a regular expression
	}{
		{n.Ready, `^READY=1$`},
		{n.Reloading, `^RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*\n$`},
		{n.Stopping, `^STOPPING=1$`},
		{func() { n.Status("3 services, 9 of 9 backends usable") }, `^STATUS=3 services, 9 of 9 backends usable$`},
		{func() { n.Status("one\nREADY=1\r\ntwo") }, `^STATUS=one READY=1  two$`},
		{func() { n.Extend(1500 * time.Millisecond) }, `^EXTEND_TIMEOUT_USEC=1500000$`},
	} {
		c.tell()
		if got := m.next(t); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("got %q, want %s", got, c.want)
		}
	}
}

func TestNothingHappensWithoutAManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000")
	t.Setenv("WATCHDOG_PID", "")
	log, text := newLog()
	n := NewNotifier(log)
	n.Ready()
	n.Reloading()
	n.Stopping()
	n.Status("x")
	n.Extend(time.Second)
	n.Watchdog(t.Context(), func() bool { t.Error("asked for health"); return true })
	if text.Len() > 0 {
		t.Errorf("logged: %s", text)
	}
}

func TestAManagerThatCannotBeToldIsLoggedOnce(t *testing.T) {
	for name, address := range map[string]string{
		"no such socket": filepath.Join(shortDir(t), "none"),
		"another family": "vsock:2:9000",
		"no path":        "x",
		"too long":       "/" + strings.Repeat("x", 200),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NOTIFY_SOCKET", address)
			log, text := newLog()
			n := NewNotifier(log)
			n.Ready()
			n.Status("x")
			n.Stopping()
			if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="service manager not told"`) {
				t.Errorf("logged: %s", got)
			}
		})
	}
	if err := sendTo("vsock:2:9000", "READY=1"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want %v", err, errors.ErrUnsupported)
	}
}

func TestAManagerThatDoesNotReadIsNotWaitedFor(t *testing.T) {
	manage(t, "")
	address := os.Getenv("NOTIFY_SOCKET")
	fill(t, address)
	began := time.Now()
	err := sendTo(address, "READY=1")
	if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took > patience {
		t.Errorf("%v after %v", err, took)
	}
}

// fill sends to address until its queue is full.
func fill(t *testing.T, address string) {
	t.Helper()
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: address})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for range 1_000_000 {
		if _, err := conn.Write([]byte("x")); err != nil {
			return
		}
	}
	t.Fatal("the queue has no end")
}

func TestTheWatchdogIsAnsweredTwiceInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Second)
		defer cancel()
		began := time.Now()
		healthy := func() bool { at := time.Since(began); return at < 6*time.Second || at > 16*time.Second }
		var beats []time.Duration
		log, text := newLog()
		n := &Notifier{address: "unused", log: log}
		n.watch(ctx, 5*time.Second, healthy, func() { beats = append(beats, time.Since(began)) })
		want := []time.Duration{0, 5 * time.Second, 20 * time.Second}
		if !slices.Equal(beats, want) {
			t.Errorf("beats at %v, want %v", beats, want)
		}
		if got := text.String(); strings.Count(got, `msg="watchdog not answered" within=10s`) != 1 || strings.Count(got, "\n") != 1 {
			t.Errorf("logged: %s", got)
		}
	})
}

func TestTheWatchdogReachesTheManager(t *testing.T) {
	m := manage(t, "")
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewNotifier(nil).Watchdog(ctx, func() bool { return true })
	}()
	for range 3 {
		if got := m.next(t); got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the watchdog goes on")
	}
}

func TestTheWatchdogOfNobodyReturnsAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ usec, pid, log string }{
		"none is asked for":    {"", "", ""},
		"another process's":    {"1000", "1", ""},
		"no number":            {"soon", "", "WATCHDOG_USEC"},
		"no time":              {"0", "", "WATCHDOG_USEC"},
		"no number of process": {"1000", "x", "WATCHDOG_PID"},
	} {
		t.Run(name, func(t *testing.T) {
			manage(t, "")
			t.Setenv("WATCHDOG_USEC", c.usec)
			t.Setenv("WATCHDOG_PID", c.pid)
			log, text := newLog()
			NewNotifier(log).Watchdog(t.Context(), func() bool { t.Error("asked for health"); return true })
			if got := text.String(); (got == "") != (c.log == "") || !strings.Contains(got, c.log) {
				t.Errorf("logged %q, want one about %q", got, c.log)
			}
		})
	}
}

// newLog returns a log and where it is written.
func newLog() (*slog.Logger, *bytes.Buffer) {
	var text bytes.Buffer
	return slog.New(slog.NewTextHandler(&text, nil)), &text
}
