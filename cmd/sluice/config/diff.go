package config

import (
	"net/netip"
	"slices"
	"strings"
)

// Difference is a key whose value differs between two configurations.
type Difference struct {
	Key      string // as in the file, such as connect.timeout
	From, To string // as Format writes them; literal passwords are left out
}

// Differences returns what differs between two services but their names, listeners and backends, in the order of the
// file. Of checks, it is the keys that the new type has.
func Differences(from, to Service) []Difference {
	return differences("", (*serviceDefaults)(&from), (*serviceDefaults)(&to))
}

// ProcessDifferences is Differences for the keys outside of services.
func ProcessDifferences(from, to File) []Difference {
	from.Services, to.Services = nil, nil
	return differences("", &root{File: &from}, &root{File: &to})
}

func differences(path string, from, to block) (all []Difference) {
	others := to.keys()
	check, isCheck := to.(*Check)
	for i, k := range from.keys() {
		if isCheck && !check.has(k) {
			continue // went with the type or the role that had it
		}
		key := join(path, k.name)
		if a, b := nested(k.value), nested(others[i].value); a != nil && b != nil {
			all = append(all, differences(key, a, b)...)
			continue
		}
		if a, b := shown(k), shown(others[i]); a != b || otherText(k, others[i]) {
			all = append(all, Difference{key, a, b})
		}
	}
	return all
}

// otherText tells of two passwords whether they differ, which is not shown.
func otherText(a, b key) bool {
	x, text := a.value.(*string)
	return text && a.name == "password" && *x != *b.value.(*string)
}

// nested returns the block that a value is, if it is there.
func nested(value any) block {
	switch v := value.(type) {
	case *serviceDefaults:
		return nil // services have them already
	case **Admin:
		if *v != nil {
			return *v
		}
	case **AdminTLS:
		if *v != nil {
			return *v
		}
	case **TLS:
		if *v != nil {
			return *v
		}
	case block:
		return v
	}
	return nil
}

// shown writes a value on one line.
func shown(k key) string {
	switch v := k.value.(type) {
	case *serviceDefaults, *services, *[]Backend:
		return ""
	case *oneOrMore:
		return strings.Join(*v, ", ")
	case *[]netip.Prefix:
		texts := make([]string, len(*v))
		for i, p := range *v {
			texts[i] = p.String()
		}
		return strings.Join(texts, ", ")
	case *[]Step:
		return stepsText(*v)
	case *string:
		if k.name == "password" {
			return redacted(*v)
		}
	}
	if b := nested(k.value); b != nil {
		var texts []string
		for _, k := range b.keys() {
			if text := shown(k); text != "" { // else it is absent
				texts = append(texts, k.name+": "+text)
			}
		}
		return "{" + strings.Join(texts, ", ") + "}"
	}
	s, _ := formatScalar(k.value)
	return s
}

// stepsText writes steps on one line.
func stepsText(steps []Step) string {
	var texts []string
	for _, s := range steps {
		var parts []string
		for _, k := range s.keys() {
			if text := *k.value.(*string); text != "" {
				parts = append(parts, k.name+" "+quoteYAML(text))
			}
		}
		texts = append(texts, strings.Join(parts, " "))
	}
	return strings.Join(texts, "; ")
}

// hidden stands for a password that is written in the file.
const hidden = "(in the file)"

// refers tells whether a text of the file only says where the password is.
func refers(s string) bool { return strings.HasPrefix(s, "env:") || strings.HasPrefix(s, "file:") }

// redacted is a password for people to see: where it comes from, or only that there is one.
func redacted(s string) string {
	if s == "" || refers(s) {
		return formatText(s)
	}
	return hidden
}

// Redacted returns a copy of f without its literal passwords.
func Redacted(f File) File {
	f.Services = slices.Clone(f.Services)
	for i := range f.Services {
		if p := &f.Services[i].Check.Password; *p != "" && !refers(*p) {
			*p = hidden
		}
	}
	return f
}
