package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a stranger may write costs what its size says. The bound is generous, for the race detector on a busy machine;
// work that grows with the square would need hours.
func TestHostileFilesCostBoundedWork(t *testing.T) {
	if testing.Short() {
		t.Skip("reads some 2 MB")
	}
	const size = 1 << 16
	for _, unit := range []string{
		"[", "{", "]", "- ", "-\n", "a: ", "a:\n", "a: 1\n", "a: {", "? ", "!a ", "&a ", "*a ", "<<: ", "\"", "'", ":", ", ", "|\n", "#\n",
		"a\n", "é", "\ufeff", "\n", " ", "\t", "[1,", "{a: 1},", "---\n", "%", "\\", "a b", "::",
	} {
		start := time.Now()
		_, err := Parse("f", bytes.Repeat([]byte(unit), size/len(unit)))
		var faults Faults
		if !errors.As(err, &faults) || len(faults) > maxFaults+1 {
			t.Errorf("%q: %d faults, %T", unit, len(faults), err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%q: took %v", unit, d)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	var block strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&block, "%sa:\n", strings.Repeat(" ", i))
	}
	for name, src := range map[string]string{
		"lists":    strings.Repeat("[", 1000),
		"mappings": strings.Repeat("{a: ", 1000),
		"dashes":   strings.Repeat("- ", 1000),
		"keys":     block.String(),
	} {
		_, err := Parse("f", []byte(src))
		if err == nil || !strings.HasSuffix(err.Error(), ": nested more than 32 deep") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	_, err := Parse("f", make([]byte, maxBytes+1))
	if want := "f:1:1: the file is larger than 4 MiB"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	name := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(name, bytes.Repeat([]byte("#"), maxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(name); err == nil || !strings.HasSuffix(err.Error(), "the file is larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestTokensAreBounded(t *testing.T) {
	if tokens, bad := scan("[a, b] # c", 5); bad != nil || len(tokens) != 5 {
		t.Errorf("got %d tokens, %v", len(tokens), bad)
	}
	if _, bad := scan("[a, b] # c", 4); bad == nil || bad.message != "the file has too many values to be read" || bad.at != (place{1, 6}) {
		t.Errorf("got %v", bad)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	_, err := Parse("f", []byte("services: ["+strings.Repeat("{}, ", maxFaults)+"]"))
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != maxFaults+1 {
		t.Fatalf("got %d faults", len(faults))
	}
	if last := faults[maxFaults]; last.Message != "more than 1000 faults; the rest is not shown" {
		t.Errorf("got %s", last)
	}
}

func TestBackendsOfAServiceAreBounded(t *testing.T) {
	file := func(n int) []byte {
		var b strings.Builder
		b.WriteString("services:\n  - name: a\n    listen: ':1'\n    backends:\n")
		for i := range n {
			fmt.Fprintf(&b, "      - b:%d\n", i+1)
		}
		return []byte(b.String())
	}
	f := parse(t, string(file(maxBackends)))
	roundTrip(t, f)
	_, err := Parse("f", file(maxBackends+1))
	if want := "f:5:7: backends: 10001 backends are too many; allowed: at most 10000"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestServicesAreBounded(t *testing.T) {
	_, err := Parse("f", []byte("services: ["+strings.Repeat("{}, ", maxServices+1)+"]"))
	if want := "f:1:11: services: 10001 services are too many; allowed: at most 10000"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A long list in `defaults` times many services would be a bomb, if every service had its own.
func TestInheritedListsCostNothing(t *testing.T) {
	const n = 5000
	f := parse(t, "defaults: {allow: ["+strings.Repeat("10.0.0.1, ", n)+"]}\n"+
		"services: [{name: a, listen: ':1', backends: [b:1]}, {name: b, listen: ':2', backends: [b:1]}]")
	a, b := f.Services[0].Allow, f.Services[1].Allow
	if len(a) != n || &a[0] != &b[0] || cap(a) != n {
		t.Errorf("lists of %d and %d, not one with no room to append", len(a), len(b))
	}
}

func TestLineEndsAndByteOrderMark(t *testing.T) {
	src := "\ufeff" + strings.ReplaceAll(full, "\n", "\r\n")
	roundTrip(t, parse(t, src))
	_, err := Parse("f", []byte("\ufefflog: {}\r\n  \r\nx: 1\r\nservices: ["+one+"}]\r\n"))
	if err == nil || !strings.HasPrefix(err.Error(), `f:3:1: unknown key "x"`) {
		t.Errorf("got %v", err)
	}
}

func TestLoad(t *testing.T) {
	f, err := Load("testdata/cert.pem")
	if err == nil || !strings.HasPrefix(err.Error(), "testdata/cert.pem:1:1: ") || len(f.Services) != 0 {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, err := Load("testdata/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	var faults Faults
	if _, err := Load("testdata"); err == nil || errors.As(err, &faults) {
		t.Errorf("a directory: got %v", err)
	}
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(name); err != nil || len(f.Services) != 2 {
		t.Errorf("got %+v, %v", f, err)
	}
}
