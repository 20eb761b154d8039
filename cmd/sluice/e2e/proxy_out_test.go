//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestProxyHeaderOutNamesBothEnds(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, tellSource)
			_, addr := start(t, noCheck+"proxy_protocol: {send: "+version+"}", b.Addr)
			c := parts.DialFrom(t, "127.0.0.77", addr)
			parts.Expect(t, c, c.LocalAddr().String()+"\n")
			parts.Echoes(t, c, "PING")
		})
	}
}

// C22
func TestIPv4ClientOfADualStackSocketIsAnnouncedAsIPv4(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			headers := make(chan parts.Header, 1)
			b := parts.Serve(t, func(c net.Conn) {
				h, err := parts.ReadHeader(bufio.NewReader(c))
				if err != nil {
					t.Error(err)
				}
				headers <- h
			})
			_, listen := start(t, "listen: \"[::]:0\"\n"+noCheck+"proxy_protocol: {send: "+version+"}", b.Addr)
			_, port, _ := net.SplitHostPort(listen)
			c := parts.Dial(t, "127.0.0.1:"+port)
			h := <-headers
			if h.Family != "TCP4" || h.Source != c.LocalAddr().String() || h.Dest != "127.0.0.1:"+port {
				t.Errorf("header %+v, want TCP4 from %v to 127.0.0.1:%s", h, c.LocalAddr(), port)
			}
		})
	}
}

// C24
func TestHeaderOutDoesNotWaitForTheClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, tellSource)
			_, addr := start(t, noCheck+"proxy_protocol: {send: "+version+"}", b.Addr)
			begin := time.Now()
			c := parts.Dial(t, addr) // says nothing
			parts.Expect(t, c, c.LocalAddr().String()+"\n")
			elapsed(t, "the greeting", begin, 0, 300*time.Millisecond)
		})
	}
}

// C46
func TestProbesCarryTheHeaderTheBackendDemands(t *testing.T) {
	t.Parallel()
	for version, commands := range map[string]string{"v1": "UNKNOWN PROXY", "v2": "LOCAL"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var headers []parts.Header
			b := parts.Serve(t, func(c net.Conn) {
				h, err := parts.ReadHeader(bufio.NewReader(c))
				if err != nil {
					h.Command = err.Error()
				}
				mu.Lock()
				headers = append(headers, h)
				mu.Unlock()
			})
			s, _ := start(t, fastCheck+"proxy_protocol: {send: "+version+"}", b.Addr)
			s.AwaitUp(t, "b1")
			parts.Eventually(t, parts.Patience, "five probes", func() bool { return b.Accepted.Load() >= 5 })
			mu.Lock()
			defer mu.Unlock()
			for _, h := range headers {
				if !strings.Contains(commands, h.Command) {
					t.Errorf("a probe sent %+v, want %s", h, commands)
				}
			}
		})
	}
}

// C46
func TestProbesOfASeparatePortCarryNoHeader(t *testing.T) {
	t.Parallel()
	data := parts.Serve(t, tellSource)
	got := make(chan string, 100)
	check := parts.Serve(t, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	_, port, _ := net.SplitHostPort(check.Addr)
	s, addr := start(t, "check: {type: tcp, interval: 100ms, port: "+port+"}\nproxy_protocol: {send: v2}", data.Addr)
	s.AwaitUp(t, "b1")
	for range 3 {
		if text := <-got; text != "" {
			t.Errorf("a probe of the check port sent %q", text)
		}
	}
	c := parts.Dial(t, addr)
	parts.Expect(t, c, c.LocalAddr().String()+"\n")
}

// C46
func TestHTTPProbesOfAnNginxThatDemandsTheHeader(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			n := parts.NginxHTTP(t, "b1", true)
			s, addr := start(t, "check: {type: http, path: /, interval: 200ms}\nproxy_protocol: {send: "+version+"}", n.Addr)
			s.AwaitUp(t, "b1")
			body, _, err := parts.HTTPGet("127.0.0.42", addr)
			if err != nil || body != "b1 127.0.0.42" {
				t.Errorf("nginx answered %q (%v), want the client 127.0.0.42", body, err)
			}
			if downs := s.Log.All(parts.Match{Msg: "backend down"}); len(downs) > 0 {
				t.Errorf("a healthy backend was taken down: %s", downs[0].Raw)
			}
		})
	}
}

func TestRealPeersBelieveTheHeaderOut(t *testing.T) {
	t.Parallel()
	peers := map[string]func(*testing.T) (addr string){
		"haproxy accept-proxy": func(t *testing.T) string { return parts.HAProxySees(t).Addr },
		"nginx http":           func(t *testing.T) string { return parts.NginxHTTP(t, "seen", true).Addr },
		"haproxy before a backend": func(t *testing.T) string {
			return parts.HAProxyAcceptThen(t, parts.NginxHTTP(t, "seen", false).Addr).Addr
		},
	}
	want := map[string]string{
		"haproxy accept-proxy": "127.0.0.42", "nginx http": "seen 127.0.0.42",
		"haproxy before a backend": "seen 127.0.0.1", // haproxy's own address: it passes the bytes on without a header
	}
	for name, peer := range peers {
		for _, version := range []string{"v1", "v2"} {
			t.Run(fmt.Sprintf("%s %s", name, version), func(t *testing.T) {
				t.Parallel()
				_, addr := start(t, noCheck+"proxy_protocol: {send: "+version+"}", peer(t))
				if body, _, err := parts.HTTPGet("127.0.0.42", addr); err != nil || body != want[name] {
					t.Errorf("the peer saw %q (%v), want %q", body, err, want[name])
				}
			})
		}
	}
}

func TestNginxStreamBelievesTheHeaderOut(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, addr := start(t, noCheck+"proxy_protocol: {send: "+version+"}", parts.NginxStream(t).Addr)
			got, err := io.ReadAll(parts.DialFrom(t, "127.0.0.43", addr))
			if err != nil || string(got) != "127.0.0.43" {
				t.Errorf("nginx saw %q (%v), want 127.0.0.43", got, err)
			}
		})
	}
}
