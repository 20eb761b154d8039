package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

var checkTypes = []string{"tcp", "http", "redis", "postgres", "mysql", "send-expect", "none"}

// hostCharacters are those of a Host header.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"

// leastInterval keeps probes from following each other without a pause.
const leastInterval = time.Millisecond

func (v *validator) check(path string, c *Check) {
	if !slices.Contains(checkTypes, c.Type) {
		words := checkTypes
		v.fault(join(path, "type"), "%s is not known; allowed: %s%s", quote(c.Type), strings.Join(words, ", "),
			didYouMean(c.Type, checkTypes))
		return
	}
	if c.Interval < leastInterval {
		v.fault(join(path, "interval"), "%s is too short; allowed: at least 1ms, or write type: none to turn checks off", c.Interval)
	}
	if c.Timeout <= 0 {
		v.fault(join(path, "timeout"), "cannot be 0, a backend that is silent would never be down")
	}
	v.between(join(path, "rise"), c.Rise, 1, math.MaxInt)
	v.between(join(path, "fall"), c.Fall, 1, math.MaxInt)
	v.between(join(path, "port"), c.Port, 0, 65535)
	v.checkKeys(path, c)
	switch c.Type {
	case "http":
		v.checkHTTP(path, c)
	case "redis", "postgres", "mysql":
		v.checkLogin(path, c)
	case "send-expect":
		v.checkText(path, c)
	}
	if c.TLS != nil {
		v.checkTLS(join(path, "tls"), c.TLS)
	}
}

// checkKeys reports keys that were written for another type.
func (v *validator) checkKeys(path string, c *Check) {
	for _, k := range c.keys() {
		at := join(path, k.name)
		if k.types != nil && !slices.Contains(k.types, c.Type) && v.source.given(at) {
			v.fault(at, "not for type %s; it is for type %s", c.Type, strings.Join(k.types, ", "))
		}
	}
}

// checkPort reports a port for backends that have none.
func (v *validator) checkPort(path string, s *Service) {
	if s.Check.Port == 0 || s.Check.Type == "none" {
		return
	}
	for _, b := range s.Backends {
		if strings.HasPrefix(b.Address, unixPrefix) {
			v.fault(join(path, "port"), "backend %s is a unix socket and has no other port; leave port out or write 0", quote(b.Name))
			return
		}
	}
}

func (v *validator) checkHTTP(path string, c *Check) {
	if c.Method == "" || strings.Trim(c.Method, tokenChars) != "" {
		v.fault(join(path, "method"), "%s is not an HTTP method; write it like GET or HEAD", quote(c.Method))
	}
	if !isPath(c.Path) {
		v.fault(join(path, "path"), "%s is not allowed; a path starts with / and has no spaces and no #, write other characters as %%XX", quote(c.Path))
	}
	if !isHost(c.Host) {
		v.fault(join(path, "host"), "%s is not allowed; a host is a name or an address, with or without a port", quote(c.Host))
	}
	_, err := parseStatus(c.Status)
	v.err(join(path, "status"), err)
}

// isPath tells whether s is a request's path, with a query or without.
func isPath(s string) bool {
	_, err := url.ParseRequestURI(s)
	return err == nil && strings.HasPrefix(s, "/") && graphic(s) && !strings.Contains(s, "#")
}

// isHost tells whether s can be a Host header; "" leaves it to the backend's address.
func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return s == "" || err == nil && u.Hostname() != "" && strings.Trim(s, hostCharacters) == ""
}

