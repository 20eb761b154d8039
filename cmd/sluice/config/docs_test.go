package config

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const docs = "../docs/config.md"

// docRows returns the rows of docs/config.md by "section key", each split into its cells.
func docRows(t *testing.T) map[string][]string {
	src, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	rows, section := map[string][]string{}, ""
	for line := range strings.Lines(string(src)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(heading)
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[section+" "+strings.Trim(cells[0], "`")] = cells
	}
	return rows
}

// docBlocks returns every block of the format with its defaults, by its section.
func docBlocks() map[string]block {
	f, s, b := fileDefaults(), Defaults(), backendDefaults()
	return map[string]block{
		"The file": &root{File: &f, defaults: &serviceDefaults{}}, "admin": &Admin{}, "admin.tls": &AdminTLS{}, "log": &f.Log, "services": &s, "backends": &b,
		"connect": &s.Connect, "timeouts": &s.Timeouts, "check": &s.Check, "steps": &Step{}, "tls": &TLS{}, "passive": &s.Passive,
		"proxy_protocol": &s.ProxyProtocol, "limits": &s.Limits,
	}
}

func TestDocsHaveEveryKeyWithItsDefault(t *testing.T) {
	rows := docRows(t)
	known := map[string]bool{}
	for section, b := range docBlocks() {
		for _, k := range b.keys() {
			at := section + " " + k.name
			known[at] = true
			row, ok := rows[at]
			if !ok {
				t.Errorf("%s: key %q of %s is missing", docs, k.name, section)
				continue
			}
			if want, ok := docDefault(section, k); ok && row[2] != want {
				t.Errorf("%s: default of %s is %s, want %s", docs, at, row[2], want)
			}
		}
	}
	for at := range maps.Keys(rows) {
		if !known[at] {
			t.Errorf("%s: %s is not in the format", docs, at)
		}
	}
}

// docDefault returns how the default of a key is written, if that can be told from the key.
func docDefault(section string, k key) (string, bool) {
	if k.types != nil {
		c := Check{}.retyped(k.types[0])
		i := slices.IndexFunc(c.keys(), func(o key) bool { return o.name == k.name })
		k = c.keys()[i]
	}
	required := []string{"services name", "backends address", "admin listen", "admin.tls cert", "admin.tls key"}
	switch k.value.(type) {
	case **TLS, **Admin, **AdminTLS:
		return "absent", true
	case *serviceDefaults:
		return "`{}`", true
	case *oneOrMore, *[]Backend, *services:
		return "required", true
	case block:
		return "[" + k.name + "](#" + k.name + ")", true
	}
	if slices.Contains(required, section+" "+k.name) {
		return "required", true
	}
	if section == "backends" && k.name == "name" {
		return "the address", true
	}
	if s, ok := formatScalar(k.value); ok {
		return "`" + s + "`", true
	}
	return "`[]`", true
}

func TestDocsExamplesParse(t *testing.T) {
	src, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, part := range strings.Split(string(src), "```yaml\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		n++
		if _, err := Parse("example", []byte(example)); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
	if n < 5 {
		t.Errorf("%d examples, want more", n)
	}
}
