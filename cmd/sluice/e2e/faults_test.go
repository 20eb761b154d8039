//go:build linux

package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// fault is something that can happen to one backend of three while 200 clients a second arrive.
type fault struct {
	name   string
	keys   string                                               // of the service
	second func(t *testing.T) string                            // the second backend's address, if it is not an nginx
	strike func(b *parts.Nginx)                                 // what happens to the second backend in the middle
	allow  func(t *testing.T, s *parts.Sluice, e exchange) bool // whether a client's failure is the fault's, not sluice's
}

const probed = "check: {type: http, path: /, interval: 500ms, timeout: 500ms, fall: 2}\n"

var faults = []fault{
	{"killed (SIGKILL)", probed, nil, (*parts.Nginx).Kill, onSecond},
	{"killed, checks off", noCheck, nil, (*parts.Nginx).Kill, onSecond},
	{"refuses from the start, checks off", noCheck, func(t *testing.T) string { return parts.RefusedAddr(t) }, nil, nil},
	{"drops SYNs, checks off, connect.timeout 500ms", noCheck + "connect: {timeout: 500ms}\n",
		func(t *testing.T) string { return parts.Blackhole(t) }, nil, nil},
	{"frozen for 3 s (SIGSTOP)", probed, nil, func(b *parts.Nginx) {
		b.Signal(syscall.SIGSTOP)
		time.AfterFunc(3*time.Second, func() { b.Signal(syscall.SIGCONT) })
	}, nil},
}

// onSecond is the excuse of a client whose exchange was running on the backend that was killed.
func onSecond(t *testing.T, s *parts.Sluice, e exchange) bool { return wasOn(t, s, e, "b2") }

// The rows it logs are the table of the README. Serial: it offers load.
func TestFaultsOfABackendUnderLoad(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { f.run(t) })
	}
}

func (f *fault) run(t *testing.T) {
	var second *parts.Nginx
	addrs := []string{parts.NginxHTTP(t, "b1", false).Addr, "", parts.NginxHTTP(t, "b3", false).Addr}
	if f.second != nil {
		addrs[1] = f.second(t)
	} else {
		second = parts.NginxHTTP(t, "b2", false)
		addrs[1] = second.Addr
	}
	s, addr := start(t, f.keys, addrs...)
	if f.strike != nil {
		timer := time.AfterFunc(2*time.Second, func() { f.strike(second) })
		defer timer.Stop()
	}
	f.judge(t, s, load(addr, 200, 6*time.Second))
}

func (f *fault) judge(t *testing.T, s *parts.Sluice, list []exchange) {
	t.Helper()
	var failed, slow int
	took := make([]time.Duration, 0, len(list))
	for _, e := range list {
		took = append(took, e.took)
		if e.took > 50*time.Millisecond {
			slow++
		}
		if e.err == nil {
			continue
		}
		failed++
		if f.allow == nil || !f.allow(t, s, e) {
			t.Errorf("client %s: %v", e.local, e.err)
		}
	}
	slices.Sort(took)
	t.Logf("| %s | %d | %d | %d | %v | %v |", f.name, len(list), failed, slow,
		took[len(took)*99/100].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}
