package balancer

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
	"github.com/sluicelb/sluice/bench/stream"
)

// buildSluice builds the balancer of this module.
func buildSluice(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice")
	out, err := exec.Command("go", "build", "-o", path, "github.com/sluicelb/sluice/cmd/sluice").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// found is an installed balancer; a test fails where it is not.
func found(t *testing.T, k Kind) Spec {
	t.Helper()
	s := Spec{Kind: k, Name: string(k)}
	if k == Sluice {
		s.Path = buildSluice(t)
	}
	s, err := s.Find(t.Context())
	if err != nil {
		t.Fatalf("%v: these tests need haproxy, nginx and libnginx-mod-stream", err)
	}
	return s
}

// backends runs two stream servers until the test ends.
func backends(t *testing.T) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	var addrs []string
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- stream.Serve(ctx, ln) }()
		addrs = append(addrs, ln.Addr().String())
	}
	t.Cleanup(func() {
		cancel()
		for range addrs {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return addrs
}

func TestEveryKindStartsBalancesAndStops(t *testing.T) {
	addrs := backends(t)
	for _, k := range Kinds() {
		t.Run(string(k), func(t *testing.T) {
			s := found(t, k)
			if s.Version == "unknown" || !strings.Contains(strings.ToLower(s.Version), string(k)) {
				t.Errorf("version %q", s.Version)
			}
			services := []Service{{Name: "one", Backends: addrs}, {Name: "two", Backends: addrs[:1]}}
			i, err := Start(t.Context(), s, t.TempDir(), Settings{Services: services, Sessions: 500})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			for _, service := range services {
				for range 4 {
					pass(t, i.Addr(service.Name))
				}
			}
			if i.Addr("three") != "" || !strings.Contains(i.Config, i.Addr("two")) || services[0].Listen != "" {
				t.Errorf("addresses are mixed up: %q in %s", i.addrs, i.Config)
			}
			if _, err := i.CPU(); err != nil {
				t.Error(err)
			}
			i.Close()
			i.Close() // again
			if err := i.Err(); !errors.Is(err, proc.ErrEnded) {
				t.Errorf("closed, but: %v", err)
			}
		})
	}
}

// pass passes bytes in both directions.
func pass(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := stream.StartEcho(c); err != nil {
		t.Fatal(err)
	}
	if err := stream.Echo(c, make([]byte, 10_000)); err != nil {
		t.Error(err)
	}
}

func TestRealProgramsFindNoFaultInTheirConfigurations(t *testing.T) {
	services := []Service{{Name: "http", Backends: []string{"127.0.0.1:80", "127.0.0.2:80"}}, {Name: "redis", Backends: []string{"127.0.0.1:6379"}, Hash: true}}
	keep := Default()
	keep.Send, keep.Expect = "\x00'\"\\a{}\n", "\xff\x00OK"
	end := keep
	end.Close = true
	for _, k := range Kinds() {
		for name, f := range map[string]*Failover{"plain": nil, "failover": &keep, "failover that ends sessions": &end} {
			t.Run(string(k)+" "+name, func(t *testing.T) {
				checkConfig(t, found(t, k), Settings{Services: services, Sessions: 3500, Failover: f})
			})
		}
	}
}

// checkConfig has the program itself look at the configuration that it would be given.
func checkConfig(t *testing.T, s Spec, settings Settings) {
	t.Helper()
	dir := t.TempDir()
	text, err := Config(t.Context(), s, dir, settings)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, s.file())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := map[Kind][]string{
		Sluice: {"check", "-c", file}, HAProxy: {"-c", "-f", file}, Nginx: {"-t", "-p", dir, "-c", file, "-e", "stderr"},
	}[s.Kind]
	out, err := exec.Command(s.Path, args...).CombinedOutput()
	if err != nil || strings.Contains(strings.ToLower(string(out)), "warn") && s.Kind != Sluice {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
}

func TestABalancerThatFailsTellsWhy(t *testing.T) {
	s := Spec{Kind: Sluice, Name: "broken", Path: program(t, t.TempDir(), "sluice", `echo "cannot do that" >&2; exit 1`)}
	_, err := Start(t.Context(), s, t.TempDir(), Settings{Services: []Service{{Name: "one", Backends: []string{"127.0.0.1:80"}}}, Sessions: 10})
	if !errors.Is(err, proc.ErrEnded) || !strings.Contains(err.Error(), "cannot do that") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}

func TestABalancerWithoutAFolderIsNotStarted(t *testing.T) {
	if _, err := Start(t.Context(), Spec{Kind: Sluice, Name: "x"}, "/nonexistent", Settings{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
