package demo

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// alone starts one backend on any port.
func alone(t *testing.T) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", loopback(0))
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend("alice", ln)
	t.Cleanup(func() { b.kill(new(sync.Mutex), func() {}) })
	return b
}

func TestAKillWaitsUntilNoRequestOfTheClientIsUnderWay(t *testing.T) {
	t.Parallel()
	b := alone(t)
	var calm sync.RWMutex
	calm.RLock()
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		b.kill(&calm, func() {})
	}()
	for calm.TryRLock() { // fails as soon as the kill waits
		calm.RUnlock()
		runtime.Gosched()
	}
	if got := get(t, "http://"+b.address); got != "alice" {
		t.Errorf("got %q from a backend whose kill waits", got)
	}
	calm.RUnlock()
	<-killed
	if !refused(b.address) {
		t.Error("a killed backend accepts")
	}
}

func TestARequestThatWasAcceptedBeforeTheKillIsAnswered(t *testing.T) {
	t.Parallel()
	b := alone(t)
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n")
	get(t, "http://"+b.address) // accepted after it: so both are

	gone, killed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(killed)
		b.kill(new(sync.Mutex), func() { close(gone) })
	}()
	<-gone
	fmt.Fprint(c, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "alice\n" {
		t.Errorf("got %q, %v", body, err)
	}
	<-killed
}

func TestConnectionsThatNeverEndDoNotKeepABackendAlive(t *testing.T) {
	t.Parallel()
	b := alone(t)
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get(t, "http://"+b.address)
	b.kill(new(sync.Mutex), func() {})
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer to nothing")
	} else if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Error("the connection is still open")
	}
}

func TestARevivedBackendIsWellOnItsOldAddress(t *testing.T) {
	t.Parallel()
	b := alone(t)
	b.setSick(true)
	b.kill(new(sync.Mutex), func() {})
	if changed, err := b.revive(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if got := get(t, "http://"+b.address+"/health"); got != stateWell || b.state() != stateWell {
		t.Errorf("health says %q, state %q", got, b.state())
	}
	if changed, err := b.revive(t.Context()); changed || err != nil {
		t.Errorf("revived while alive: %v, %v", changed, err)
	}
}
