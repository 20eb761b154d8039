package l4

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// trustLoopback requires a header of every client of a test.
var trustLoopback = ProxyConfig{Accept: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AcceptTimeout: 20 * time.Second}

// record is a backend that keeps what it gets until the client's end.
func record(t testing.TB) (*fake, <-chan string) {
	got := make(chan string, 100)
	return backend(t, func(c relay.Conn) {
		b, _ := io.ReadAll(c)
		got <- string(b)
	}), got
}

// C16, C18, C20
func TestTheHeaderIsTakenAndThePayloadPassedOn(t *testing.T) {
	f, got := record(t)
	r := serve(t, Config{Proxy: trustLoopback}, f.config("b"))
	sessions := 0
	for _, c := range goodHeaders() {
		for _, at := range []int{0, 1, 13, len(c.header) - 1, len(c.header), len(c.header) + 1} {
			client := r.connect()
			whole := c.header + payload
			send(t, client, whole[:at])
			if at > 0 {
				r.awaitActive(1)
			}
			send(t, client, whole[at:])
			client.CloseWrite()
			if b := result(t, "the payload", got); b != payload {
				t.Errorf("%s, split at %d: the backend got %q", c.name, at, b)
			}
			want := c.want.source.String()
			if !c.want.source.IsValid() {
				want = client.LocalAddr().String()
			}
			sessions++
			l := r.log.await(t, "session", sessions)[sessions-1]
			if l["client"] != want || l["bytes_to_backend"] != "20" {
				t.Errorf("%s, split at %d: logged %v, want client %s", c.name, at, l, want)
			}
			r.awaitActive(0)
		}
	}
}

func TestAHeaderThatIsMissingOrMalformedIsRefused(t *testing.T) {
	f := backend(t, echo)
	r := serve(t, Config{Proxy: trustLoopback}, f.config("b"))
	bad := badHeaders()
	for _, c := range bad {
		client := r.connect()
		client.Write([]byte(c.header + payload)) // may fail of the reset
		if _, end := drain(client); end != "reset" {
			t.Errorf("%s: ended by %s", c.name, end)
		}
	}
	early := r.connect()
	send(t, early, line4[:20])
	early.CloseWrite()
	expectReset(t, early)
	r.awaitEnded(relay.ProxyHeader, int64(len(bad)+1))
	for _, l := range r.log.await(t, "session", len(bad)+1) {
		if l["end.who"] != "sluice" || l["end.why"] != "proxy-header" || l["attempts"] != "0" {
			t.Errorf("logged %v", l)
		}
	}
	if f.accepted.Load() != 0 {
		t.Error("a backend was dialled for one of them")
	}
}

func TestAClientThatResetsWithinItsHeaderIsNotCalledMalformed(t *testing.T) {
	r := serve(t, Config{Proxy: trustLoopback}, echoes(t, 1)...)
	c := r.connect()
	send(t, c, line4[:20])
	r.awaitActive(1)
	abort(c)
	if l := r.log.await(t, "session", 1)[0]; l["end.who"] != "client" || l["end.why"] != "reset" {
		t.Errorf("logged %v", l)
	}
}

// C25
func TestTheSourceDecidesWhetherAHeaderIsRequired(t *testing.T) {
	proxy := ProxyConfig{Accept: prefixes(t, "127.0.0.9/32"), AcceptTimeout: patience}
	r := serve(t, Config{Proxy: proxy}, echoes(t, 1)...)
	trusted := r.connectFrom("127.0.0.9")
	send(t, trusted, line4)
	expectEcho(t, trusted, "PING")
	without := r.connectFrom("127.0.0.9")
	send(t, without, "P")
	send(t, without, "I") // refused at this byte, not at the deadline
	expectReset(t, without)
	untrusted := r.connectFrom("127.0.0.5")
	expectEcho(t, untrusted, line4+"PING")
	want := untrusted.LocalAddr().String()
	for _, c := range []relay.Conn{trusted, untrusted} {
		c.Close()
	}
	r.awaitActive(0)
	var clients []string
	for _, l := range r.log.await(t, "session", 3) {
		clients = append(clients, l["client"])
	}
	if all := strings.Join(clients, " "); !strings.Contains(all, "192.0.2.1:4096") || !strings.Contains(all, want) {
		t.Errorf("clients %v", clients)
	}
}

// C25: off, nothing is looked at.
func TestWithoutProxyInAHeaderIsPayload(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	for _, c := range []string{line4, v2(proxied, tcp4, block4)} {
		expectEcho(t, r.connect(), c)
	}
}

// C12, C63
func TestMutePeersDelayNobodyAndReachNoBackend(t *testing.T) {
	const mutes = 100
	proxy := ProxyConfig{Accept: trustLoopback.Accept, AcceptTimeout: 2 * time.Second}
	f := backend(t, echo)
	r := serve(t, Config{Proxy: proxy}, f.config("b"))
	begin := time.Now()
	var waiting []relay.Conn
	for range mutes {
		waiting = append(waiting, r.connect())
	}
	r.awaitActive(mutes)
	honest := r.connect()
	send(t, honest, line4)
	expectEcho(t, honest, "PING")
	if f.accepted.Load() != 1 {
		t.Errorf("%d dials before the headers", f.accepted.Load())
	}
	for _, c := range waiting {
		expectReset(t, c)
	}
	if took := time.Since(begin); took < proxy.AcceptTimeout {
		t.Errorf("closed after %v", took)
	}
	r.awaitEnded(relay.ProxyTimeout, mutes)
	if f.accepted.Load() != 1 {
		t.Errorf("%d dials in the end", f.accepted.Load())
	}
	expectEcho(t, honest, "still there") // past the deadline
}

// C12: each byte would give a deadline of inactivity another 300 ms, and the line
// would be refused as too long.
func TestDribblingDoesNotExtendTheDeadline(t *testing.T) {
	proxy := ProxyConfig{Accept: trustLoopback.Accept, AcceptTimeout: 300 * time.Millisecond}
	r := serve(t, Config{Proxy: proxy}, echoes(t, 1)...)
	c := r.connect()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, b := range []byte("PROXY " + strings.Repeat("A", 500)) {
		if _, err := c.Write([]byte{b}); err != nil {
			break
		}
		<-tick.C
	}
	r.awaitEnded(relay.ProxyTimeout, 1)
	if l := r.log.await(t, "session", 1)[0]; l["end.who"] != "sluice" || l["end.why"] != "proxy-timeout" {
		t.Errorf("logged %v", l)
	}
}

// C64
func TestSessionsStillInTheirHeaderAtTheDeadlineAreKilledAndCounted(t *testing.T) {
	r := serve(t, Config{Proxy: trustLoopback}, echoes(t, 1)...)
	c := r.connect()
	send(t, c, "PROXY ")
	r.awaitActive(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n := r.Shutdown(ctx); n != 1 {
		t.Errorf("%d forced", n)
	}
	expectReset(t, c)
	if l := r.log.await(t, "session", 1)[0]; l["end.who"] != "operator" || l["end.why"] != "drain" {
		t.Errorf("logged %v", l)
	}
}
