package l4

import (
	"net"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
)

func prefixes(t testing.TB, all ...string) []netip.Prefix {
	t.Helper()
	var p []netip.Prefix
	for _, s := range all {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, prefix)
	}
	return p
}

// C26: zones do not matter to a prefix.
func TestClientsAreAllowedAndDeniedByTheirAddress(t *testing.T) {
	for _, c := range []struct {
		name        string
		allow, deny []string
		client      string // "" is a Unix socket
		denied      bool
	}{
		{"nothing configured", nil, nil, "192.0.2.1", false},
		{"nothing configured, no address", nil, nil, "", false},
		{"allowed", []string{"192.0.2.0/24"}, nil, "192.0.2.1", false},
		{"not allowed", []string{"192.0.2.0/24"}, nil, "192.0.3.1", true},
		{"no address, so not allowed", []string{"0.0.0.0/0", "::/0"}, nil, "", true},
		{"denied", nil, []string{"192.0.2.1/32"}, "192.0.2.1", true},
		{"not denied", nil, []string{"192.0.2.1/32"}, "192.0.2.2", false},
		{"no address, so not denied", nil, []string{"0.0.0.0/0", "::/0"}, "", false},
		{"deny wins", []string{"192.0.2.0/24"}, []string{"192.0.2.1/32"}, "192.0.2.1", true},
		{"one of several", []string{"198.51.100.0/24", "192.0.2.0/24"}, nil, "192.0.2.1", false},
		{"a mapped client is IPv4", []string{"192.0.2.0/24"}, nil, "::ffff:192.0.2.1", false},
		{"a mapped client is denied", nil, []string{"192.0.2.0/24"}, "::ffff:192.0.2.1", true},
		{"a mapped prefix allows", []string{"::ffff:192.0.2.0/120"}, nil, "192.0.2.1", false},
		{"a mapped prefix denies", nil, []string{"::ffff:192.0.2.0/120"}, "192.0.2.1", true},
		{"a mapped prefix ends where it ends", nil, []string{"::ffff:192.0.2.0/120"}, "192.0.3.1", false},
		{"all of IPv6 is not IPv4", nil, []string{"::/0"}, "192.0.2.1", false},
		{"IPv6", []string{"2001:db8::/32"}, nil, "2001:db8::1", false},
		{"a zone, allowed", []string{"fe80::/10"}, nil, "fe80::1%eth0", false},
		{"a zone, denied", nil, []string{"fe80::/10"}, "fe80::1%eth0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := assemble(t, Config{Allow: prefixes(t, c.allow...), Deny: prefixes(t, c.deny...)})
			sess := &Session{svc: r.Service, cfg: r.cfg()}
			if c.client != "" {
				a := netip.AddrPortFrom(netip.MustParseAddr(c.client), 1)
				sess.client = addrPort(net.TCPAddrFromAddrPort(a))
			}
			e := sess.admit()
			want := relay.End{}
			if c.denied {
				want = relay.End{Who: relay.Sluice, Why: relay.Denied}
			}
			if e != want {
				t.Errorf("%v, want %v", e, want)
			}
		})
	}
}

func TestADeniedClientReachesNoBackend(t *testing.T) {
	f := backend(t, echo)
	r := serve(t, Config{Deny: prefixes(t, "127.0.0.2/32")}, f.config("b"))
	r.expectTurnedAwayFrom("127.0.0.2")
	expectEcho(t, r.connectFrom("127.0.0.3"), "x")
	r.awaitEnded(relay.Denied, 1)
	if n := f.accepted.Load(); n != 1 {
		t.Errorf("the backend saw %d", n)
	}
}

// The client of a PROXY header is the one that is admitted, not its bearer.
func TestTheClientOfAHeaderIsTheOneThatIsAdmitted(t *testing.T) {
	r := serve(t, Config{Proxy: trustLoopback, Allow: prefixes(t, "192.0.2.0/24")}, echoes(t, 1)...)
	good := r.connect()
	send(t, good, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n")
	expectEcho(t, good, "x")
	bad := r.connect()
	send(t, bad, "PROXY TCP4 198.51.100.1 192.0.2.2 1 2\r\n")
	expectReset(t, bad)
	r.awaitEnded(relay.Denied, 1)
}

func TestTheConfigurationIsCopied(t *testing.T) {
	deny := prefixes(t, "192.0.2.0/24")
	r := assemble(t, Config{Deny: deny})
	deny[0] = netip.MustParsePrefix("198.51.100.0/24")
	if !contains(r.cfg().Deny, netip.MustParseAddr("192.0.2.1")) {
		t.Error("the caller changed the service's configuration")
	}
}
