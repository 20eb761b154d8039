package config

import (
	"fmt"
	"reflect"
	"strings"
)

// later is a part of the format whose behaviour comes in a later release. It is checked like the rest, and then
// refused: a key that is read and does nothing would be worse than an error.
type later struct {
	key   string // of the file, or of a service
	value string // "" = everything but the default, which `sluice check` prints; else only values that start so
}

// notYet is the one list of what is refused. Drop a line when its behaviour is there.
func notYet() []later {
	return []later{
		{key: "admin"},
		{key: "listen", value: fdPrefix},
		{key: "limits.rate_per_source"},
	}
}

// later reports what is used of notYet.
func (v *validator) later(f *File, defaults *Service) {
	standard, builtIn := fileDefaults(), Defaults()
	table := notYet()
	v.laterIn("", &root{File: f, defaults: &serviceDefaults{}}, &root{File: &standard, defaults: &serviceDefaults{}}, table)
	v.laterIn("defaults", defaults, &builtIn, table)
	for i := range f.Services {
		v.laterIn(index("services", i), &f.Services[i], &builtIn, table)
	}
}

// laterIn compares the block at path with its default.
func (v *validator) laterIn(path string, b, standard block, table []later) {
	for _, l := range table {
		value, usual := lookup(b, l.key), lookup(standard, l.key)
		switch {
		case value == nil: // of another block
		case l.value != "":
			v.laterValues(join(path, l.key), value.(*oneOrMore), l.value)
		case !reflect.DeepEqual(value, usual):
			v.fault(join(path, l.key), "not supported yet; leave it out%s", orWrite(usual))
		}
	}
}

func (v *validator) laterValues(path string, value *oneOrMore, prefix string) {
	for i, s := range *value {
		at := index(path, i)
		if !v.source.given(at) {
			at = path
		}
		if strings.HasPrefix(s, prefix) {
			v.fault(at, "%s is not supported yet; write host:port or unix:/PATH", quote(s))
		}
	}
}

func orWrite(value any) string {
	if s, ok := formatScalar(value); ok {
		return fmt.Sprintf(" or write %s", s)
	}
	return ""
}

// lookup returns the pointer to the value of a key such as "connect.hold", or nil if b has no such key.
func lookup(b block, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	for _, k := range b.keys() {
		if k.name != name {
			continue
		}
		inner, ok := k.value.(block)
		switch {
		case !nested:
			return k.value
		case ok:
			return lookup(inner, rest)
		}
	}
	return nil
}
