package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// asking returns a client of a server with the given handler.
func asking(t *testing.T, h http.HandlerFunc) *client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return newClient(s.Listener.Addr().String(), new(sync.Mutex))
}

func TestARequestFailsUnlessABackendAnsweredWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		reason  string // "" = none
	}{
		"answer":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "bob") }, ""},
		"nobody":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "dave") }, `200 OK, "dave"`},
		"refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bob", http.StatusServiceUnavailable) }, "503 Service Unavailable"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprintln(w, "bob")
		}, "unexpected EOF"},
		"end of stream": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			client := asking(t, c.handler)
			client.request()
			got := client.soFar()
			if c.reason == "" {
				if got.ok != 1 || got.by["bob"] != 1 || got.failed != 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got.ok != 0 || got.failed != 1 || !strings.Contains(got.last.reason, c.reason) {
				t.Errorf("got %+v, want %q", got, c.reason)
			}
		})
	}
}

func TestAFailureNamesTheRequestAndTheCauseOnly(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", loopback(0))
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	c := newClient(ln.Addr().String(), new(sync.Mutex))
	for range maxKept + 5 {
		c.request()
	}
	got := c.soFar()
	if got.failed != maxKept+5 || len(got.failures) != maxKept || got.last.number != maxKept+5 {
		t.Errorf("%d failed, %d kept, the last is %d", got.failed, len(got.failures), got.last.number)
	}
	if first := got.failures[0].String(); !strings.HasPrefix(first, "request 1 after ") || strings.Contains(first, ln.Addr().String()) {
		t.Errorf("got %q", first)
	}
}

func TestRequestsUnderWayAtTheEndAreNotCutShort(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { close(asked) })
		<-answer
		fmt.Fprintln(w, "bob")
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx, maxRate)
	}()
	<-asked
	cancel()
	select {
	case <-ended:
		t.Error("ended with a request under way")
	default:
	}
	close(answer)
	<-ended
	if got := c.soFar(); got.sent == 0 || got.ok != got.sent {
		t.Errorf("got %+v", got)
	}
}
