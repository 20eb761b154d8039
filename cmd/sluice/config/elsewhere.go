package config

import (
	"slices"
	"strings"
)

// elsewhere is a word of other programs, and what is written here in its place.
type elsewhere struct {
	words string   // in the form of normal
	keys  []string // as paths inside a service; where one of several stands in the block at hand, it alone is meant
}

// elsewheres is the one table of words that HAProxy, nginx, Caddy, Envoy, traefik and others have for keys of this format.
func elsewheres() []elsewhere {
	return []elsewhere{
		{"bind frontend", []string{"listen"}},
		{"host hostname ip addr", []string{"listen", "backends.address"}},
		{"port", []string{"listen", "backends.address: HOST:PORT"}},
		{"server servers upstream upstreams target targets endpoints nodes members proxy_pass", []string{"backends"}},
		{"maxconn max_conn max_conns", []string{"limits.connections", "backends.max_connections"}},
		{"backup", []string{"backends.priority: 1"}},
		{"disabled down", []string{"backends.weight: 0"}},
		{"algorithm lb_algorithm lb_policy policy strategy scheduler mode", []string{"balance"}},
		{"health_check healthcheck health_checks", []string{"check"}},
		{"inter", []string{"check.interval"}},
		{"uri url", []string{"check.path"}},
		{"max_fails", []string{"passive.failures"}},
		{"fail_timeout", []string{"passive.eject"}},
		{"retries max_retries redispatch", []string{"connect.attempts"}},
		{"connect_timeout proxy_connect_timeout timeout_connect", []string{"connect.timeout"}},
		{"client server tunnel proxy_timeout idle_timeout timeout_client timeout_server timeout_tunnel", []string{"timeouts.idle"}},
		{"send_proxy", []string{"proxy_protocol.send"}},
		{"send_proxy_v2", []string{"proxy_protocol.send: v2"}},
		{"accept_proxy", []string{"proxy_protocol.accept"}},
	}
}

// hint ends the message about an unknown key of the block called label, which has the given names.
func hint(word, label string, names []string) string {
	if keys := fromElsewhere(word, names); len(keys) > 0 {
		return meant(keys, label, names)
	}
	if close := didYouMean(word, names); close != "" {
		return close
	}
	return meant(otherBlocks(word), label, names)
}

// fromElsewhere returns what the table has for word: the first line with a key of the names, else the first line.
func fromElsewhere(word string, names []string) []string {
	var first []string
	for _, e := range elsewheres() {
		if !slices.Contains(strings.Fields(e.words), normal(word)) {
			continue
		}
		for _, k := range e.keys {
			if slices.Contains(names, lastKey(k)) {
				return []string{k}
			}
		}
		if first == nil {
			first = e.keys
		}
	}
	return first
}

// otherBlocks returns where in a service the key word exists.
func otherBlocks(word string) (keys []string) {
	var s Service
	for _, k := range s.keys() {
		inner, path := []key(nil), k.name
		switch v := k.value.(type) {
		case block:
			inner = v.keys()
		case *[]Backend:
			inner = (&Backend{}).keys()
		}
		if k.name == word {
			keys = append(keys, path)
		}
		for _, i := range inner {
			if i.name == word {
				keys = append(keys, join(path, word))
			}
		}
	}
	return keys
}

// meant returns ` (did you mean "x" of a service?)`, or "" without keys.
func meant(keys []string, label string, names []string) string {
	if len(keys) == 0 {
		return ""
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = fromBlock(k, label, names)
	}
	return " (did you mean " + strings.Join(texts, " or ") + "?)"
}

// fromBlock returns how a key of a service is called in the block called label.
func fromBlock(k, label string, names []string) string {
	ofBackend, isBackends := strings.CutPrefix(k, "backends.")
	switch {
	case slices.Contains(names, lastKey(k)):
		return quote(k[strings.LastIndexByte(k, '.')+1:])
	case isBackends:
		return quote(ofBackend) + " of a backend"
	case label == "services" || label == "defaults":
		return quote(k)
	}
	return quote(k) + " of a service"
}

// lastKey returns the key at the end of a path, without a value behind it.
func lastKey(k string) string {
	k, _, _ = strings.Cut(k, ": ")
	return label(k)
}