// tokenChars are the characters of a token, RFC 9110 section 5.6.2.
const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// graphic reports whether s has only visible ASCII, which a request line and a header can carry as they are.
func graphic(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (v *validator) checkLogin(path string, c *Check) {
	roles := []string{"any", "primary", "replica"}
	if c.Type == "redis" {
		roles[1] = "master"
	}
	v.oneOf(join(path, "role"), c.Role, roles)
	v.oneOf(join(path, "conflict"), c.Conflict, []string{"keep", "none", "first"})
	if c.Role != roles[1] && v.source.given(join(path, "conflict")) {
		v.fault(join(path, "conflict"), "is for checks that ask for the one that takes writes; write role: %s too, or leave it out", roles[1])
	}
	if c.Password == "env:" || c.Password == "file:" {
		v.fault(join(path, "password"), "names nothing; write env:NAME or file:PATH")
	}
	switch {
	case c.Type == "redis" && c.User != "" && c.Password == "":
		v.fault(join(path, "user"), "has no password; set password too")
	case c.Type == "redis" || c.User != "":
		return
	case c.Role != "any":
		v.fault(join(path, "role"), "needs a user to log in as; set user")
	case c.Password != "":
		v.fault(join(path, "password"), "needs a user to log in as; set user")
	case c.Database != "":
		v.fault(join(path, "database"), "needs a user to log in as; set user")
	case c.TLS != nil && c.Type == "mysql":
		v.fault(join(path, "tls"), "needs a user to log in as: MySQL begins TLS with the login; set user")
	}
}

// maxSteps is more than any conversation of a probe has.
const maxSteps = 100

func (v *validator) checkText(path string, c *Check) {
	if len(c.Steps) == 0 {
		v.step(path, join(path, "type"), c.Step)
		if c.Step != (Step{}) {
			v.expects(join(path, "send"), c.Step)
		}
		return
	}
	if c.Step != (Step{}) {
		v.fault(join(path, "steps"), "cannot stand beside send, expect and regexp, which are a step of their own")
	}
	v.between(join(path, "steps"), len(c.Steps), 1, maxSteps)
	for i, s := range c.Steps {
		at := index(join(path, "steps"), i)
		v.step(at, at, s)
	}
	v.expects(join(path, "steps"), c.Steps...)
}

// expects reports a conversation in which the backend need not say a word.
func (v *validator) expects(path string, steps ...Step) {
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Expect != "" || s.Regexp != "" }) {
		v.fault(path, "expects nothing: a server that never answers would pass; write expect or regexp too")
	}
}

// step checks a step, the keys of which are at path. It is empty is said at place.
func (v *validator) step(path, place string, s Step) {
	for _, k := range []struct{ name, value string }{{"send", s.Send}, {"expect", s.Expect}} {
		if _, err := Unescape(k.value); err != nil {
			v.fault(join(path, k.name), `%s is not a text with Go's escapes, like PING\r\n`, quote(k.value))
		}
	}
	switch pattern, err := regexp.Compile(s.Regexp); {
	case err != nil:
		v.fault(join(path, "regexp"), "%s is not a regular expression of Go", quote(s.Regexp))
	case s.Regexp != "" && pattern.MatchString(""):
		v.fault(join(path, "regexp"), "%s is content with no answer at all; write what has to come", quote(s.Regexp))
	}
	if s == (Step{}) {
		v.fault(place, "send-expect does nothing without one of send, expect and regexp")
	}
	if s.Expect != "" && s.Regexp != "" {
		v.fault(join(path, "regexp"), "cannot stand beside expect; write one of them")
	}
}

func (v *validator) checkTLS(path string, t *TLS) {
	if !graphic(t.ServerName) {
		v.fault(join(path, "server_name"), "%s is not a host name", quote(t.ServerName))
	}
	if t.CA != "" {
		v.caFile(join(path, "ca"), t.CA)
	}
}

// caFile checks the file that the value at path names, once however many services name it.
func (v *validator) caFile(path, name string) {
	err, known := v.ca[name]
	if !known {
		err = checkCA(name)
		v.ca[name] = err
	}
	v.err(path, err)
}

// checkCA reports whether a file can be read and has a certificate.
func checkCA(name string) error {
	data, err := readFile(name)
	if err != nil {
		return err
	}
	return hasCertificate(data)
}

// maxPEM is more than any bundle of the world's authorities, and keeps a device or a log from being read as one.
const maxPEM = 16 << 20

// readFile reads a file of keys or certificates.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", quote(name))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPEM))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

// unreadable keeps the raw name, which may have line ends in it, out of the message.
func unreadable(name string, err error) error {
	if of := (*os.PathError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("%s cannot be read: %w", quote(name), err)
}

func hasCertificate(data []byte) error {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil {
			return nil
		}
	}
	return errors.New("has no certificate; it must be a PEM file with at least one")
}
