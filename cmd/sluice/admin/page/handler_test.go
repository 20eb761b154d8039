package page

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const testToken = "token-of-this-process"

// get asks the handler, with headers as pairs.
func get(t *testing.T, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Handler(testToken).ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryFileIsServedWithItsTypeAndAsksToBeChecked(t *testing.T) {
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8",
	} {
		r := get(t, "GET", path)
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %q", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if got := r.Header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s: Cache-Control %q: an old page would stay after an upgrade", path, got)
		}
		if len(body(t, r)) < 1000 {
			t.Errorf("%s is all but empty", path)
		}
	}
}

func TestAFileThatTheBrowserHasIsNotSentAgain(t *testing.T) {
	for _, path := range []string{"/", "/page.js", "/page.css"} {
		etag := get(t, "GET", path).Header.Get("ETag")
		r := get(t, "GET", path, "If-None-Match", etag)
		if etag == "" || r.StatusCode != http.StatusNotModified || body(t, r) != "" {
			t.Errorf("%s with ETag %q: %d", path, etag, r.StatusCode)
		}
	}
}

func TestAnotherProcessServesAPageWithAnotherETag(t *testing.T) {
	w := httptest.NewRecorder()
	Handler("another").ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Header().Get("ETag") == get(t, "GET", "/").Header.Get("ETag") {
		t.Error("a browser would keep the page with the old token")
	}
}

func TestHeadAnswersLikeGetWithoutABody(t *testing.T) {
	for _, path := range []string{"/", "/page.js", "/page.css"} {
		g, h := get(t, "GET", path), get(t, "HEAD", path)
		if h.StatusCode != http.StatusOK || body(t, h) != "" || h.Header.Get("Content-Length") != g.Header.Get("Content-Length") {
			t.Errorf("%s: %d, length %q, want %q", path, h.StatusCode, h.Header.Get("Content-Length"), g.Header.Get("Content-Length"))
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		r := get(t, method, "/")
		if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
}

func TestOtherPathsAreNotFoundAndSourcesAreNotServed(t *testing.T) {
	for _, path := range []string{"/index.html", "/base.js", "/assets/page.js", "/page.js/", "/favicon.ico", "/../handler.go"} {
		if r := get(t, "GET", path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	want := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}
	for _, path := range []string{"/", "/page.js", "/page.css", "/nothing"} {
		h := get(t, "GET", path).Header
		if got := strings.Split(h.Get("Content-Security-Policy"), "; "); !slices.Equal(got, want) {
			t.Errorf("%s: policy %q", path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestThePageCarriesTheTokenAndNoMarkupOfIt(t *testing.T) {
	if got := body(t, get(t, "GET", "/")); !strings.Contains(got, `<meta name="sluice-page" content="`+testToken+`">`) {
		t.Error("the token is not where the script looks for it")
	}
	w := httptest.NewRecorder()
	Handler(`"><script>alert(1)</script>`).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if strings.Contains(w.Body.String(), "<script>alert") {
		t.Error("the token is not escaped")
	}
}

func TestEveryScriptOfTheFolderIsPartOfThePage(t *testing.T) {
	var found []string
	err := fs.WalkDir(assets, "assets", func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); strings.HasSuffix(name, ".js") {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := scripts()
	slices.Sort(listed)
	if !slices.Equal(found, listed) {
		t.Errorf("the folder has %q, the page %q", found, listed)
	}
}

func TestNothingIsLoadedFromElsewhereAndNoTextBecomesMarkup(t *testing.T) {
	page, script, style := body(t, get(t, "GET", "/")), body(t, get(t, "GET", "/page.js")), body(t, get(t, "GET", "/page.css"))
	for name, text := range map[string]string{"page": page, "script": script, "style": style} {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "") // a name, not an address
		if m := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z]`).FindString(text); m != "" {
			t.Errorf("the %s names another site: %q", name, m)
		}
	}
	if m := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function`).FindString(script); m != "" {
		t.Errorf("the script uses %s", m)
	}
	if m := regexp.MustCompile(`(?i)\s(style|on[a-z]+)="|<style`).FindString(page); m != "" {
		t.Errorf("the policy forbids %q in the page", m)
	}
}
