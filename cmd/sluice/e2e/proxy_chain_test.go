//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// trustLoopback accepts headers from the balancers in front.
const trustLoopback = "proxy_protocol: {accept: [127.0.0.1/32]}\n"

func TestHAProxyInFront(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options unique-id,crc32c"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, parts.Echo)
			s, addr := start(t, noCheck+trustLoopback, b.Addr)
			front := parts.HAProxyTCP(t, addr, words)
			c := parts.DialFrom(t, "127.0.0.44", front.Addr)
			parts.Echoes(t, c, strings.Repeat("right bytes ", 10_000))
			client := c.LocalAddr().String()
			_ = c.Close()
			s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": client}})
		})
	}
}

func TestNginxStreamInFront(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, addr := start(t, noCheck+trustLoopback, b.Addr)
	front := parts.NginxStreamProxy(t, addr)
	c := parts.DialFrom(t, "127.0.0.45", front.Addr)
	parts.Echoes(t, c, strings.Repeat("right bytes ", 10_000))
	client := c.LocalAddr().String()
	_ = c.Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": client}})
}

func TestChainOfBalancersKeepsTheClientsAddress(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"send-proxy", "send-proxy-v2"} {
		for _, out := range []string{"v1", "v2"} {
			t.Run(in+" "+out, func(t *testing.T) {
				t.Parallel()
				n := parts.NginxHTTP(t, "seen", true)
				_, addr := start(t, noCheck+"proxy_protocol: {accept: [127.0.0.1/32], send: "+out+"}", n.Addr)
				front := parts.HAProxyTCP(t, addr, in)
				body, _, err := parts.HTTPGet("127.0.0.46", front.Addr)
				if err != nil || body != "seen 127.0.0.46" {
					t.Errorf("nginx saw %q (%v), want 127.0.0.46", body, err)
				}
			})
		}
	}
}

// C18
func TestHAProxyHealthChecksPassThrough(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{"connect": nil, "http": {"option httpchk GET /"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := parts.NginxHTTP(t, "seen", false)
			s, addr := start(t, noCheck+trustLoopback, n.Addr)
			front := parts.HAProxyTCP(t, addr, "send-proxy-v2 check check-send-proxy inter 100 fall 1 rise 1", lines...)
			// haproxy assumes up at first, so what counts is that it stays up over a dozen checks.
			parts.Eventually(t, parts.Patience, "12 sessions of checks", func() bool {
				return len(s.Log.All(parts.Match{Msg: "session"})) >= 12
			})
			if status, failed := front.ServerStatus(t); status != "UP" || failed != "0" {
				t.Errorf("haproxy says %s after %s failed checks, want UP after 0", status, failed)
			}
			if body, _, err := parts.HTTPGet("", front.Addr); err != nil || !strings.HasPrefix(body, "seen ") {
				t.Errorf("got %q (%v) through haproxy", body, err)
			}
		})
	}
}

func TestServersDeathIsSeenThroughAChain(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	_, addr := start(t, noCheck+trustLoopback, b.Addr)
	front := parts.HAProxyTCP(t, addr, "send-proxy-v2")
	c := parts.Dial(t, front.Addr)
	parts.Echoes(t, c, "hello")
	b.Close()
	parts.Ends(t, c, time.Second)
}
