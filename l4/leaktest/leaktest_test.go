package leaktest

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

func TestAGoroutineLeftBehindIsNamed(t *testing.T) {
	before := descriptors()
	stop := make(chan struct{})
	go waitFor(stop)
	var out bytes.Buffer
	if clean(&out, before, 0) {
		t.Fatal("a waiting goroutine was not seen")
	}
	if !strings.Contains(out.String(), "waitFor") {
		t.Errorf("report does not name it:\n%s", out.String())
	}
	close(stop)
	if !clean(&out, before, grace) {
		t.Errorf("still reported after it ended:\n%s", out.String())
	}
}

func waitFor(stop chan struct{}) { <-stop }

func TestADescriptorLeftBehindIsNamed(t *testing.T) {
	before := descriptors()
	if before == nil {
		t.Log("no /proc here: only goroutines are counted")
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if clean(&out, before, 0) || !strings.Contains(out.String(), "socket:") {
		t.Errorf("an open listener was not reported: %q", out.String())
	}
	ln.Close()
	if !clean(&out, before, grace) {
		t.Errorf("still reported after Close:\n%s", out.String())
	}
}
