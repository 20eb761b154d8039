package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// section is what the reference has about one method of one path.
type section struct {
	text   string
	blocks map[string]string // by their kind: http is a request, json its answer
}

// reference returns the sections of docs/api.md by their headings.
func reference(t *testing.T) (page string, sections map[string]section) {
	t.Helper()
	src, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	page, sections = string(src), map[string]section{}
	for _, part := range strings.Split(page, "\n### ")[1:] {
		part, _, _ = strings.Cut(part, "\n## ")
		heading, text, _ := strings.Cut(part, "\n")
		s := section{text: text, blocks: map[string]string{}}
		for i, block := range strings.Split(text, "```") {
			if kind, body, _ := strings.Cut(block, "\n"); i%2 == 1 {
				s.blocks[kind] = body
			}
		}
		sections[heading] = s
	}
	return page, sections
}

func TestTheReferenceHasEveryRouteAndNoOther(t *testing.T) {
	page, sections := reference(t)
	s, err := New(Config{Control: newFake()})
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]endpoint{"GET /healthz": {}, "GET /readyz": {query: []string{"usable"}}, "GET /metrics": {}, "GET /": {}}
	for _, e := range s.endpoints() {
		routes[e.method+" "+prefix+e.path] = e
	}
	for route, e := range routes {
		about, ok := sections[route]
		if !ok {
			t.Errorf("%s is not in the reference", route)
			continue
		}
		for _, key := range e.query {
			if !strings.Contains(about.text, "`"+key+"`") && !strings.Contains(about.text, "`?"+key+"`") {
				t.Errorf("%s: the parameter %s is not explained", route, key)
			}
		}
	}
	for route := range sections {
		if _, ok := routes[route]; !ok {
			t.Errorf("%s is in the reference and is not served", route)
		}
	}
	for code := range codes(t) {
		if row := fmt.Sprintf("\n| `%s` | %d |", code, statusOf(code)); !strings.Contains(page, row) {
			t.Errorf("the reference has no row %q", row)
		}
	}
}

// codes returns the codes of faults that package api has.
func codes(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../api/types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Code") {
			code, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			found[code] = true
		}
		return true
	})
	if len(found) < 10 {
		t.Fatalf("only %d codes found", len(found))
	}
	return found
}

func TestTheRequestsOfTheReferenceAreServed(t *testing.T) {
	_, sections := reference(t)
	for _, route := range slices.Sorted(maps.Keys(sections)) {
		if strings.HasSuffix(route, "/stream") {
			continue // has no end
		}
		r := begin(t, Config{Page: page, Metrics: page})
		r.control.services[0].Name = "redis"
		head, body, _ := strings.Cut(sections[route].blocks["http"], "\n\n")
		lines := strings.Split(strings.TrimSpace(head), "\n")
		method, path, _ := strings.Cut(lines[0], " ")
		if wanted, _, _ := strings.Cut(route, " "); method != wanted {
			t.Errorf("%s: the example is %s", route, lines[0])
			continue
		}
		if p := r.ask(method, path, strings.TrimSpace(body), lines[1:]...); p.status >= 300 {
			t.Errorf("%s: %d %s", route, p.status, p.text)
		}
		r.Close()
	}
}

func TestTheAnswersOfTheReferenceHaveKnownFieldsOnly(t *testing.T) {
	_, sections := reference(t)
	v1 := func(method, path string) string { return method + " " + prefix + path }
	answers := map[string]any{
		v1("GET", "status"): new(api.Status), v1("GET", servicePath): new(api.Service), v1("GET", backendPath): new(api.Backend),
		v1("GET", backendPath+"/explain"): new(api.Explanation), v1("GET", servicePath+"/pick"): new(api.Pick),
		v1("GET", "sessions"): new(api.Sessions), v1("GET", "failures"): new([]api.Failure), v1("GET", "events"): new(api.Events),
		v1("DELETE", backendPath): new(api.Removed), v1("POST", backendPath+"/kill"): new(api.Killed),
		v1("POST", servicePath+"/pause"): new(api.Pause), v1("POST", servicePath+"/resume"): new(api.Resumed),
		v1("POST", "sessions/kill"): new(api.Killed), v1("POST", "reload"): new(api.Plan), v1("POST", "plan"): new(api.Plan),
	}
	for route, s := range sections {
		text, ok := s.blocks["json"]
		if !ok {
			continue
		}
		v, known := answers[route]
		if !known {
			t.Errorf("%s: which type is its answer?", route)
			continue
		}
		delete(answers, route)
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			t.Errorf("%s: %v", route, err)
		}
	}
	for route := range answers {
		t.Errorf("%s: no example of an answer", route)
	}
}
