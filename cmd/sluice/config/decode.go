package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// decoder fills structs from a tree and remembers where every value stands.
type decoder struct {
	faults   *faultList
	places   map[string]place
	defaults Service // what a service starts from; complete once `defaults` is decoded
}

// file decodes a whole configuration.
func (d *decoder) file(n *node) File {
	f := fileDefaults()
	d.defaults = Defaults()
	d.value(n, "", &root{File: &f, defaults: (*serviceDefaults)(&d.defaults)})
	return f
}

// value decodes n into what ptr points to, see key. A value that is no good leaves it as it was.
func (d *decoder) value(n *node, path string, ptr any) {
	d.places[path] = n.at
	switch v := ptr.(type) {
	case **Admin:
		*v = &Admin{}
		d.block(n, path, *v)
	case **AdminTLS:
		*v = &AdminTLS{}
		d.block(n, path, *v)
	case **TLS:
		if *v == nil {
			*v = &TLS{}
		}
		d.block(n, path, *v)
	case *Check:
		if typ := n.get("type"); typ != nil && typ.text != v.Type && slices.Contains(checkTypes, typ.text) {
			*v = v.retyped(typ.text)
		}
		if n.kind == text || n.kind == boolean {
			d.fault(n, path, shortCheck(n))
			return
		}
		d.block(n, path, v)
	case block:
		d.block(n, path, v)
	case *oneOrMore:
		d.oneOrMore(n, path, v)
	case *[]netip.Prefix:
		d.prefixes(n, path, v)
	case *[]Backend:
		d.backends(n, path, v)
	case *[]Step:
		d.steps(n, path, v)
	case *services:
		d.services(n, path, v)
	default:
		if n.kind == null && required(path) {
			d.fault(n, path, "no value; it is required")
		} else if err := n.scalar(ptr); err != nil {
			d.fault(n, path, err.Error())
		}
	}
}

// block decodes a mapping, its keys in the order of the block, not of the file.
func (d *decoder) block(n *node, path string, b block) {
	keys := b.keys()
	if word := keyBeforeColon(n.text); n.kind == text && (hasKey(keys, word) || path == "" && word != "") {
		d.fault(n, path, wrongKind(n, mapping).Error()+spaceAdvice)
		return
	}
	if !d.want(n, path, mapping) {
		return
	}
	for _, e := range n.entries {
		if !hasKey(keys, e.name) && !d.faults.full() { // the message takes its time
			d.faults.add(e.at, join(path, e.name), unknownKey(e.name, label(path), keys, b))
		}
	}
	for _, k := range keys {
		if v := n.get(k.name); v != nil {
			d.value(v, join(path, k.name), k.value)
		}
	}
}

func hasKey(keys []key, name string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return k.name == name })
}

