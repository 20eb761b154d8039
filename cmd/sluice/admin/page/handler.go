package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"time"
)

//go:embed assets
var assets embed.FS

// policy is sent with each answer. The last two make the browser refuse markup made from
// text, wherever it would come from.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// scripts lists the parts of page.js in the order in which they are joined.
func scripts() []string {
	return []string{"base.js", "api.js", "stream.js", "model.js", "chart.js", "dialog.js", "backend.js", "service.js", "timeline.js", "page.js"}
}

// file is one answer, made once.
type file struct {
	kind string // media type
	etag string
	body []byte
}

// Handler serves the page at /, its script at /page.js and its style at /page.css, and
// answers anything else with 404. It needs no credential and shows no data.
//
// The page sends pageToken as X-Sluice-Page with each change that it asks of the API.
func Handler(pageToken string) http.Handler {
	files := map[string]file{
		"/":         newFile("text/html; charset=utf-8", document(pageToken)),
		"/page.js":  newFile("text/javascript; charset=utf-8", read(scripts()...)),
		"/page.css": newFile("text/css; charset=utf-8", read("page.css")),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		f, ok := files[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		default:
			f.serve(w, r)
		}
	})
}

// protect sets what keeps other sites, and text from backends, out of the page.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// serve answers with the file, or with 304. The file is asked for again each time, since
// a new binary serves others under the same addresses.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

func newFile(kind string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{kind: kind, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
}

// document returns the HTML with the token in it.
func document(pageToken string) []byte {
	var b bytes.Buffer
	t := template.Must(template.New("page").Parse(string(read("page.html"))))
	if err := t.Execute(&b, pageToken); err != nil {
		panic(fmt.Sprintf("page: %v", err)) // the template is fixed, and a buffer takes everything
	}
	return b.Bytes()
}

// read joins embedded files.
func read(names ...string) []byte {
	var all []byte
	for _, name := range names {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(fmt.Sprintf("page: %v", err)) // a name in this file is wrong
		}
		all = append(all, b...)
	}
	return all
}
