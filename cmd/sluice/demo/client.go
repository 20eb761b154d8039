package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxUnderWay    = 64 // requests; beyond it a turn is left out
	requestTimeout = 10 * time.Second
	maxKept        = 20 // failures kept with all there is to tell
	maxAnswer      = 64 // bytes of an answer that are read
)

// client asks the balancer again and again, over a fresh connection each time.
type client struct {
	url  string
	http *http.Client
	calm sync.Locker // held through each request

	mu    sync.Mutex
	tally tally
}

// tally is what became of the requests.
type tally struct {
	sent, ok, failed int64
	by               map[string]int64 // answers, by backend
	failures         []failure        // the first ones
	last             failure
}

// failure is a request that got no answer.
type failure struct {
	number int64 // of the request, from 1
	reason string
	after  time.Duration
}

func (f failure) String() string {
	return fmt.Sprintf("request %d after %v: %s", f.number, f.after.Round(time.Millisecond), f.reason)
}

func newClient(address string, calm sync.Locker) *client {
	return &client{
		url:  "http://" + address + "/",
		calm: calm,
		// Without keep-alive net/http repeats no request: what fails shows.
		http:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestTimeout},
		tally: tally{by: make(map[string]int64)},
	}
}

// run asks at the given rate until ctx ends, and returns once the last request has.
func (c *client) run(ctx context.Context, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxUnderWay)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case slots <- struct{}{}:
			running.Go(func() {
				c.request()
				<-slots
			})
		default:
		}
	}
}

// request makes one request and counts it. Not even the demo's end cuts it short: that
// would be a failure of nobody's making.
func (c *client) request() {
	c.calm.Lock()
	defer c.calm.Unlock()
	c.mu.Lock()
	c.tally.sent++
	number := c.tally.sent
	c.mu.Unlock()

	began := time.Now()
	name, err := c.ask()

	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.tally.ok++
		c.tally.by[name]++
		return
	}
	c.tally.failed++
	c.tally.last = failure{number, reasonOf(err), time.Since(began)}
	if len(c.tally.failures) < maxKept {
		c.tally.failures = append(c.tally.failures, c.tally.last)
	}
}

// ask returns the name of the backend that answered.
func (c *client) ask() (string, error) {
	resp, err := c.http.Get(c.url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK || !slices.Contains(names(), name) {
		return "", fmt.Errorf("an answer of no backend: %s, %q", resp.Status, name)
	}
	return name, nil
}

// reasonOf drops from err what every request has in common: method, URL, and the
// addresses of the client and the balancer.
func reasonOf(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return err.Error()
	}
	if call := (*os.SyscallError)(nil); errors.As(op.Err, &call) {
		return call.Error() // names the operation
	}
	return op.Op + ": " + op.Err.Error()
}

// soFar returns a copy of the tally.
func (c *client) soFar() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	t.by = maps.Clone(t.by)
	t.failures = slices.Clone(t.failures)
	return t
}
