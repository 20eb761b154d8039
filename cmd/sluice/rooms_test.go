package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sluicelb/sluice/"

// rule bans imports: no non-test file below from may import what begins with a path
// of to. Paths are within the module unless their first element has a dot.
type rule struct {
	from  string
	to    []string
	why   string
	but   string // what may be imported all the same
	files string // the end of the names of files that may
	only  string // the room whose files may
}

var law = []rule{
	{from: "picker", to: []string{"bench", "cmd", "health", "l4"}, why: "a policy is pure choice: an index in, an index out"},
	{from: "picker", to: []string{"golang.org/", "github.com/"}, but: "github.com/cespare/xxhash", why: "the standard library and one stable hash"},
	{from: "health", to: []string{"bench", "cmd", "l4", "picker"}, why: "health knows names and time, and is told where its verdicts go"},
	{from: "health", to: []string{"golang.org/", "github.com/"}, files: "_probe.go", why: "what needs a driver stands in health/probe"},
	{to: []string{"github.com/redis/go-redis"}, files: "health/probe/redis/redis_probe.go", why: "one file knows the driver"},
	{to: []string{"github.com/jackc/pgx"}, files: "health/probe/postgres/postgres_probe.go", why: "one file knows the driver"},
	{to: []string{"github.com/go-sql-driver/mysql"}, files: "health/probe/mysql/mysql_probe.go", why: "one file knows the driver"},
	{from: "l4", to: []string{"bench", "cmd", "health"}, why: "the data path hears of health through the pool and parses nothing"},
	{from: "l4/relay", to: []string{"l4", "picker"}, why: "the relay knows no backend"},
	{from: "l4", to: []string{"golang.org/", "github.com/"}, but: "golang.org/x/sys/unix", files: "l4/proxyproto.go", why: "the data path stays free of dependencies"},
	{from: "bench", to: []string{"cmd", "health", "l4", "picker"}, why: "the bench drives any balancer fairly"},
	{from: "bench/proc", to: []string{"bench"}, why: "processes are run the same whatever they are"},
	{from: "bench/stream", to: []string{"bench"}, why: "a protocol knows neither who measures nor what"},
	{from: "bench/report", to: []string{"bench"}, why: "figures are shown the same whatever they are"},
	{from: "bench/talk", to: []string{"bench"}, why: "a protocol knows neither who measures nor what"},
	{from: "bench/load", to: []string{"bench/backend", "bench/balancer", "bench/compare", "bench/failover", "bench/fault", "bench/proc", "bench/report"}, why: "a load does not know what it loads"},
	{from: "bench/fault", to: []string{"bench/backend", "bench/balancer", "bench/compare", "bench/failover", "bench/load", "bench/report", "bench/stream"}, why: "who breaks backends offers no load and knows no balancer"},
	{from: "bench/compare", to: []string{"bench/failover"}, why: "benchmarks stand beside each other"},
	{from: "bench/failover", to: []string{"bench/compare"}, why: "benchmarks stand beside each other"},
	{from: "bench/balancer", to: []string{"bench"}, but: module + "bench/proc", why: "an adapter measures nothing"},
	{from: "bench/backend", to: []string{"bench"}, but: module + "bench/proc", why: "a backend offers no load"},
	{from: "cmd/l4bench", to: []string{"cmd/sluice", "health", "l4", "picker"}, why: "it sees balancers as programs, ours too"},
	{from: "cmd/sluice", to: []string{"bench", "cmd/l4bench"}, why: "the balancer ships without its bench"},
	{to: []string{"github.com/HdrHistogram"}, files: "bench/load/latency.go", why: "one file knows the histogram"},
	{to: []string{"golang.org/x/sys"}, files: "_linux.go", why: "what only Linux has stands in files that say so"},
	{to: []string{"github.com/pires/go-proxyproto"}, files: "l4/proxyproto.go", why: "one file knows the PROXY protocol"},
	{to: []string{"github.com/coreos/go-systemd/v22/daemon"}, files: "cmd/sluice/systemd/notifier.go", why: "one file tells the service manager"},
	{to: []string{"github.com/coreos/go-systemd/v22/activation"}, files: "cmd/sluice/systemd/sockets.go", why: "one file takes what it passed"},
	{from: "cmd/sluice/systemd", to: []string{"cmd", "health", "l4"}, why: "it carries messages and sockets, whatever they are about"},
	{from: "cmd/sluice/api", to: []string{"bench", "cmd", "health", "l4", "picker"}, why: "both ends of the API share words, and nothing that acts"},
	{from: "cmd/sluice/admin", to: []string{"cmd/sluice/app", "cmd/sluice/config", "cmd/sluice/ctl", "health", "picker"}, why: "the server knows the process as a Control"},
	{from: "cmd/sluice/admin/page", to: []string{"cmd", "health", "l4"}, why: "the page is static: what it shows comes through the API"},
	{from: "cmd/sluice/ctl", to: []string{"cmd/sluice/admin", "cmd/sluice/app", "cmd/sluice/config", "health", "l4", "picker"}, why: "the commands know a running sluice by its API"},
	{from: "cmd/sluice/metrics", to: []string{"cmd/sluice/app", "cmd/sluice/admin", "health", "l4"}, why: "metrics are told what there is"},
	{to: []string{"github.com/prometheus", "google.golang.org/protobuf"}, only: "cmd/sluice/metrics", why: "one room knows Prometheus"},
	{to: []string{"golang.org/x/time"}, only: "cmd/sluice/ratelimit", why: "one room knows the token bucket"},
	{to: []string{"github.com/chromedp"}, why: "a browser is for tests"},
	{to: []string{"l4/leaktest"}, why: "it is for tests"},
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	root := moduleRoot(t)
	seen := 0
	walkGo(t, root, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, spec := range file.Imports {
			checkImport(t, path, strings.Trim(spec.Path.Value, `"`))
		}
	})
	if seen < 50 {
		t.Fatalf("only %d files seen: the walk is wrong", seen)
	}
}

