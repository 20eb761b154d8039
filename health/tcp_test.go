package health

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// networks runs a test over TCP and over a Unix socket.
func networks(t *testing.T, test func(t *testing.T, serve func(*testing.T, func(net.Conn) error) (*testBackend, Endpoint))) {
	t.Run("tcp", func(t *testing.T) { test(t, serveTCP) })
	t.Run("unix", func(t *testing.T) { test(t, serveUnix) })
}

func TestTCPProbePassesAndEndsInOrder(t *testing.T) {
	networks(t, func(t *testing.T, serve func(*testing.T, func(net.Conn) error) (*testBackend, Endpoint)) {
		b, endpoint := serve(t, readAll)
		p := TCP(endpoint)
		for range 10 {
			wantReason(t, probe(t, p, 5*time.Second), "")
			if err := b.end(t); err != nil {
				t.Fatalf("the backend read %v, want an end of stream", err)
			}
		}
	})
}

func TestTCPProbeOfAGreetingBackendEndsWithoutAReset(t *testing.T) {
	greeting := []byte(strings.Repeat("220 mail.example ESMTP\r\n", 100))
	networks(t, func(t *testing.T, serve func(*testing.T, func(net.Conn) error) (*testBackend, Endpoint)) {
		b, endpoint := serve(t, func(c net.Conn) error {
			if _, err := c.Write(greeting); err != nil {
				return err
			}
			if err := readAll(c); err != nil {
				return err
			}
			_, err := c.Write([]byte("221 bye\r\n")) // the prober still reads
			return err
		})
		for range 20 {
			wantReason(t, probe(t, TCP(endpoint), 5*time.Second), "")
			if err := b.end(t); err != nil {
				t.Fatalf("the backend saw %v, want an end of stream", err)
			}
		}
	})
}

func TestTCPProbeDoesNotWaitLongForABackendThatNeverCloses(t *testing.T) {
	release := make(chan struct{})
	_, endpoint := serveUnix(t, func(c net.Conn) error {
		<-release
		return nil
	})
	defer close(release)
	begin := time.Now()
	wantReason(t, probe(t, TCP(endpoint), 30*time.Second), "")
	if took := time.Since(begin); took < goodbyeTime || took > 5*time.Second {
		t.Errorf("probe took %v, want about %v", took, goodbyeTime)
	}
}

func TestTCPProbeIsAPassThoughTheDeadlineCutsItsGoodbye(t *testing.T) {
	release := make(chan struct{})
	_, endpoint := serveUnix(t, func(c net.Conn) error {
		<-release
		return nil
	})
	defer close(release)
	begin := time.Now()
	wantReason(t, probe(t, TCP(endpoint), 200*time.Millisecond), "")
	if took := time.Since(begin); took < 190*time.Millisecond {
		t.Errorf("probe took %v, want until the deadline of 200ms", took)
	}
}

func TestTCPProbeTakesNoEndlessGoodbye(t *testing.T) {
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		chunk := make([]byte, 32<<10)
		for {
			if _, err := c.Write(chunk); err != nil {
				return err
			}
		}
	})
	wantReason(t, probe(t, TCP(endpoint), 30*time.Second), "")
}

func TestTCPProbeIsAPassThoughTheBackendResets(t *testing.T) {
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		abort(c)
		return nil
	})
	for range 20 {
		// A reset that is faster than the probe may be seen as a failed connect by some
		// systems; by Linux it is not.
		if err := probe(t, TCP(endpoint), 5*time.Second); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
	}
}

func TestTCPProbeOfADeadPortIsRefused(t *testing.T) {
	p := TCP(Endpoint{Network: "tcp", Address: deadAddress(t)})
	err := probe(t, p, 5*time.Second)
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), "connect: ") ||
		strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("probe says %v", err)
	}
}

func TestTCPProbeOfAMissingUnixSocketFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nothing")
	err := probe(t, TCP(Endpoint{Network: "unix", Address: path}), 5*time.Second)
	if err == nil || strings.Contains(err.Error(), path) || !strings.HasPrefix(err.Error(), "connect: ") {
		t.Errorf("probe says %v", err)
	}
}

func TestProbeOfAnAddressThatIsNoneFails(t *testing.T) {
	for _, endpoint := range []Endpoint{
		{Network: "tcp", Address: "127.0.0.1"},
		{Network: "tcp", Address: ""},
		{Network: "carrier-pigeon", Address: "127.0.0.1:1"},
	} {
		if err := probe(t, TCP(endpoint), 5*time.Second); err == nil || !strings.HasPrefix(err.Error(), "connect: ") {
			t.Errorf("probe of %+v says %v", endpoint, err)
		}
	}
}

func TestPreambleArrivesBeforeTheEndOfStream(t *testing.T) {
	const header = "PROXY UNKNOWN\r\n"
	networks(t, func(t *testing.T, serve func(*testing.T, func(net.Conn) error) (*testBackend, Endpoint)) {
		got := make(chan string, 1)
		b, endpoint := serve(t, func(c net.Conn) error {
			all, err := io.ReadAll(c)
			got <- string(all)
			return err
		})
		endpoint.Preamble = []byte(header)
		wantReason(t, probe(t, TCP(endpoint), 5*time.Second), "")
		if err := b.end(t); err != nil {
			t.Error(err)
		}
		if s := <-got; s != header {
			t.Errorf("the backend got %q, want %q", s, header)
		}
	})
}

