//go:build linux

package e2e

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C01
func TestReplyAfterClientHalfClose(t *testing.T) {
	t.Parallel()
	reply := strings.Repeat("reply 10b ", 10_000)
	b := parts.Serve(t, func(c net.Conn) {
		request, _ := io.ReadAll(c)
		parts.Pause(500 * time.Millisecond)
		_, _ = io.WriteString(c, string(request)+reply)
	})
	_, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Write(t, c, "ten bytes!")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "ten bytes!"+reply {
		t.Errorf("got %d bytes and %v, want the whole reply of %d", len(got), err, 10+len(reply))
	}
}

// C03
func TestUploadContinuesAfterBackendHalfClose(t *testing.T) {
	t.Parallel()
	received := make(chan int64, 1)
	b := parts.Serve(t, func(c net.Conn) {
		_, _ = c.Write(make([]byte, 1024))
		_ = c.(*net.TCPConn).CloseWrite()
		n, _ := io.Copy(io.Discard, c)
		received <- n
	})
	_, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != 1024 {
		t.Fatalf("client saw %v after %d bytes, want the end of stream after 1024", end, n)
	}
	for range 20 { // 1 MB over 2 s
		if _, err := c.Write(make([]byte, 50_000)); err != nil {
			t.Fatal(err)
		}
		parts.Pause(100 * time.Millisecond)
	}
	_ = c.Close()
	select {
	case n := <-received:
		if n != 1_000_000 {
			t.Errorf("backend got %d bytes, want 1000000", n)
		}
	case <-time.After(parts.Patience):
		t.Error("backend never saw the end of the upload")
	}
}

// C04
func TestIdleClientIsToldWhenItsBackendEnds(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(net.Conn){
		"end of stream": func(c net.Conn) { _ = c.Close() },
		"reset":         parts.Reset,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conns := make(chan net.Conn, 1)
			b := parts.Serve(t, func(c net.Conn) { conns <- c; _, _ = io.Copy(io.Discard, c) })
			s, addr := start(t, noCheck, b.Addr)
			before := parts.CountFDs(t, s.Pid()).Sockets
			c := parts.Dial(t, addr)
			finish(<-conns)
			if got, want := parts.Ends(t, c, time.Second), parts.End(name); got != want {
				t.Errorf("client saw %v, want %v", got, want)
			}
			_ = c.Close()
			parts.Eventually(t, 3*time.Second, "both sockets of the session are closed", func() bool {
				return parts.CountFDs(t, s.Pid()).Sockets <= before
			})
		})
	}
}

// C07
func TestBytesBeforeAResetAreDelivered(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) {
		_, _ = c.Write(make([]byte, 64<<10))
		parts.Pause(300 * time.Millisecond)
		parts.Reset(c)
	})
	_, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Write(t, c, "a request that is never read")
	parts.Pause(600 * time.Millisecond) // the client is slow to start reading
	if end, n := parts.EndOf(t, c, parts.Patience); n != 64<<10 || end == parts.EndOpen {
		t.Errorf("client saw %v after %d bytes, want an end after 65536", end, n)
	}
}

// C08
func TestResetStaysAReset(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) {
		_, _ = c.Write(make([]byte, 1000))
		parts.Pause(100 * time.Millisecond)
		parts.Reset(c)
	})
	_, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndReset || n != 1000 {
		t.Errorf("client saw %v after %d bytes, want a reset after 1000", end, n)
	}
}

// The mirror of C08: an aborting client is no client that has finished.
func TestClientResetReachesTheBackend(t *testing.T) {
	t.Parallel()
	ends := make(chan parts.End, 1)
	b := parts.Serve(t, func(c net.Conn) {
		end, _ := parts.EndOf(t, c, parts.Patience)
		ends <- end
	})
	_, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Write(t, c, "half a requ")
	parts.Pause(100 * time.Millisecond)
	parts.Reset(c)
	if end := <-ends; end != parts.EndReset {
		t.Errorf("backend saw %v, want a reset", end)
	}
}

