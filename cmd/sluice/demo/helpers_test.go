package demo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; nothing here takes more than a fraction of it.
const patience = 30 * time.Second

// output is a stdout that can be waited on.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed by the next write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

func (o *output) String() string {
	text, _ := o.read()
	return text
}

// await waits for a match in what was written, and returns its last group.
func (o *output) await(t *testing.T, pattern string) string {
	t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.After(patience)
	for {
		text, more := o.read()
		if m := re.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("nothing matches %q in:\n%s", pattern, text)
		}
	}
}

// running is a Run under way.
type running struct {
	*output
	balancer, control string // addresses
	cancel            context.CancelFunc
	done              chan struct{}
	err               error // once done is closed
}

// start runs a demo until the end of the test at the latest. Tests that run at the same
// time use ports that are far apart, so that none takes that of a killed backend.
func start(t *testing.T, opt Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{output: newOutput(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = Run(ctx, opt, r.output)
	}()
	t.Cleanup(func() { r.stop(t) })
	r.balancer = r.await(t, `balancer +http://(\S+)`)
	r.control = r.await(t, `control +http://(\S+)`)
	for _, name := range names() {
		r.await(t, `backend up.*`+name)
	}
	return r
}

// stop ends the demo as Ctrl-C does and returns Run's error.
func (r *running) stop(t *testing.T) error {
	t.Helper()
	r.cancel()
	return r.wait(t)
}

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		t.Fatalf("still running:\n%s", r.output)
	}
	return r.err
}

// order presses the switch.
func (r *running) order(t *testing.T, path string) {
	t.Helper()
	resp, err := fresh().Post("http://"+r.control+path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, resp.Status, body)
	}
}

// askUntil asks the balancer until the named backend answers.
func (r *running) askUntil(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if get(t, "http://"+r.balancer) == name {
			return
		}
	}
	t.Fatalf("%s never answered", name)
}

// fresh returns a client that makes a connection for each request.
func fresh() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
}

// get returns the answer's body without the end of its line.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := fresh().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

// refused tells whether nobody listens on address.
func refused(address string) bool {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return true
	}
	c.Close()
	return false
}
