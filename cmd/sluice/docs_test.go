package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
)

func TestTheOperatingPageKnowsEveryReasonAndMessage(t *testing.T) {
	page, err := os.ReadFile("docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range relay.Whys() {
		if !strings.Contains(string(page), "\n| `"+why.String()+"` |") {
			t.Errorf("the reason %q is not explained", why)
		}
	}
	for _, msg := range logMessages(t) {
		if !strings.Contains(string(page), "`"+msg+"`") {
			t.Errorf("the log message %q is not explained", msg)
		}
	}
}

// logMessages returns what the balancer's code gives a logger as a message.
func logMessages(t *testing.T) []string {
	t.Helper()
	root, found := moduleRoot(t), make(map[string]bool)
	walkGo(t, root, func(path string) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || dir != "l4" && dir != "cmd/sluice" && dir != "cmd/sluice/app" && dir != "cmd/sluice/systemd" {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range messagesOf(n) {
				if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					found[text] = true
				}
			}
			return true
		})
	})
	if len(found) < 10 {
		t.Fatalf("only %d log messages found: %v", len(found), found)
	}
	return slices.Sorted(maps.Keys(found))
}

// messagesOf returns the expressions of n that are log messages: the argument of a
// logger's method, or what is assigned to a variable called msg.
func messagesOf(n ast.Node) (all []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		method, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) < 3 {
			return nil
		}
		switch method.Sel.Name {
		case "Debug", "Info", "Warn", "Error":
			all = append(all, n.Args[0])
		case "LogAttrs":
			all = append(all, n.Args[2])
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if id, ok := left.(*ast.Ident); ok && id.Name == "msg" && len(n.Rhs) == len(n.Lhs) {
				all = append(all, n.Rhs[i])
			}
		}
	}
	return all
}

func TestTheReadmesFilesAreValid(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("no file in the README")
	}
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if status, _, stderr := command(t, "check", "-c", writeFile(t, text)); status != exitDone {
			t.Errorf("%s\n%s", stderr, text)
		}
	}
}
