package l4

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// C22, C26
func TestTheHeaderForABackendIsByteExact(t *testing.T) {
	mixed := append(append(addr16("::ffff:192.0.2.1"), addr16("2001:db8::2")...), 0x10, 0x00, 0x01, 0xbb)
	scoped := append(append(addr16("fe80::1"), addr16("fe80::2")...), 0x10, 0x00, 0x01, 0xbb)
	for _, c := range []struct{ name, from, to, v1, v2 string }{
		{"TCP4", "192.0.2.1:4096", "198.51.100.2:443", line4, v2(proxied, tcp4, block4)},
		{"TCP6", "[2001:db8::1]:4096", "[2001:db8::2]:443", line6, v2(proxied, tcp6, block6)},
		{"mapped", "[::ffff:192.0.2.1]:4096", "[::ffff:198.51.100.2]:443", line4, v2(proxied, tcp4, block4)},
		{"one end mapped", "192.0.2.1:4096", "[::ffff:198.51.100.2]:443", line4, v2(proxied, tcp4, block4)},
		{"zones", "[fe80::1%eth0]:4096", "[fe80::2%eth0]:443", "PROXY TCP6 fe80::1 fe80::2 4096 443\r\n", v2(proxied, tcp6, scoped)},
		{"families mixed", "192.0.2.1:4096", "[2001:db8::2]:443", "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 4096 443\r\n", v2(proxied, tcp6, mixed)},
		{"no client address", "", "198.51.100.2:443", "PROXY UNKNOWN\r\n", v2(local, unspec)},
		{"no local address", "192.0.2.1:4096", "", "PROXY UNKNOWN\r\n", v2(local, unspec)},
	} {
		from, _ := netip.ParseAddrPort(c.from)
		to, _ := netip.ParseAddrPort(c.to)
		for version, want := range map[int]string{1: c.v1, 2: c.v2} {
			if got := string(proxyHeader(version, from, to)); got != want {
				t.Errorf("%s: version %d is %q, want %q", c.name, version, got, want)
			}
		}
	}
}

func TestAProbesHeaderClaimsNoClient(t *testing.T) {
	for version, want := range map[int]string{0: "", 1: "PROXY UNKNOWN\r\n", 2: v2(local, unspec)} {
		if got := string(ProbeHeader(version)); got != want {
			t.Errorf("version %d: %q, want %q", version, got, want)
		}
	}
}

// demanding is a backend that greets, with the header it got, once that is complete.
func demanding(t testing.TB) BackendConfig {
	return backend(t, func(c relay.Conn) {
		h, rest, err := readProxyHeader(c)
		fmt.Fprintf(c, "%v>%v %q %v\n", h.source, h.destination, rest, err)
		io.Copy(c, c)
		c.CloseWrite()
	}).config("b")
}

// C22, C24: the client is silent and the backend speaks first.
func TestTheHeaderIsSentBeforeAnyPayload(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0", ":0"} {
			t.Run(fmt.Sprintf("v%d/%s", version, listen), func(t *testing.T) {
				r := assemble(t, Config{Proxy: ProxyConfig{Send: version}}, demanding(t))
				bound := r.listen(listen).(*net.TCPAddr)
				host := "127.0.0.1"
				if listen == "[::1]:0" {
					host = "::1"
				}
				c := dialTest(t, "tcp", net.JoinHostPort(host, fmt.Sprint(bound.Port)), "")
				expectRead(t, c, fmt.Sprintf("%v>%v \"\" <nil>\n", c.LocalAddr(), c.RemoteAddr()))
				expectEcho(t, c, "PING")
			})
		}
	}
}

func TestAClientOnAUnixSocketIsAnnouncedAsUnknown(t *testing.T) {
	for version := 1; version <= 2; version++ {
		r := assemble(t, Config{Proxy: ProxyConfig{Send: version}}, demanding(t))
		path := r.listen("unix:" + socketDir(t) + "/s").String()
		c := dialTest(t, "unix", path, "")
		expectRead(t, c, "invalid AddrPort>invalid AddrPort \"\" <nil>\n")
		expectEcho(t, c, "PING")
		c.Close()
		if l := r.log.await(t, "session", 1)[0]; l["client"] != "unix" {
			t.Errorf("logged %v", l)
		}
	}
}

// C12: the deadlines of the headers' read and write are none of the session.
func TestASessionOutlivesTheTimeForItsHeaders(t *testing.T) {
	const timeout = 300 * time.Millisecond
	r := serve(t, Config{
		Proxy:   ProxyConfig{Send: 2, Accept: trustLoopback.Accept, AcceptTimeout: timeout},
		Connect: ConnectConfig{Timeout: timeout},
	}, demanding(t))
	c := r.connect()
	send(t, c, line4)
	expectRead(t, c, fmt.Sprintf("%v>%v \"\" <nil>\n", addresses4.source, addresses4.destination))
	tick := time.NewTicker(timeout / 3)
	defer tick.Stop()
	for range 6 {
		expectEcho(t, c, "PING")
		<-tick.C
	}
}

func TestABackendThatIsGoneBeforeItsHeaderIsAFailedDial(t *testing.T) {
	r := assemble(t, Config{Proxy: ProxyConfig{Send: 2}})
	near, far := pair(t)
	abort(far)
	var err error
	eventually(t, "the header's write to fail", func() bool {
		err = (&Session{svc: r.Service, cfg: r.cfg()}).sendHeader(near, []byte("header"))
		return err != nil
	})
	if f := (&Session{svc: r.Service, cfg: r.cfg()}).faultOf(err); f.kind != dialReset || f.kind.ours() {
		t.Errorf("%v is %s", err, f.kind)
	}
}

// C18: the addresses of a header that came in go out; one without any means the
// connection's own.
func TestTheAddressesOfAHeaderArePassedOn(t *testing.T) {
	for _, c := range goodHeaders() {
		for version := 1; version <= 2; version++ {
			proxy := trustLoopback
			proxy.Send = version
			r := serve(t, Config{Proxy: proxy}, demanding(t))
			client := r.connect()
			send(t, client, c.header)
			from, to := c.want.source.String(), c.want.destination.String()
			if !c.want.source.IsValid() {
				from, to = client.LocalAddr().String(), client.RemoteAddr().String()
			}
			expectRead(t, client, fmt.Sprintf("%s>%s \"\" <nil>\n", from, to))
			expectEcho(t, client, payload)
		}
	}
}

func TestHeaderAndFirstPayloadArriveInOrder(t *testing.T) {
	f, got := record(t)
	r := serve(t, Config{Proxy: ProxyConfig{Send: 1}}, f.config("b"))
	c := r.connect()
	send(t, c, "PING")
	c.CloseWrite()
	from, to := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
	want := fmt.Sprintf("PROXY TCP4 127.0.0.1 127.0.0.1 %d %d\r\nPING", from.Port, to.Port)
	if b := result(t, "the payload", got); b != want {
		t.Errorf("the backend got %q, want %q", b, want)
	}
	if l := r.log.await(t, "session", 1)[0]; l["bytes_to_backend"] != "4" {
		t.Errorf("the header was counted as payload: %v", l)
	}
}
