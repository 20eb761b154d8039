package l4

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/l4/relay"
)

const (
	childBackend = "L4_TEST_BACKEND" // set in the child: the backend's address
	childLimit   = "L4_TEST_LIMIT"   // and its RLIMIT_NOFILE
)

// TestChildOfTheDescriptorTest is the other process of the test below: a service that
// no budget keeps from its descriptor limit. It serves until its input ends, then
// writes how its clients ended.
func TestChildOfTheDescriptorTest(t *testing.T) {
	address := os.Getenv(childBackend)
	if address == "" {
		return
	}
	limit, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Name: "child", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), SessionLog: LogOff})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool().Add(BackendConfig{Address: address, Weight: 1}); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := async(func() error { return s.Serve(ln) })
	out := json.NewEncoder(os.Stdout)
	out.Encode(ln.Addr().String())
	io.Copy(io.Discard, os.Stdin)
	s.Close()
	if err := <-served; err != ErrServiceClosed {
		t.Errorf("Serve returned %v", err)
	}
	out.Encode(s.Stats())
}

// child is a running TestChildOfTheDescriptorTest.
type child struct {
	cmd     *exec.Cmd
	in      io.Closer
	out     *json.Decoder
	log     strings.Builder
	logging sync.WaitGroup
	address string
}

func startChild(t *testing.T, backend string, limit int) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &child{cmd: exec.Command(exe, "-test.run=^TestChildOfTheDescriptorTest$", "-engine="+*engineName)}
	p.cmd.Env = append(os.Environ(), childBackend+"="+backend, fmt.Sprintf("%s=%d", childLimit, limit))
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, json.NewDecoder(bufio.NewReader(out))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.logging.Go(func() { io.Copy(&p.log, log) })
	t.Cleanup(func() {
		in.Close()
		p.logging.Wait()
		p.cmd.Wait()
	})
	if err := p.out.Decode(&p.address); err != nil {
		t.Fatal(err)
	}
	return p
}

// try opens a session with an echo; nil if it was reset.
func (p *child) try(t *testing.T) relay.Conn {
	t.Helper()
	c, err := dialer("").Dial("tcp", p.address)
	if err == nil {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(patience))
		_, err = c.Write([]byte("x"))
	}
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	switch {
	case err == nil:
		return c.(relay.Conn)
	case kind(err) != "reset":
		t.Fatalf("a client that was not served got %v", err)
	}
	return nil
}

// end has the child close its service and returns the counters and the log.
func (p *child) end(t *testing.T) (st Stats, log []string) {
	t.Helper()
	p.in.Close()
	if err := p.out.Decode(&st); err != nil {
		t.Fatal(err)
	}
	p.logging.Wait()
	return st, strings.Split(strings.TrimSpace(p.log.String()), "\n")
}

// C47, C92: with a real limit and no budget to keep from it. Limits that follow each
// other leave none, or one too few for a session.
func TestAtTheDescriptorLimitClientsAreShedAndOldOnesLive(t *testing.T) {
	for _, limit := range []int{64, 65} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) { shedAtLimit(t, limit) })
	}
}

func shedAtLimit(t *testing.T, limit int) {
	begin := time.Now()
	p := startChild(t, backend(t, echo).address, limit)
	var live []relay.Conn
	resets := 0
	for range 100 {
		if c := p.try(t); c != nil {
			live = append(live, c)
		} else {
			resets++
		}
	}
	if len(live) < limit/4 || len(live) > limit/2 {
		t.Errorf("%d sessions with %d descriptors", len(live), limit)
	}
	for _, c := range live {
		expectEcho(t, c, "still there")
	}
	for _, c := range live[:10] {
		c.Close()
	}
	live = live[10:]
	eventually(t, "new clients to be served", func() bool {
		c := p.try(t)
		if c == nil {
			resets++
		}
		return c != nil
	})
	for _, c := range live {
		expectEcho(t, c, "still there")
	}
	st, log := p.end(t)
	if n := st.Ended[relay.Descriptors.String()]; n != int64(resets) {
		t.Errorf("%d clients were reset, counted: %v", resets, st.Ended)
	}
	if most := 2 * (2 + int(time.Since(begin)/time.Second)); len(log) > most {
		t.Errorf("%d lines in %v:\n%s", len(log), time.Since(begin), strings.Join(log, "\n"))
	}
}
