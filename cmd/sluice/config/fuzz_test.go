package config

import (
	"errors"
	"slices"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

func addSeeds(f *testing.F) {
	f.Add(contract(f))
	f.Add([]byte(full))
	f.Add([]byte(inheriting))
	for _, c := range slices.Concat(faultCases, slipCases) {
		f.Add([]byte(c.src))
	}
}

// Whatever a file holds: no panic, faults inside the file, one line each; and what is accepted prints as itself.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("f", src)
		if err == nil {
			roundTrip(t, file)
			return
		}
		var faults Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("got %T %v, want Faults", err, err)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Col < 1 || fault.Message == "" || !printable(fault.Message) {
				t.Errorf("fault %q of %q", fault, src)
			}
		}
	})
}

// The tree is read by code of our own, so wherever it and the library's parser both accept a file, they must agree.
func FuzzTreeAgreesWithTheLibrary(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4096 {
			return
		}
		n := readTree(src, newFaultList("f"))
		if n == nil {
			return
		}
		text, _ := normalize(src)
		if hasJoins(text) {
			return
		}
		file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
		if err != nil || len(file.Docs) != 1 {
			return // the library is stricter about the columns of brackets
		}
		if why := differs(n, file.Docs[0].Body); why != "" {
			t.Errorf("%q: %s", src, why)
		}
	})
}

// hasJoins reports whether joinColons reads text in another way than the library.
func hasJoins(text string) bool {
	tokens, _ := scan(text, maxTokens)
	n := len(tokens)
	return len(joinColons(tokens)) != n
}

// differs compares a tree with the library's, but for keys given twice, of which the tree has the first.
func differs(n *node, lib ast.Node) string {
	switch lib := lib.(type) {
	case *ast.MappingNode:
		if n.kind != mapping {
			return "not a mapping: " + n.text
		}
		for _, v := range lib.Values {
			value := n.get(v.Key.GetToken().Value)
			if value == nil {
				return "no key " + v.Key.GetToken().Value
			}
			if len(lib.Values) == len(n.entries) {
				if why := differs(value, v.Value); why != "" {
					return v.Key.GetToken().Value + ": " + why
				}
			}
		}
	case *ast.SequenceNode:
		if n.kind != list || len(n.items) != len(lib.Values) {
			return "not such a list: " + n.text
		}
		for i, v := range lib.Values {
			if why := differs(n.items[i], v); why != "" {
				return why
			}
		}
	case *ast.NullNode:
		if n.kind != null {
			return "not null: " + n.text
		}
	case ast.ScalarNode:
		if n.text != lib.GetToken().Value {
			return "text " + n.text + ", the library has " + lib.GetToken().Value
		}
	}
	return ""
}

func FuzzFromFlags(f *testing.F) {
	f.Add(":6379", "least-conn", "http", "v2", "", "all", "10.0.0.1:6379")
	f.Add("fd:web", "", "", "", "127.0.0.1:1", "", "fd:1")
	f.Add("unix:/x", "", "redis", "v3", ":1", "x", "\xff:1")
	f.Fuzz(func(t *testing.T, listen, balance, check, proxy, admin, sessions, backend string) {
		file, err := FromFlags(Flags{[]string{listen}, balance, check, proxy, admin, sessions, []string{backend}})
		if err == nil {
			roundTrip(t, file)
		}
	})
}
