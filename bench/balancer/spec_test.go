package balancer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBalancersAreNamed(t *testing.T) {
	tests := []struct {
		text string
		want Spec
	}{
		{"sluice", Spec{Kind: Sluice, Name: "sluice"}},
		{"haproxy", Spec{Kind: HAProxy, Name: "haproxy"}},
		{"nginx=/opt/nginx", Spec{Kind: Nginx, Name: "nginx", Path: "/opt/nginx"}},
		{"sluice:base=/tmp/old", Spec{Kind: Sluice, Name: "base", Path: "/tmp/old"}},
		{"haproxy:3.5-dev_1=./haproxy", Spec{Kind: HAProxy, Name: "3.5-dev_1", Path: "./haproxy"}},
		{"sluice=a=b", Spec{Kind: Sluice, Name: "sluice", Path: "a=b"}},
	}
	for _, tt := range tests {
		if got, err := ParseSpec(tt.text); err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.text, got, err)
		}
	}
}

func TestWhatIsNoNameIsRefusedWithTheReason(t *testing.T) {
	tests := []struct{ text, reason string }{
		{"", "no kind"},
		{"envoy", `no kind "envoy"; known are [sluice haproxy nginx]`},
		{"base=/tmp/old", "KIND:NAME=PATH"},
		{"sluice=", "the path is empty"},
		{"sluice:base", "needs a path"},
		{"sluice:=x", "a name has letters"},
		{"sluice:a b=x", "a name has letters"},
		{"sluice:../x=x", "a name has letters"},
		{"sluice:base=", "the path is empty"},
	}
	for _, tt := range tests {
		if _, err := ParseSpec(tt.text); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}

// program writes a script that answers when asked for a version.
func program(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAProgramIsFoundOnPath(t *testing.T) {
	dir := t.TempDir()
	path := program(t, dir, "sluice", `[ "$1" = version ] && echo "sluice 1.2.3" && echo more`)
	t.Setenv("PATH", dir)
	s, err := Spec{Kind: Sluice, Name: "sluice"}.Find(t.Context())
	if err != nil || s.Path != path || s.Version != "sluice 1.2.3" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAProgramIsFoundByItsPath(t *testing.T) {
	t.Chdir(t.TempDir())
	path := program(t, ".", "old", `echo "nginx version: nginx/0.1" >&2; [ "$1" = -v ] || echo "configure arguments: --with-stream"`)
	s, err := Spec{Kind: Nginx, Name: "old", Path: "./" + path}.Find(t.Context())
	if err != nil || !filepath.IsAbs(s.Path) || s.Version != "nginx version: nginx/0.1" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAProgramThatIsNotThereIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, s := range []Spec{
		{Kind: Sluice, Name: "sluice"}, // which Debian does not have
		{Kind: Sluice, Name: "base", Path: "/nonexistent/sluice"},
		{Kind: HAProxy, Name: "haproxy", Path: t.TempDir()},
	} {
		if found, err := s.Find(t.Context()); !errors.Is(err, ErrMissing) {
			t.Errorf("%+v: found %+v, %v", s, found, err)
		}
	}
}

func TestAnNginxThatCannotDoTCPIsMissing(t *testing.T) {
	dir := t.TempDir()
	s := Spec{Kind: Nginx, Name: "nginx", Path: program(t, dir, "nginx", "echo configure arguments: --with-stream=dynamic --modules-path="+dir)}
	if _, err := s.Find(t.Context()); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "libnginx-mod-stream") {
		t.Errorf("%v", err)
	}
	program(t, dir, "ngx_stream_module.so", "")
	if _, err := s.Find(t.Context()); err != nil {
		t.Errorf("with its module: %v", err)
	}
}

func TestTheStreamModuleIsWhereNginxSays(t *testing.T) {
	tests := []struct{ built, want string }{
		{"configure arguments: --prefix=/x --with-stream --with-stream_ssl_module", ""},
		{"configure arguments: --modules-path=/opt/m --with-stream=dynamic", "/opt/m/ngx_stream_module.so"},
		{"configure arguments: --with-stream=dynamic", "/usr/lib/nginx/modules/ngx_stream_module.so"},
		{"", "/usr/lib/nginx/modules/ngx_stream_module.so"},
	}
	for _, tt := range tests {
		if got := streamModule(tt.built); got != tt.want {
			t.Errorf("%q: %q", tt.built, got)
		}
	}
}
