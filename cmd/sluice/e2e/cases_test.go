//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// roles are two backends of which an HTTP page each says whether it is the writer, and a service that uses the first
// that is.
type roles struct {
	s     *parts.Sluice
	addr  string
	pages [2]*healthPage
}

var (
	writer  = func(int64) int { return http.StatusOK }
	replica = func(int64) int { return http.StatusServiceUnavailable }
)

// startRoles has the page of a backend answer on the port that its check asks; the backends themselves share that
// port on addresses of their own.
func startRoles(t *testing.T) *roles {
	t.Helper()
	r := &roles{}
	r.pages[0] = serveHealthAt(t, parts.FreeAddr(t), writer) // a port that no dial is given on the other address
	_, port, err := net.SplitHostPort(r.pages[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	r.pages[1] = serveHealthAt(t, "127.0.0.2:"+port, replica)
	b1 := parts.Serve(t, parts.Greet("b1"))
	b2 := parts.ServeAt(t, "127.0.0.2:0", parts.Greet("b2"))
	keys := fmt.Sprintf("balance: first\ncheck: {type: http, port: %s, path: /primary, interval: 50ms, rise: 2, fall: 2}\n", port)
	r.s, r.addr = start(t, keys, b1.Addr, b2.Addr)
	return r
}

// C38: two claim to be the writer; the first in the file serves, never both.
func TestOfTwoWritersOnlyTheFirstServes(t *testing.T) {
	t.Parallel()
	r := startRoles(t)
	r.s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b2"}})
	r.pages[1].answer.Store(&writer)
	r.s.AwaitUp(t, "b1", "b2")
	if got := tally(t, 50, r.addr); got["b1"] != 50 {
		t.Errorf("with two writers the first served %d of 50: %v", got["b1"], got)
	}
	r.pages[0].answer.Store(&replica)
	r.s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1"}})
	if got := tally(t, 50, r.addr); got["b2"] != 50 {
		t.Errorf("after the switch the second served %d of 50: %v", got["b2"], got)
	}
}

// C39: it answers, but that it is not ready.
func TestAServerThatSaysItIsLoadingIsDownUntilItSaysOtherwise(t *testing.T) {
	t.Parallel()
	loading := serveHealth(t, replica)
	ready := serveHealth(t, writer)
	s, addr := start(t, httpCheck, loading.addr, ready.addr)
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1"}})
	if !strings.Contains(r.Get("reason"), "503") {
		t.Errorf("the reason does not say what it answered: %s", r.Raw)
	}
	s.AwaitUp(t, "b2")
	for range 20 {
		if _, _, err := parts.HTTPGet("", addr); err != nil {
			t.Fatal(err)
		}
	}
	loading.answer.Store(&writer)
	s.AwaitUp(t, "b1")
}

// C76, without slow start: the newcomer is filled up to the others, and ties are broken evenly.
func TestLeastConnFillsANewcomerAndSharesTies(t *testing.T) {
	t.Parallel()
	b := make([]*parts.Backend, 3)
	for i := range b {
		b[i] = parts.Serve(t, parts.Echo)
	}
	b[2].Close()
	_, addr := start(t, "balance: least-conn\n"+fastCheck, b[0].Addr, b[1].Addr, b[2].Addr)
	idleSessions(t, 20, addr)
	b[2].Reopen(t)
	parts.Eventually(t, parts.Patience, "the newcomer has sessions", func() bool {
		idleSessions(t, 1, addr)
		return b[2].Active.Load() > 0
	})
	idleSessions(t, 60-int(b[0].Active.Load()+b[1].Active.Load()+b[2].Active.Load()), addr)
	for i := range b {
		if n := b[i].Active.Load(); n < 18 || n > 23 { // a probe may be among them
			t.Errorf("backend %d has %d of 60 sessions, want 20", i+1, n)
		}
	}
}

// C99: a header on the way in does not turn off the fast path.
func TestBulkIsSplicedWithAndWithoutAHeaderIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ keys, header string }{
		"plain":     {noCheck, ""},
		"header in": {noCheck + "proxy_protocol: {accept: [127.0.0.1]}\n", parts.HeaderV1("10.1.2.3:4", "10.5.6.7:8")},
	} {
		t.Run(name, func(t *testing.T) {
			b := parts.Serve(t, parts.Echo)
			s, addr := start(t, c.keys, b.Addr)
			conn := parts.Dial(t, addr)
			parts.Write(t, conn, c.header)
			stop := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer conn.CloseWrite()
				for chunk := make([]byte, 256<<10); ; {
					select {
					case <-stop:
						return
					default:
						if _, err := conn.Write(chunk); err != nil {
							return
						}
					}
				}
			}()
			read := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, conn)
				read <- err
			}()
			parts.Eventually(t, parts.Patience, "a pipe is in use", func() bool { return parts.CountFDs(t, s.Pid()).Pipes >= 2 })
			close(stop)
			<-done
			if err := <-read; err != nil { // the half-close came through, and the end came back
				t.Errorf("after the half-close: %v", err)
			}
		})
	}
}

// C101: a client that uses one port again and again is served at once, and never by a backend that is gone.
func TestAReusedClientPortMeetsNoOldState(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 2)
	s, addr := start(t, fastCheck, addrs...)
	s.AwaitUp(t, "b1", "b2")
	source := parts.FreeAddr(t)
	for i := range 100 {
		if i == 50 {
			list[0].Close()
		}
		name, err := whoFromPort(source, addr)
		if err != nil || i >= 50 && name != "b2" {
			t.Fatalf("connection %d from %s: %q, %v", i, source, name, err)
		}
	}
}

// whoFromPort asks as parts.Who does, from one address and port, and resets so that the port is free at once.
func whoFromPort(source, addr string) (string, error) {
	local, err := net.ResolveTCPAddr("tcp", source)
	if err != nil {
		return "", err
	}
	d := net.Dialer{LocalAddr: local, Timeout: parts.Patience}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(parts.Patience))
	name, err := parts.Name(c)
	c.(*net.TCPConn).SetLinger(0)
	return name, err
}

// C27, what the operating page says of the plain check: this server logs nothing of it.
func TestATCPCheckLeavesNoLineInPostgresLog(t *testing.T) {
	t.Parallel()
	pg := parts.StartPostgres(t)
	s, _ := start(t, "check: {type: tcp, interval: 20ms}\n", pg.Addr)
	s.AwaitUp(t, "b1")
	before := pg.Output.String()
	parts.Pause(time.Second) // some 50 probes
	if more := strings.TrimPrefix(pg.Output.String(), before); more != "" {
		t.Errorf("the probes left in the server's log:\n%s", more)
	}
}