// unknownKey says what could stand in place of a key in a block, which messages call label.
func unknownKey(name, label string, keys []key, b block) string {
	_, isRoot := b.(*root)
	switch {
	case isRoot && slices.Contains(serviceOnly, name):
		return fmt.Sprintf("unknown key %s; it goes in a service", quote(name))
	case isRoot && hasKey((&Service{}).keys(), name):
		return fmt.Sprintf("unknown key %s; it goes in a service, or under defaults for all of them", quote(name))
	case keyBeforeColon(name) != "":
		return fmt.Sprintf("unknown key %s%s", quote(name), spaceAdvice)
	}
	if _, ok := b.(*serviceDefaults); ok && slices.Contains(serviceOnly, name) {
		return fmt.Sprintf("%s cannot have a default; write it in every service", name)
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return fmt.Sprintf("unknown key %s; allowed: %s%s", quote(name), strings.Join(names, ", "), hint(name, label, names))
}

// want reports a value that is not of the kind its key has.
func (d *decoder) want(n *node, path string, want kind) bool {
	if n.kind == want {
		return true
	}
	if n.kind == null && required(path) {
		d.fault(n, path, fmt.Sprintf("no value; it is required, give it %s", want))
		return false
	}
	d.fault(n, path, wrongKind(n, want).Error())
	return false
}

func (d *decoder) fault(n *node, path, message string) {
	name := label(path)
	if name == "" {
		name = "the file"
	}
	d.faults.addValue(n.at, path, name+": "+message)
}

func (d *decoder) oneOrMore(n *node, path string, v *oneOrMore) {
	if n.kind != list {
		var only textOrNumber
		d.value(n, path, &only)
		*v = oneOrMore{string(only)}
		return
	}
	*v = nil
	for i, item := range n.items {
		var s textOrNumber
		d.value(item, index(path, i), &s)
		*v = append(*v, string(s)) // also if it is no good, so that indexes stay those of the file
	}
}

func (d *decoder) prefixes(n *node, path string, v *[]netip.Prefix) {
	if !d.want(n, path, list) {
		return
	}
	*v = nil
	for i, item := range n.items {
		at := index(path, i)
		var s textOrNumber
		d.value(item, at, &s)
		prefix, err := parsePrefix(string(s))
		if err != nil {
			d.fault(item, at, err.Error()) // if it is text
			continue
		}
		*v = append(*v, prefix)
	}
	*v = slices.Clip(*v) // services share it, so an append must not reach the others
}

func (d *decoder) backends(n *node, path string, v *[]Backend) {
	if n.kind == mapping {
		d.fault(n, path, wrongKind(n, list).Error()+`; start each backend with "- "`)
		return
	}
	if !d.want(n, path, list) {
		return
	}
	for i, item := range n.items {
		b, at := backendDefaults(), index(path, i)
		d.places[at] = item.at
		switch {
		case item.kind == text && hasKey(b.keys(), keyBeforeColon(item.text)):
			d.fault(item, at, wrongKind(item, "an address or a mapping with one").Error()+spaceAdvice)
		case item.kind == text: // the short form
			d.value(item, join(at, "address"), &b.Address)
		case item.kind == mapping:
			d.value(item, at, &b)
		default:
			d.fault(item, at, wrongKind(item, "an address or a mapping with one").Error())
		}
		if item.get("name") == nil {
			b.Name = b.Address
		}
		*v = append(*v, b)
	}
}

func (d *decoder) steps(n *node, path string, v *[]Step) {
	if n.kind == mapping {
		d.fault(n, path, wrongKind(n, list).Error()+`; start each step with "- "`)
		return
	}
	if !d.want(n, path, list) {
		return
	}
	*v = nil
	for i, item := range n.items {
		at := index(path, i)
		d.places[at] = item.at
		*v = append(*v, Step{})
		d.block(item, at, &(*v)[i])
	}
}

func (d *decoder) services(n *node, path string, v *services) {
	if n.kind == mapping {
		d.fault(n, path, wrongKind(n, list).Error()+`; start each service with "- name: …"`)
		return
	}
	if !d.want(n, path, list) {
		return
	}
	if len(n.items) > maxServices {
		d.fault(n, path, fmt.Sprintf("%d services are too many; allowed: at most %d", len(n.items), maxServices))
		return
	}
	for i, item := range n.items {
		s := d.defaults.inherited()
		d.value(item, index(path, i), &s)
		*v = append(*v, s)
	}
}

// scalar decodes a text, number, duration or truth value.
func (n *node) scalar(ptr any) (err error) {
	switch v := ptr.(type) {
	case *string:
		if n.kind == number {
			return fmt.Errorf(`must be text, not a number; write %s`, quote(n.text))
		}
		if n.kind != text {
			return wrongKind(n, text)
		}
		*v = n.text
	case *textOrNumber:
		if n.kind != text && n.kind != number {
			return wrongKind(n, text)
		}
		*v = textOrNumber(n.text)
	case *int:
		if n.kind != number {
			return wrongKind(n, number)
		}
		return assign(v, n.text, parseInt)
	case *time.Duration:
		if n.kind != text && n.kind != number {
			return wrongKind(n, "a duration like 3s")
		}
		return assign(v, n.text, parseDuration)
	case *bool:
		if n.kind != boolean {
			return wrongKind(n, boolean)
		}
		*v = strings.EqualFold(n.text, "true")
	default:
		panic(fmt.Sprintf("config: no decoder for %T", ptr))
	}
	return nil
}

// assign sets v to what parse makes of s, unless that is an error.
func assign[T any](v *T, s string, parse func(string) (T, error)) error {
	parsed, err := parse(s)
	if err == nil {
		*v = parsed
	}
	return err
}

// required reports whether the key at path cannot be left out.
func required(path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch label(parent(path)) {
	case "":
		return name == "services"
	case "services":
		return slices.Contains(serviceOnly, name)
	case "backends":
		return name == "address"
	case "admin":
		return name == "listen"
	case "tls": // of admin; that of a check has no such keys
		return name == "cert" || name == "key"
	}
	return false
}

// shortCheck says how a check is written that is a word and not a mapping.
func shortCheck(n *node) string {
	wrong, typ := wrongKind(n, mapping).Error(), strings.ToLower(n.text)
	types := checkTypes
	switch typ {
	case "off", "no", "false", "disabled":
		typ = "none"
	case "on", "yes", "true", "enabled":
		typ = Defaults().Check.Type
	}
	switch {
	case hasKey((&Check{}).keys(), keyBeforeColon(n.text)):
		return wrong + spaceAdvice
	case slices.Contains(types, typ):
		return fmt.Sprintf("%s; write {type: %s}", wrong, typ)
	}
	return fmt.Sprintf("%s; write {type: TYPE} with one of %s%s", wrong, strings.Join(types, ", "), didYouMean(typ, types))
}

func wrongKind(n *node, want kind) error {
	switch n.kind {
	case null:
		return fmt.Errorf("no value; leave the key out, or give it %s", want)
	case text:
		return fmt.Errorf("must be %s, not the text %s", want, quote(n.text))
	}
	return fmt.Errorf("must be %s, not %s", want, n.kind)
}
