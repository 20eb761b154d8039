package app

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health/probe/probetest"
	"github.com/sluicelb/sluice/l4"
)

// C46: a probe begins as a session does, on the port that sessions go to.
func TestProbesFollowTheHeaderThatSessionsSend(t *testing.T) {
	for _, c := range []struct {
		name, address, send string
		port                int
		wantNetwork, want   string
		header              int
	}{
		{"no header", "10.0.0.1:80", "none", 0, "tcp", "10.0.0.1:80", 0},
		{"version 1 is UNKNOWN", "10.0.0.1:80", "v1", 0, "tcp", "10.0.0.1:80", 1},
		{"version 2 is LOCAL", "10.0.0.1:80", "v2", 0, "tcp", "10.0.0.1:80", 2},
		{"another port has its own rules", "10.0.0.1:80", "v2", 81, "tcp", "10.0.0.1:81", 0},
		{"IPv6 with a zone", "[fe80::1%lo]:80", "none", 81, "tcp", "[fe80::1%lo]:81", 0},
		{"Unix socket", "unix:/run/x.sock", "v1", 0, "unix", "/run/x.sock", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := config.Defaults()
			s.ProxyProtocol.Send, s.Check.Port = c.send, c.port
			got := endpointOf(s, config.Backend{Address: c.address})
			if got.Network != c.wantNetwork || got.Address != c.want || string(got.Preamble) != string(l4.ProbeHeader(c.header)) {
				t.Errorf("endpoint %+v, want %s %s with header version %d", got, c.wantNetwork, c.want, c.header)
			}
		})
	}
	if v1 := string(l4.ProbeHeader(1)); v1 != "PROXY UNKNOWN\r\n" {
		t.Errorf("version 1 header of a probe: %q", v1)
	}
}

func TestACheckThatCannotWorkIsRefusedWithItsReason(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := config.Defaults()
	for _, c := range []struct {
		name  string
		check config.Check
		want  string
	}{
		{"unknown type", config.Check{Type: "carrier-pigeon"}, "not supported"},
		{"status", config.Check{Type: "http", Status: "x"}, "x"},
		{"no such CA", config.Check{Type: "http", Status: "200", TLS: &config.TLS{CA: empty + ".not"}}, "no such file"},
		{"empty CA", config.Check{Type: "http", Status: "200", TLS: &config.TLS{CA: empty}}, "no certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.Check = c.check
			if p, err := newProber(s, config.Backend{Address: "10.0.0.1:80"}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("prober %v, error %v; want one about %q", p, err, c.want)
			}
		})
	}
}

func TestTypesOfChecksMakeTheirProbers(t *testing.T) {
	s := config.Defaults()
	for typ, want := range map[string]bool{"tcp": true, "http": true, "none": false} {
		s.Check = config.Check{Type: typ, Status: "200-399", Path: "/", TLS: &config.TLS{Insecure: true}}
		if p, err := newProber(s, config.Backend{Address: "10.0.0.1:80"}); err != nil || (p != nil) != want {
			t.Errorf("%s: prober %v, error %v", typ, p, err)
		}
	}
}

// What `sluice check` lets pass, `sluice run` must take.
func TestChecksThatAreValidInAFileMakeProbers(t *testing.T) {
	made := 0
	for _, key := range []string{"path", "host", "method", "status"} {
		for _, value := range []string{
			"/", "/a?b=c", "/%41", "/%zz", "/%", "/a#b", "//x", "/ü", "a/b", "a", "a.b:80", "[::1]:80", "[::1", "[", ":80", "a:b:c", "a@b", "a?b", "a#b",
			"ex{ample", "127.0.0.1", "a%41", "GET", "M-SEARCH", "200", "200-299,404", "-", "1", "é", "",
		} {
			text := fmt.Sprintf("services: [{name: a, listen: '127.0.0.1:0', backends: ['127.0.0.1:1'], check: {type: http, %s: %q}}]", key, value)
			file, err := config.Parse("f", []byte(text))
			if err != nil {
				continue
			}
			made++
			a, err := New(file, Options{Engine: Portable})
			if err != nil {
				t.Errorf("%s: %q passes the check of the file, then: %v", key, value, err)
				continue
			}
			a.Discard()
		}
	}
	if made < 15 {
		t.Errorf("only %d of the files were valid", made)
	}
}

// What the file says of a conversation is what the backend hears.
func TestAConversationOfTheFileIsHeld(t *testing.T) {
	e := probetest.Serve(t, func(c net.Conn) {
		io.WriteString(c, "220 mx\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		if line == "QUIT \"now\"\r\n" {
			io.WriteString(c, "221 bye\r\n")
		}
		io.Copy(io.Discard, c)
	})
	for steps, want := range map[string]string{
		`steps: [{expect: "220 "}, {send: 'QUIT "now"\r\n', regexp: "^221 "}]`: "",
		`steps: [{expect: "220 "}, {send: 'HELP\r\n', expect: "214 "}]`:        `step 2: `,
		`expect: "220 mx"`: "",
	} {
		f, err := config.Parse("f", []byte("services: [{name: a, listen: ':1', backends: ['"+e.Address+"'], check: {type: send-expect, "+steps+"}}]"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProber(f.Services[0], f.Services[0].Backends[0])
		if err != nil {
			t.Fatal(err)
		}
		probetest.Expect(t, probetest.Probe(p, time.Second), want)
	}
}
