package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxWho is how much of a From header is kept, in runes.
const maxWho = 64

// request is a request to an endpoint that has been understood.
type request struct {
	*http.Request
	query url.Values // each at most once
	mark  api.Mark   // of changes
	body  []byte
}

// The names in the path, unescaped; ServeMux splits the path before it unescapes, so that they may
// hold a slash.
func (q *request) service() string { return q.PathValue("service") }
func (q *request) backend() string { return q.PathValue("backend") }

// text returns a parameter, "" if it is missing. One that is empty counts as missing: a
// form sends those that were not filled in.
func (q *request) text(key string) string {
	return q.query.Get(key)
}

// number returns a parameter that is a whole number, or what it is by default.
func (q *request) number(key string, byDefault int) (int, error) {
	s := q.text(key)
	if s == "" {
		return byDefault, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, invalid("%s %q: want a whole number from 0", key, clip(s))
	}
	return int(n), nil
}

// duration returns a parameter that is a duration; given is false if it is missing.
func (q *request) duration(key string) (d time.Duration, given bool, err error) {
	s := q.text(key)
	if s == "" {
		return 0, false, nil
	}
	d, err = time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, false, invalid("%s %q: want a duration like 30s, from 0", key, clip(s))
	}
	return d, true, nil
}

// understand reads all of r that its endpoint takes, and refuses what it does not take: what
// is skipped in silence is taken for done. The body comes last, as it is the slowest.
func (e *endpoint) understand(w http.ResponseWriter, r *http.Request) (*request, error) {
	query, err := parseQuery(r.URL.RawQuery, e.query)
	if err != nil {
		return nil, err
	}
	q := &request{Request: r, query: query}
	if e.method != http.MethodGet {
		q.mark.Who = who(r)
		if q.mark.If, err = ifMatch(r.Header.Values("If-Match")); err != nil {
			return nil, err
		}
	}
	q.body, err = e.body.read(w, r)
	return q, err
}

// parseQuery returns the parameters of a query, each of which is allowed and stands once.
func parseQuery(raw string, allowed []string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query: %s", clip(err.Error()))
	}
	for key, values := range query {
		if !slices.Contains(allowed, key) {
			return nil, invalid("unknown parameter %q: want %s", clip(key), oneOf(allowed))
		}
		if len(values) > 1 {
			return nil, invalid("parameter %q stands twice", key)
		}
	}
	return query, nil
}

// ifMatch returns the revision of an If-Match header; 0 = there is none, or *. No revision is
// 0, and a list or a weak tag, which HTTP has, are not what a client got from here.
func ifMatch(values []string) (uint64, error) {
	if len(values) == 0 || len(values) == 1 && values[0] == "*" {
		return 0, nil
	}
	given := strings.Join(values, ", ")
	digits, quoted := strings.CutPrefix(given, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	revision, err := strconv.ParseUint(digits, 10, 64)
	if !quoted || !closed || err != nil || revision == 0 {
		return 0, invalid(`if-match %s: want the ETag of an answer, like "12"`, clip(given))
	}
	return revision, nil
}

// etag is what ifMatch reads. It is a strong tag although answers of one revision differ in
// their counters: If-Match compares strongly, and nothing here answers If-None-Match.
func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// who names the sender: who it says it is, who its certificate says, and its address, which
// alone it does not choose and which stands last.
func who(r *http.Request) string {
	var parts []string
	if from := word(r.Header.Get("From")); from != "" {
		parts = append(parts, from)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		if name := word(r.TLS.PeerCertificates[0].Subject.CommonName); name != "" {
			parts = append(parts, "certificate:"+name)
		}
	}
	remote := r.RemoteAddr
	if remote == "" || remote == "@" {
		remote = "unix" // a client's end of a socket has no name
	}
	return strings.Join(append(parts, "("+word(remote)+")"), " ")
}

// word is s without what could break a line, hide or imitate what stands beside it.
func word(s string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar || r == '(' || r == ')' {
			return -1
		}
		return r
	}, s))
	return string(runes[:min(len(runes), maxWho)])
}