func TestPreambleThatCannotBeSentFailsTheProbe(t *testing.T) {
	_, endpoint := serveTCP(t, readAll)
	conn, err := endpoint.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	endpoint.Preamble = []byte("PROXY UNKNOWN\r\n")
	wantReason(t, endpoint.open(t.Context(), conn), "preamble: use of closed network connection")
}

func TestStoppedTCPProbeReturnsDuringItsGoodbye(t *testing.T) {
	has, release := make(chan struct{}), make(chan struct{})
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		close(has)
		<-release
		return nil
	})
	defer close(release)
	// The backend may have the connection before the prober does.
	if err := cancelled(t, TCP(endpoint), has); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPlainWordsForErrors(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 1}, Err: err}
	}
	timedOut, cancel := withTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-timedOut.Done()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	bare, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-bare.Done()
	tests := []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), dial(&net.DNSError{Err: "no such host", Name: "b1.example"}), "name lookup: no such host"},
		{t.Context(), dial(syscall.ENETUNREACH), "network unreachable"},
		{t.Context(), dial(syscall.EHOSTUNREACH), "host unreachable"},
		{t.Context(), dial(syscall.ECONNREFUSED), syscall.ECONNREFUSED.Error()},
		{t.Context(), dial(errors.New("no suitable address")), "no suitable address"},
		{t.Context(), io.EOF, "connection closed without an answer"},
		{t.Context(), errors.New("anything else"), "anything else"},
		{timedOut, dial(errors.New("i/o timeout")), "no answer within 1ns"},
		{bare, dial(errors.New("i/o timeout")), "no answer in time"},
		{stopped, dial(errors.New("operation was canceled")), "stopped"},
	}
	for _, tt := range tests {
		if got := plain(tt.ctx, tt.err); got.Error() != tt.want {
			t.Errorf("%v is %q, want %q", tt.err, got, tt.want)
		}
	}
	if err := plain(timedOut, io.EOF); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not unwrap to the deadline", err)
	}
	if err := plain(t.Context(), dial(syscall.ECONNREFUSED)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v does not unwrap to its cause", err)
	}
}

func TestDialThatFailsForWantOfOurOwnIsNoVerdict(t *testing.T) {
	for errno, ours := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true,
		syscall.ECONNREFUSED: false, syscall.ECONNRESET: false, syscall.EHOSTUNREACH: false,
	} {
		err := Endpoint{Network: "tcp"}.dialReason(t.Context(), &net.OpError{Op: "dial", Net: "tcp", Err: errno})
		if errors.Is(err, ErrNoVerdict) != ours || !errors.Is(err, errno) {
			t.Errorf("%v became %v, want it ours: %v", errno, err, ours)
		}
	}
}

// resolved is the error of a dial whose name lookup failed.
func resolved(e net.DNSError) error { return &net.OpError{Op: "dial", Net: "tcp", Err: &e} }

func TestANameThatNobodyCouldBeAskedForIsAFailureOfAnUnsureKind(t *testing.T) {
	late, cancel := withTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	for _, tt := range []struct {
		ctx      context.Context
		err      net.DNSError
		want     string
		noResult bool
		unsure   bool
	}{
		{t.Context(), net.DNSError{Err: "server misbehaving", IsTemporary: true}, "name lookup: server misbehaving", false, true},
		{t.Context(), net.DNSError{Err: "read udp 127.0.0.1:1->127.0.0.1:53: read: connection refused"}, "name lookup: read udp 127.0.0.1:1->127.0.0.1:53: read: connection refused", false, true},
		{t.Context(), net.DNSError{Err: "i/o timeout", IsTimeout: true}, "name lookup: i/o timeout", false, true},
		{late, net.DNSError{Err: "i/o timeout", IsTimeout: true}, "name lookup: no answer within 1ns", false, true},
		{t.Context(), net.DNSError{Err: "no such host", IsNotFound: true}, "name lookup: no such host", false, false},
		{t.Context(), net.DNSError{Err: "dial udp: socket: " + syscall.EMFILE.Error()}, "name lookup: dial udp: socket: " + syscall.EMFILE.Error(), true, true},
	} {
		err := Endpoint{Network: "tcp"}.dialReason(tt.ctx, resolved(tt.err))
		if err.Error() != tt.want || errors.Is(err, ErrNoVerdict) != tt.noResult || unasked(resolved(tt.err)) != tt.unsure {
			t.Errorf("%v: %q, no result %v, unsure %v", tt.err.Err, err, errors.Is(err, ErrNoVerdict), unasked(resolved(tt.err)))
		}
	}
	if err := (Endpoint{}).dialReason(late, resolved(net.DNSError{IsTimeout: true})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not unwrap to the deadline", err)
	}
}

func TestAProbeOfANameIsUnsureIfTheResolverCannotBeReached(t *testing.T) {
	was := net.DefaultResolver
	defer func() { net.DefaultResolver = was }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("network unreachable")
	}}
	for address, want := range map[string]bool{"b1.example:1": true, "b1..example:1": false, deadAddress(t): false} {
		err := probe(t, TCP(Endpoint{Network: "tcp", Address: address}), 5*time.Second)
		if err == nil || errors.Is(err, ErrNoVerdict) || unsure(err) != want {
			t.Errorf("%s: %v, unsure %v, want %v", address, err, unsure(err), want)
		}
	}
}

func TestReasonsAreOneLineOfValidText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{" a\r\n b\tc ", "a b c"},
		{strings.Repeat("é", 150), strings.Repeat("é", 100) + "..."},
		{"x" + strings.Repeat("é", 150), "x" + strings.Repeat("é", 99) + "..."},
	} {
		if got := clip(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}
