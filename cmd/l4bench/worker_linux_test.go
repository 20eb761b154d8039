package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/talk"
)

func TestItsBackendsAreBrokenAndMended(t *testing.T) {
	program := filepath.Join(build(t).dir, "l4bench")
	f, err := fault.Start(t.Context(), 2, []string{program, faultBackendName}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, do := range []func() error{
		func() error { return f.Break(t.Context(), 1, fault.Exit) },
		func() error { return f.Mend(t.Context(), 1, fault.Exit) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", f.Addrs()[1])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if backend, err := talk.Exchange(c, 1); backend != 1 || err != nil {
		t.Errorf("backend %d, %v", backend, err)
	}
}

func TestABackendNeedsItsNumber(t *testing.T) {
	for _, id := range []string{"x", "-1", ""} {
		var out bytes.Buffer
		err := run(t.Context(), []string{faultBackendName, "--", id, "127.0.1.1:1"}, &out, os.Stderr)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "no backend's number") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
