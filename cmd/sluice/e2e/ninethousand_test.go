//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

var churnFor = flag.Duration("churn", 2*time.Second, "how `long` each churn between thousands of idle sessions lasts, at most 50s")

// gathering is a sluice, built as users build it, with thousands of clients.
type gathering struct {
	*parts.Sluice
	t      *testing.T
	engine string
	addr   string
	fds    parts.FDs // without a session
	opened int       // sessions so far

	scanned int // records of the log
	inLog   int // sessions in them
}

// Serial: it measures memory.
func TestNineThousandIdleSessionsAndChurnLeaveNothingBehind(t *testing.T) {
	for _, engine := range []string{loops, "portable"} {
		t.Run(engine, func(t *testing.T) {
			c := gather(t, engine)
			n := idleMost(t, 9000)
			c.session(0)
			c.fds = atRest(t, c.Sluice)
			var full, empty [2]int
			for round := range full {
				full[round] = c.idle(n)
				churned := c.churn()
				c.awaitNone()
				c.awaitLogged()
				empty[round] = parts.RSSAnon(t, c.Pid())
				t.Logf("round %d: %d idle sessions, %d KB; %d short ones, then none, %d KB",
					round+1, n, full[round]>>10, churned, empty[round]>>10)
			}
			c.grownLittle("with all idle sessions", full)
			if engine == loops { // the portable engine's stacks go back to the system in the runtime's own time
				c.grownLittle("without a session", empty)
			}
		})
	}
}

// grownLittle compares the memory of two rounds; not with a fresh process, for tables stay as large as they have been.
//
// Rounds differ by garbage, which GOGC=10 keeps to a tenth of the heap and stacks, and by the log's queue: 3 MB while
// its reader is behind. A leak of 400 bytes a session would be more than both.
func (c *gathering) grownLittle(when string, rounds [2]int) {
	c.t.Helper()
	if most := rounds[0] + rounds[0]/10 + 3<<20; rounds[1] > most {
		c.t.Errorf("%d KB %s in the second round, want at most %d KB after %d KB in the first",
			rounds[1]>>10, when, most>>10, rounds[0]>>10)
	}
}

// idleMost is n, or how many sessions the file limit of this machine has room for: a sluice leaves an eighth of it to
// pipes, and some for itself.
func idleMost(t *testing.T, n int) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max > 1<<20 {
		return n
	}
	room := (int(limit.Max) - int(limit.Max)/8 - 50) / 2
	if room < n/2 {
		t.Fatalf("the hard limit of %d open files is too low for this test: raise it to %d (ulimit -Hn)", limit.Max, 8*(n*2+50)/7)
	}
	if room < n {
		t.Logf("%d sessions instead of %d, since no more than %d files may be open", room, n, limit.Max)
	}
	return min(n, room)
}

// gather starts the sluice. Its backends are processes, since the sockets of both ends are too many for one.
func gather(t *testing.T, engine string) *gathering {
	t.Helper()
	var addrs []string
	for range 3 {
		addrs = append(addrs, parts.StartPeer(t, "echo", "").Addr)
	}
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), Engine: engine, Env: []string{"GOGC=10"}, YAML: service(noCheck, addrs...)})
	return &gathering{Sluice: s, t: t, engine: engine, addr: s.Addr(t, "s")}
}

// session is one short session of client i.
func (c *gathering) session(i int) {
	c.t.Helper()
	c.opened++
	if err := c.short(i); err != nil {
		c.t.Fatal(err)
	}
}

func (c *gathering) short(i int) error {
	conn, err := c.open(i)
	if err == nil {
		err = conn.Close()
	}
	return err
}

// open opens a session that has passed 100 bytes.
func (c *gathering) open(i int) (net.Conn, error) {
	conn, err := parts.TryDial(sourceOf(i), c.addr)
	if err != nil {
		return nil, err
	}
	if err := parts.Roundtrip(conn, fmt.Sprintf("%0100d", i)); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("session %d: %w", i, err)
	}
	return conn, nil
}

// idle opens n sessions, looks at what they hold, and closes them. It returns the memory while they were open.
func (c *gathering) idle(n int) int {
	c.t.Helper()
	conns := make([]net.Conn, n)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	each(c.t, 50, func(worker int) (err error) {
		for i := worker; i < n && err == nil; i += 50 {
			conns[i], err = c.open(i)
		}
		return err
	})
	c.opened += n
	now := parts.CountFDs(c.t, c.Pid())
	if held := now.Total - c.fds.Total; c.engine == loops && held != 2*n {
		c.t.Errorf("%d descriptors for %d idle sessions, want 2 each: %+v, before them %+v", held, n, now, c.fds)
	}
	return parts.RSSAnon(c.t, c.Pid())
}

// churn makes short sessions for a while, and returns how many.
func (c *gathering) churn() int {
	c.t.Helper()
	end := time.Now().Add(*churnFor)
	var n atomic.Int64
	each(c.t, 16, func(int) error {
		for time.Now().Before(end) {
			if err := c.short(int(n.Add(1))); err != nil {
				return err
			}
		}
		return nil
	})
	c.opened += int(n.Load())
	return int(n.Load())
}

// awaitNone waits until the descriptors are those of a process without a session.
func (c *gathering) awaitNone() {
	c.t.Helper()
	var now parts.FDs
	if !parts.Within(parts.Patience, func() bool {
		now = parts.CountFDs(c.t, c.Pid())
		return now == c.fds
	}) {
		c.t.Errorf("%+v without a session, before the first %+v", now, c.fds)
	}
}

// awaitLogged waits until the log has a record of each session, or says that it was dropped because the test reads too
// slowly.
func (c *gathering) awaitLogged() {
	c.t.Helper()
	if !parts.Within(2*parts.Patience, func() bool { return c.logged() == c.opened }) {
		c.t.Errorf("%d sessions in the log, want %d", c.logged(), c.opened)
	}
}

// logged counts the sessions in the log so far.
func (c *gathering) logged() int {
	c.t.Helper()
	records := c.Log.All(parts.Match{After: c.scanned})
	c.scanned += len(records)
	for _, r := range records {
		switch {
		case r.Msg == "session" && r.Get("bytes_to_backend") == "100" && r.Get("bytes_to_client") == "100":
			c.inLog++
		case r.Msg == "log records dropped":
			n, err := strconv.Atoi(r.Get("records"))
			if err != nil {
				c.t.Fatalf("%v: %s", err, r.Raw)
			}
			c.inLog += n
		}
	}
	return c.inLog
}
