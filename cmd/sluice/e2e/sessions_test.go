//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C01: the bound on a half-open session is one on inactivity.
func TestHalfOpenSessionEndsByInactivityOnly(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		for range 8 { // 4 s of a slow reply, then silence
			if _, err := io.WriteString(c, "tick"); err != nil {
				return
			}
			parts.Pause(500 * time.Millisecond)
		}
		parts.Pause(6 * time.Second)
	})
	_, addr := start(t, noCheck+"timeouts: {half_close: 2s}", b.Addr)
	c := parts.Dial(t, addr)
	_ = c.CloseWrite()
	begin := time.Now()
	if end, n := parts.EndOf(t, c, 10*time.Second); end == parts.EndOpen || n != 8*4 {
		t.Errorf("client saw %v after %d bytes, want an end after the whole slow reply of 32", end, n)
	}
	elapsed(t, "the half-open session", begin, 5*time.Second, 8500*time.Millisecond)
}

// C60: a peer with a closed window that answers probes is alive, whatever the user timeout.
func TestPausedReaderIsNotAVanishedPeer(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	b := parts.Serve(t, func(c net.Conn) { _, _ = c.Write(make([]byte, size)) })
	_, addr := start(t, noCheck+"timeouts: {user: 2s, keepalive: 1s}", b.Addr)
	c := parts.Dial(t, addr)
	parts.Expect(t, c, "\x00")
	parts.Pause(6 * time.Second)
	if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != size-1 {
		t.Errorf("after a pause of three user timeouts: %v after %d of %d bytes", end, n, size-1)
	}
}

// C60, the other way.
func TestPausedBackendIsNotAVanishedPeer(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	got := make(chan int64, 1)
	b := parts.Serve(t, func(c net.Conn) {
		parts.Pause(6 * time.Second)
		n, _ := io.Copy(io.Discard, c)
		got <- n
	})
	_, addr := start(t, noCheck+"timeouts: {user: 2s, keepalive: 1s}", b.Addr)
	c := parts.Dial(t, addr)
	if n, err := c.Write(make([]byte, size)); err != nil {
		t.Errorf("the upload to a paused backend ended after %d bytes: %v", n, err)
	}
	_ = c.Close()
	if n := <-got; n != size {
		t.Errorf("the backend got %d of %d bytes", n, size)
	}
}

func TestAttemptsBoundTheBackendsTried(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b3"))
	for attempts, want := range map[int]string{1: "refused", 2: "refused", 3: "served", 0: "served"} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			_, addr := start(t, noCheck+fmt.Sprintf("balance: first\npassive: {failures: 0}\nconnect: {attempts: %d}", attempts),
				parts.RefusedAddr(t), parts.RefusedAddr(t), b.Addr)
			if want == "refused" {
				parts.Refused(t, "", addr, time.Second)
			} else if got := whoNow(t, "", addr); got != "b3" {
				t.Errorf("got %s, want b3", got)
			}
		})
	}
}

func TestUnixSocketsOnBothSides(t *testing.T) {
	t.Parallel()
	dir := parts.TempDir(t)
	front := filepath.Join(dir, "front")
	b := parts.Serve(t, parts.Echo)
	s := run(t, service("listen: \"unix:"+front+"\"\n"+noCheck, b.Addr))
	s.Addr(t, "s")
	c, err := net.DialTimeout("unix", front, parts.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(parts.Patience))
	parts.Echoes(t, c, "hello")
	_ = c.(*net.UnixConn).CloseWrite()
	if end, _ := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN {
		t.Errorf("got %v, want the end of the stream", end)
	}
}

func TestIPv6OnBothSides(t *testing.T) {
	t.Parallel()
	b := parts.ServeAt(t, "[::1]:0", parts.Greet("b1"))
	_, addr := start(t, "listen: \"[::1]:0\"\n"+fastCheck, b.Addr)
	if got := whoNow(t, "", addr); got != "b1" {
		t.Errorf("got %q", got)
	}
}

func TestSessionRecordTellsWhoAndHowMuch(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		_, _ = c.Write(make([]byte, 43210))
	})
	s, addr := start(t, noCheck, parts.RefusedAddr(t), b.Addr)
	for i := range 2 { // one of them is refused by b1 first
		c := parts.Dial(t, addr)
		_, _ = c.Write(make([]byte, 1234))
		_ = c.CloseWrite()
		if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != 43210 {
			t.Errorf("%v after %d bytes", end, n)
		}
		r := s.Log.Await(t, parts.Patience, i+1, parts.Match{Msg: "session", Fields: parts.Fields{
			"service": "s", "backend": "b2", "duration": "*", "end": "*", "attempts": "*"}})
		if r.Get("client") != c.LocalAddr().String() || !names(r, "1234") || !names(r, "43210") {
			t.Errorf("want the client %v, 1234 and 43210 bytes: %s", c.LocalAddr(), r.Raw)
		}
	}
}
