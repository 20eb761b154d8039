package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// pageHeader is what our page sends with a change. A page of another origin cannot send it:
// a header that is not a simple one has to be allowed by the server first.
const pageHeader = "X-Sluice-Page"

// checkHost refuses names that are not this server's where nothing else guards it: a page
// whose name has been made to point here is of the same origin to the browser, so that
// nothing but the name tells. Where a token or a client's certificate is needed, such a page
// gets nowhere, and any name is good.
func (s *Server) checkHost(r *http.Request) error {
	if s.guards.Token || s.guards.ClientCA {
		return nil
	}
	local := r.Context().Value(http.LocalAddrContextKey)
	if _, unix := local.(*net.UnixAddr); unix {
		return nil // no browser comes by a socket
	}
	host := hostOf(r.Host)
	if isLocalhost(host) || isLoopback(host) {
		return nil
	}
	if tcp, ok := local.(*net.TCPAddr); ok {
		own, err := netip.ParseAddr(host)
		if err == nil && own.Unmap().WithZone("") == tcp.AddrPort().Addr().Unmap().WithZone("") {
			return nil
		}
	}
	return refused(api.CodeForbidden, "host %q: want localhost or the address that is listened on; other names need a token", clip(r.Host))
}

// hostOf is the host of a Host header, without port and brackets.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return s[1 : len(s)-1]
	}
	return s
}

// checkPath refuses paths that have a shorter form: what they mean depends on who reads
// them, and no client of ours sends one.
func checkPath(r *http.Request) error {
	p := r.URL.EscapedPath()
	if !strings.HasPrefix(p, "/") || !isClean(p) || strings.Contains(r.URL.Path, "\x00") {
		return notFound(r)
	}
	return nil
}

// isClean tells whether p has no empty element, no . and no .., but for a / at its end.
func isClean(p string) bool {
	return p == "/" || p != "//" && path.Clean(p) == strings.TrimSuffix(p, "/")
}

// checkToken compares the digests, which have one length, in constant time.
func (s *Server) checkToken(r *http.Request) error {
	if !s.guards.Token {
		return nil
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return refused(api.CodeUnauthorized, "token missing: want the header Authorization: Bearer TOKEN")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(token))
	if len(given) != 1 || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
		return refused(api.CodeUnauthorized, "token wrong: want the header Authorization: Bearer TOKEN")
	}
	return nil
}

// checkOrigin refuses what a page of another origin makes a browser send: changes, and
// questions too, since a stream that it opens takes a place away. A change from a browser
// needs the header of our page on top.
func (s *Server) checkOrigin(r *http.Request) error {
	sites, origins := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	for _, site := range sites {
		if site != "same-origin" && site != "none" {
			return refused(api.CodeForbidden, "sent by a page of another origin (Sec-Fetch-Site: %s)", clip(site))
		}
	}
	for _, origin := range origins { // where a browser does not send the other
		if from, err := url.Parse(origin); err != nil || from.Host != r.Host {
			return refused(api.CodeForbidden, "sent by a page of another origin (Origin: %s)", clip(origin))
		}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if err := s.cross.Check(r); err != nil {
		return refused(api.CodeForbidden, "sent by a page of another origin: %v", err)
	}
	if len(sites)+len(origins) == 0 {
		return nil // no browser
	}
	sum := sha256.Sum256([]byte(r.Header.Get(pageHeader)))
	if s.cfg.PageToken == "" || subtle.ConstantTimeCompare(sum[:], s.page[:]) != 1 {
		return refused(api.CodeForbidden, "a change from a browser needs the header %s of the admin page; reload the page", pageHeader)
	}
	return nil
}

// private guards what tells of the balancer, or changes it.
func (s *Server) private(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.checkToken(r)
		if err == nil {
			err = s.checkOrigin(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		h(w, r)
	}
}