// C63
func TestServerMaySpeakFirst(t *testing.T) {
	t.Parallel()
	greeting := strings.Repeat("g", 78)
	for name, delay := range map[string]time.Duration{"at once": 0, "after 3 s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, func(c net.Conn) {
				parts.Pause(delay)
				_, _ = io.WriteString(c, greeting)
				parts.Echo(c)
			})
			_, addr := start(t, noCheck, b.Addr)
			begin := time.Now()
			c := parts.Dial(t, addr)
			parts.Expect(t, c, greeting)
			elapsed(t, "the greeting", begin, delay, delay+500*time.Millisecond)
			parts.Echoes(t, c, "still here")
		})
	}
}

func TestBytesArriveWholeAtEveryPace(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	_, addr := start(t, noCheck, b.Addr)
	sent := make([]byte, 32<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(sent)
	c := parts.Dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	writing := make(chan error, 1)
	go func() { writing <- writeUnevenly(c, sent) }()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes back (%v), want the same %d", len(got), err, len(sent))
	}
	if err := <-writing; err != nil {
		t.Error(err)
	}
}

// writeUnevenly writes data in pieces from one byte to a megabyte, some after a pause, and ends the stream.
func writeUnevenly(c *net.TCPConn, data []byte) error {
	r := rand.New(rand.NewPCG(1, 2))
	for len(data) > 0 {
		n := min(1+r.IntN(1<<r.IntN(20)), len(data))
		if _, err := c.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
		if r.IntN(50) == 0 {
			parts.Pause(time.Millisecond)
		}
	}
	return c.CloseWrite()
}

// C57
func TestIdleTimeoutClosesBothLegsAndOnlyQuietSessions(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s := run(t, strings.Join([]string{
		service(noCheck+"timeouts: {idle: 3s}", b.Addr),
		"  - name: patient", "    listen: 127.0.0.1:0", "    check: {type: none}",
		"    backends: [{address: \"" + b.Addr + "\", name: b1}]", ""}, "\n"))
	quiet, busy, patient := parts.Dial(t, s.Addr(t, "s")), parts.Dial(t, s.Addr(t, "s")), parts.Dial(t, s.Addr(t, "patient"))
	for _, c := range []net.Conn{quiet, busy, patient} {
		parts.Expect(t, c, "b1\n")
	}
	begin := time.Now()
	closed := make(chan time.Duration, 1)
	go func() {
		parts.Ends(t, quiet, 6*time.Second)
		closed <- time.Since(begin)
	}()
	for range 5 {
		parts.Pause(time.Second)
		parts.Echoes(t, busy, "x")
	}
	parts.Echoes(t, patient, "x")
	if d := <-closed; d < 2900*time.Millisecond || d > 4500*time.Millisecond {
		t.Errorf("the quiet session ended after %v, want 3 to 4 s", d)
	}
	r := s.Log.Await(t, time.Second, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": quiet.LocalAddr().String()}})
	if !strings.Contains(strings.ReplaceAll(r.Raw, "idle_", ""), "idle") {
		t.Errorf("the record does not name idle as the reason: %s", r.Raw)
	}
}

// C59
func TestKeepaliveRunsOnBothLegs(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Echoes(t, c, "hello")
	var legs []string
	parts.Eventually(t, 3*time.Second, "ss shows a keepalive timer on both sockets", func() bool {
		legs = nil
		for _, sock := range parts.Sockets(t, s.Pid()) {
			if sock.State == "ESTAB" {
				legs = append(legs, parts.SS(t, "-tnoH", sock.Local.String(), sock.Remote.String(), "timer:(keepalive,")...)
			}
		}
		return sessionSides(legs, c.LocalAddr().String(), b.Addr)
	})
	for _, line := range legs {
		if strings.Contains(line, "min") {
			t.Errorf("keepalive is due too late: %s", line)
		}
	}
}

// sessionSides tells whether among the sockets of ss is one towards the client and one towards the backend.
func sessionSides(lines []string, client, backend string) bool {
	sides := map[string]bool{}
	for _, line := range lines {
		for _, peer := range []string{client, backend} {
			if f := strings.Fields(line); len(f) > 4 && f[4] == peer {
				sides[peer] = true
			}
		}
	}
	return len(sides) == 2
}

// C100
func TestNoMultipathListener(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	_, addr := start(t, noCheck, b.Addr)
	parts.Echoes(t, parts.Dial(t, addr), "hello")
	if lines := parts.SS(t, "-Mln", addr); len(lines) > 0 {
		t.Errorf("multipath TCP sockets: %q", lines)
	}
}
