package l4

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// socketKinds are a listening address of each kind, and how it is dialled.
func socketKinds(t *testing.T) map[string]string {
	return map[string]string{"tcp": "127.0.0.1:0", "unix": "unix:" + filepath.Join(socketDir(t), "s")}
}

// openSocket listens, and returns what to dial as well.
func openSocket(t *testing.T, address string) (ln net.Listener, dial string) {
	t.Helper()
	ln, err := Listen(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	return ln, ln.Addr().String()
}

func again(t *testing.T, ln net.Listener) net.Listener {
	t.Helper()
	next, err := Again(ln)
	if err != nil {
		t.Fatal(err)
	}
	if next.Addr().String() != ln.Addr().String() {
		t.Errorf("listens on %s, before on %s", next.Addr(), ln.Addr())
	}
	return next
}

// awaitServing waits until a service has n listeners that it accepts from.
func (r *rig) awaitServing(n int) {
	r.t.Helper()
	eventually(r.t, "listeners", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.listeners) == n
	})
}

func TestASocketIsHandedOnWithinAServiceAndNoClientIsLost(t *testing.T) {
	for network, address := range socketKinds(t) {
		t.Run(network, func(t *testing.T) {
			r := assemble(t, Config{SessionLog: LogOff}, echoes(t, 2)...)
			ln, dial := openSocket(t, address)
			served := async(func() error { return r.Serve(ln) })
			stop := r.flood(network, dial)
			for i := range 40 {
				next := again(t, ln)
				nextServed := async(func() error { return r.Serve(next) })
				if i%2 == 0 {
					r.awaitServing(2)
				}
				ln.Close()
				if err := result(t, "the old Serve to return", served); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Serve returned %v", err)
				}
				ln, served = next, nextServed
				r.awaitArrivals(uint64(10 * i))
			}
			if n := stop(); n < 100 {
				t.Errorf("%d clients came", n)
			}
			r.Close()
			if err := result(t, "Serve to return", served); err != ErrServiceClosed {
				t.Errorf("Serve returned %v", err)
			}
			if _, err := net.DialTimeout(network, dial, patience); err == nil {
				t.Error("somebody listens still")
			}
		})
	}
}

func TestASocketIsHandedFromServiceToServiceAndNoClientIsLost(t *testing.T) {
	for network, address := range socketKinds(t) {
		t.Run(network, func(t *testing.T) {
			backends := echoes(t, 2)
			ln, dial := openSocket(t, address)
			now := assemble(t, Config{SessionLog: LogOff}, backends...)
			served := async(func() error { return now.Serve(ln) })
			stop := now.flood(network, dial)
			for range 15 {
				r, next := assemble(t, Config{SessionLog: LogOff}, backends...), again(t, ln)
				nextServed := async(func() error { return r.Serve(next) })
				r.awaitServing(1)
				now.awaitArrivals(20)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				if n := now.Shutdown(ctx); n != 0 {
					t.Errorf("%d sessions were cut", n)
				}
				cancel()
				if err := result(t, "the old Serve to return", served); err != ErrServiceClosed {
					t.Errorf("Serve returned %v", err)
				}
				now, ln, served = r, next, nextServed
			}
			stop()
			now.Close()
			result(t, "Serve to return", served)
		})
	}
}

// Clients that have been queued before anybody accepts are served by whoever does.
func TestClientsInTheQueueGoWithTheSocket(t *testing.T) {
	for network, address := range socketKinds(t) {
		ln, dial := openSocket(t, address)
		var clients []relay.Conn
		for range 20 {
			clients = append(clients, dialTest(t, network, dial, ""))
		}
		next := again(t, again(t, ln))
		ln.Close()
		r := assemble(t, Config{}, echoes(t, 1)...)
		served := async(func() error { return r.Serve(next) })
		for _, c := range clients {
			expectEcho(t, c, "x")
		}
		r.Close()
		result(t, "Serve to return", served)
	}
}

// The file is there as long as anybody has the socket, whoever goes first, and goes with the
// last of them.
func TestTheFileOfASocketGoesWithTheLastListener(t *testing.T) {
	for name, order := range map[string][]int{"in order": {0, 1, 2}, "the newest first": {2, 1, 0}, "the first last": {1, 2, 0}} {
		path := filepath.Join(socketDir(t), "s")
		first, _ := openSocket(t, "unix:"+path)
		second := again(t, first)
		all := []net.Listener{first, second, again(t, second)}
		for i, k := range order {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: the file went with listener %d: %v", name, i, err)
			}
			all[k].Close()
			all[k].Close() // does nothing
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file is left: %v", name, err)
		}
	}
}

// A hand-over may fail: who had the socket goes on with it.
func TestAServiceGoesOnWhoseSuccessorGivesUp(t *testing.T) {
	for network, address := range socketKinds(t) {
		r := assemble(t, Config{}, echoes(t, 1)...)
		ln, dial := openSocket(t, address)
		served := async(func() error { return r.Serve(ln) })
		expectEcho(t, dialTest(t, network, dial, ""), "x")
		for range 10 {
			again(t, ln).Close()
			expectEcho(t, dialTest(t, network, dial, ""), "y")
		}
		r.Close()
		result(t, "Serve to return", served)
	}
}

// C66: an adopted socket is served, may be handed on, and its file is left to its owner.
func TestAnAdoptedSocketIsServedAndItsFileIsLeft(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(socketDir(t), "s")} {
		for name, passed := range map[string]bool{"opened here": false, "passed": true} {
			os.Remove(address)
			theirs, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			if passed { // as a descriptor
				theirs = reopened(t, theirs)
			}
			r := assemble(t, Config{}, echoes(t, 1)...)
			ln := Adopt(theirs)
			dial := ln.Addr().String()
			served := async(func() error { return r.Serve(ln) })
			expectEcho(t, dialTest(t, network, dial, ""), "x")
			next := again(t, ln)
			ln.Close()
			result(t, "Serve to return", served)
			served = async(func() error { return r.Serve(next) })
			expectEcho(t, dialTest(t, network, dial, ""), "y")
			r.Close()
			result(t, "Serve to return", served)
			if _, err := os.Stat(address); network == "unix" && err != nil {
				t.Errorf("%s: its file is gone: %v", name, err)
			}
		}
	}
}

// reopened returns ln as another process gets it, which keeps its file.
func reopened(t *testing.T, ln net.Listener) net.Listener {
	t.Helper()
	f, err := ln.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	ln.Close()
	again, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestWhatHasNoSocketIsNotHandedOn(t *testing.T) {
	if ln, err := Again(newFakeListener(nil)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, %v", ln, err)
	}
	closed, _ := openSocket(t, "127.0.0.1:0")
	next := again(t, closed)
	closed.Close()
	next.Close()
	for _, ln := range []net.Listener{closed, next} {
		if again, err := Again(ln); err == nil {
			again.Close()
			t.Error("a closed listener was handed on")
		}
	}
	if _, err := next.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
}

// A listener that was handed on may be used without a service.
func TestAListenerThatWasHandedOnAccepts(t *testing.T) {
	for network, address := range socketKinds(t) {
		ln, dial := openSocket(t, address)
		next := again(t, ln)
		ln.Close()
		accepted := async(func() error {
			c, err := next.Accept()
			if err == nil {
				c.Close()
			}
			return err
		})
		dialTest(t, network, dial, "")
		if err := result(t, "the client", accepted); err != nil {
			t.Error(err)
		}
		deadline := next.(interface{ SetDeadline(time.Time) error })
		deadline.SetDeadline(past)
		if _, err := next.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("accept: %v", err)
		}
		next.Close()
	}
}
