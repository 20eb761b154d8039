package config

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"strings"
)

// admin checks the admin page. It stands among the listeners, for no service can have its address.
func (v *validator) admin(a *Admin, seen *listeners) {
	if a.TLS != nil {
		v.adminTLS("admin.tls", a.TLS)
	}
	kind, rest, _ := strings.Cut(a.Token, ":")
	if a.Token != "" && (kind != "env" && kind != "file" || rest == "") {
		v.fault("admin.token", "a token does not stand in the file; write env:NAME or file:PATH")
	}
	const path = "admin.listen"
	if a.Listen == "" && !v.source.given(path) {
		v.fault(path, "required; write host:port or unix:PATH")
		return
	}
	canonical, err := parseAdmin(a.Listen)
	if err != nil {
		v.err(path, err)
		return
	}
	if !isPort0(canonical) {
		seen.add(canonical, listener{path, a.Listen})
	}
	v.access(path, a, canonical)
}

// parseAdmin is parseAddress without passed sockets, which would be read as hosts called fd.
func parseAdmin(s string) (string, error) {
	if strings.HasPrefix(s, fdPrefix) {
		return "", fmt.Errorf("%s is for services; write host:port or unix:PATH", quote(s))
	}
	return parseAddress(s, true)
}

// access reports an admin page that anybody on the network could use to take backends out. TLS alone tells a client who
// it talks to, not sluice who the client is.
func (v *validator) access(path string, a *Admin, canonical string) {
	known := a.Token != "" || a.TLS != nil && a.TLS.ClientCA != ""
	if known || isLocal(canonical) {
		return
	}
	need := "set token, or tls with client_ca"
	if a.TLS != nil {
		need = "tls alone lets everybody in; set token or tls.client_ca"
	}
	v.fault(path, "%s can be reached from other machines; %s", quote(a.Listen),
		v.ifFile(need+", or listen on 127.0.0.1 or unix:PATH", "write 127.0.0.1:PORT or unix:PATH, or use a file, which can ask for a token"))
}

// isLocal reports whether only this machine reaches a canonical listen address.
func isLocal(canonical string) bool {
	if strings.HasPrefix(canonical, unixPrefix) {
		return true
	}
	host, _ := splitCanonical(canonical)
	addr, err := netip.ParseAddr(host)
	return host == localhost || err == nil && addr.IsLoopback()
}

// adminTLS looks at the files: a certificate that does not work would else be found by who needs the page in a hurry.
func (v *validator) adminTLS(path string, t *AdminTLS) {
	if t.ClientCA != "" {
		v.caFile(join(path, "client_ca"), t.ClientCA)
	}
	whole := true
	for _, k := range []struct{ name, value string }{{"cert", t.Cert}, {"key", t.Key}} {
		if k.value == "" {
			v.fault(join(path, k.name), "required; write the path of a PEM file")
			whole = false
		}
	}
	if whole {
		v.keyPair(path, t)
	}
}

// keyPair checks that the two files belong together.
func (v *validator) keyPair(path string, t *AdminTLS) {
	cert, err := readFile(t.Cert)
	if err == nil {
		err = hasCertificate(cert)
	}
	v.err(join(path, "cert"), err)
	key, keyErr := readFile(t.Key)
	v.err(join(path, "key"), keyErr)
	if err != nil || keyErr != nil {
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		// What package tls says names parts of the files.
		v.fault(join(path, "key"), "is not the key of cert; it must be a PEM file with the private key of the first certificate there, not encrypted")
	}
}
