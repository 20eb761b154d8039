package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/compare"
	"github.com/sluicelb/sluice/bench/proc"
)

// example is a small result.
func example() *compare.Result {
	return &compare.Result{
		Rounds: 1, Base: "sluice", Machine: proc.Machine{Cores: 2, CPU: "a CPU", Kernel: "6.18"},
		Balancers: []compare.Balancer{{Name: "sluice", Kind: balancer.Sluice, Version: "sluice 1.0"}},
		Partial:   "interrupted in round 1 of 3", Notes: []string{"Something to know."},
		Samples: []compare.Sample{{Round: 1, Workload: compare.Request, Balancer: "sluice", Values: map[string]float64{"cpu_us": 31.44}}},
	}
}

func TestAResultIsPrintedAndWritten(t *testing.T) {
	dir := t.TempDir()
	flags := compareFlags{json: filepath.Join(dir, "r.json"), html: filepath.Join(dir, "r.html")}
	var out bytes.Buffer
	if err := flags.show(example(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 cores, a CPU", "sluice: sluice 1.0", "CPU a request, 50 clients", "31.4", "Medians", "Something to know.", "! Partial: interrupted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("color where there is no terminal")
	}
	text, err := os.ReadFile(flags.json)
	if err != nil {
		t.Fatal(err)
	}
	var back compare.Result
	if err := json.Unmarshal(text, &back); err != nil || back.Samples[0].Values["cpu_us"] != 31.44 {
		t.Errorf("%v, %+v", err, back)
	}
	if text, err = os.ReadFile(flags.html); err != nil || !bytes.Contains(text, []byte("<svg")) {
		t.Errorf("%v, %s", err, text)
	}
}

func TestAFileThatCannotBeWrittenIsAnErrorAfterTheTable(t *testing.T) {
	flags := compareFlags{json: "/nonexistent/r.json", html: filepath.Join(t.TempDir(), "r.html")}
	var out bytes.Buffer
	if err := flags.show(example(), &out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(out.String(), "31.4") {
		t.Error("the table is lost")
	}
	if _, err := os.Stat(flags.html); err != nil {
		t.Errorf("the other file is lost: %v", err)
	}
}

func TestProgressIsALineAStepWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, os.Getenv)
	p.step(compare.Step{Number: 3, Total: 35, Round: 1, Rounds: 2, What: "bulk1", Target: "nginx", Elapsed: 4500 * time.Millisecond, Duration: time.Minute})
	p.end()
	if got := out.String(); got != "[  3/35] 4s of 1m0s, round 1 of 2: bulk1 nginx\n" {
		t.Errorf("%q", got)
	}
}

func TestProgressIsOneLineOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := progress{w: &out, live: true}
	for i := range 3 {
		p.step(compare.Step{Number: i})
	}
	p.end()
	if got := out.String(); strings.Contains(got, "\n") || !strings.HasSuffix(got, lineStart+clearRight) {
		t.Errorf("%q", got)
	}
}

func TestATerminalIsToldFromAFile(t *testing.T) {
	env := func(name string) string { return map[string]string{"TERM": "xterm"}[name] }
	if live, color := terminal(&bytes.Buffer{}, env); live || color {
		t.Error("a buffer is none")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if live, _ := terminal(file, env); live {
		t.Error("a file is none")
	}
}