func checkImport(t *testing.T, path, imported string) {
	for _, r := range law {
		switch {
		case r.from != "" && !strings.HasPrefix(path, r.from+"/"),
			r.files != "" && strings.HasSuffix(path, r.files),
			r.only != "" && strings.HasPrefix(path, r.only+"/"),
			r.but != "" && strings.HasPrefix(imported, r.but):
			continue
		}
		for _, to := range r.to {
			if banned(path, imported, to) {
				t.Errorf("%s imports %s: %s", path, imported, r.why)
			}
		}
	}
}

// banned tells whether imported falls under to, as a file at path sees it: a room
// may import its own parts.
func banned(path, imported, to string) bool {
	if strings.Contains(strings.SplitN(to, "/", 2)[0], ".") {
		return strings.HasPrefix(imported, to) && !strings.HasPrefix(imported, module)
	}
	own, ours := strings.CutPrefix(imported, module)
	if !ours || own != to && !strings.HasPrefix(own, to+"/") {
		return false
	}
	return !strings.HasPrefix(path, own+"/")
}

func TestTheTopLevelHoldsTheRoomsAndNothingElse(t *testing.T) {
	allowed := []string{"cmd", "l4", "health", "picker", "bench", "go.mod", "go.sum", "README.md", "LICENSE"}
	entries, err := os.ReadDir(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

func TestEveryPackageSaysWhatItIsInADocFile(t *testing.T) {
	root := moduleRoot(t)
	dirs := make(map[string]bool)
	walkGo(t, root, func(path string) { dirs[filepath.Dir(path)] = true })
	for dir := range dirs {
		text, err := os.ReadFile(filepath.Join(root, dir, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", dir)
		} else if !strings.HasPrefix(string(text), "// Package ") && !strings.HasPrefix(string(text), "// Command ") && !strings.Contains(string(text), "\n// Package ") {
			t.Errorf("%s/doc.go has no package comment", dir)
		}
	}
}

// walkGo calls f with the path below root, slashes forward, of every Go file.
func walkGo(t *testing.T, root string, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			f(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}
