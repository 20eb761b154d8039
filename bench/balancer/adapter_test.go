package balancer

import (
	"errors"
	"strings"
	"testing"
)

func TestAnAdapterThatLacksSomethingIsRefusedWithTheReason(t *testing.T) {
	good := Adapter{Name: "envoy", Program: "envoy", File: "envoy.yaml", Config: "x", Args: []string{"-c", "{{.File}}"}}
	if _, err := good.Spec(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*Adapter)
		reason string
	}{
		{"no name", func(a *Adapter) { a.Name = "" }, `name "": a name has letters`},
		{"a name that is a folder", func(a *Adapter) { a.Name = ".." }, `name ".."`},
		{"a name with a slash", func(a *Adapter) { a.Name = "a/b" }, `name "a/b"`},
		{"no program", func(a *Adapter) { a.Program = "" }, "program is missing"},
		{"no file", func(a *Adapter) { a.File = "" }, "file"},
		{"a file elsewhere", func(a *Adapter) { a.File = "../x" }, "without a folder"},
		{"no configuration", func(a *Adapter) { a.Config = "" }, "config is missing"},
		{"a template with a fault", func(a *Adapter) { a.Config = "{{.Nothing}}" }, "config: "},
		{"a template that does not end", func(a *Adapter) { a.Config = "{{range .Services}}" }, "config: "},
		{"an argument with a fault", func(a *Adapter) { a.Args = []string{"{{port}}"} }, "args: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := good
			tt.change(&a)
			if _, err := a.Spec(); !errors.Is(err, ErrAdapter) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("%v, want %q", err, tt.reason)
			}
		})
	}
}

func TestAnAdapterWhoseProgramIsNotThereIsMissing(t *testing.T) {
	s, err := Adapter{Name: "x", Program: "no-such-balancer", File: "f", Config: "c"}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context()); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "no-such-balancer") {
		t.Errorf("%v", err)
	}
}

func TestBytesAreEscapedSoThatNoQuoteMatters(t *testing.T) {
	for text, want := range map[string]string{"": "", "PING": "PING", "a\r\n": `a\x0d\x0a`, "\xff'": `\xff\x27`, `\"`: `\x5c\x22`, "é": `\xc3\xa9`} {
		if got := escape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
