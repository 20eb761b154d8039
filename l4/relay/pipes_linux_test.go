package relay

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// descriptors counts the open ones by kind: "socket", "pipe".
func descriptors(t *testing.T) map[string]int {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := make(map[string]int)
	for _, e := range entries {
		if to, err := os.Readlink(dir + "/" + e.Name()); err == nil {
			kind, _, _ := strings.Cut(to, ":")
			n[kind]++
		}
	}
	return n
}

// quietPipes waits until the pipes that the standard library keeps are gone: it closes
// them when the collector finds them.
func quietPipes(t *testing.T, want int) {
	t.Helper()
	eventually(t, "the pipes to be closed", func() bool {
		runtime.GC()
		return descriptors(t)["pipe"] <= want
	})
}

// pipesAtRest returns how many pipes the process has without a relay.
func pipesAtRest(t *testing.T) int {
	t.Helper()
	for range 3 {
		runtime.GC()
	}
	return descriptors(t)["pipe"]
}

func TestBulkGoesThroughAPipeAndGivesItBack(t *testing.T) {
	rest := pipesAtRest(t)
	e := &Portable{}
	l := start(t, e, setup{})
	wrote := async(func() error { return up.send(l.client, 0, 64<<20, 1<<20) })
	if err := up.expect(l.backend, 0, 32<<20); err != nil {
		t.Fatal(err)
	}
	if descriptors(t)["pipe"] <= rest {
		t.Error("no pipe during a bulk transfer: splice is not used")
	}
	if n := e.pipes.Load(); n != 1 {
		t.Errorf("%d pipes reserved during a bulk transfer one way", n)
	}
	if err := up.expect(l.backend, 32<<20, 32<<20); err != nil {
		t.Fatal(err)
	}
	if err := result(t, "the sender", wrote); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quiet direction to give its pipe back", func() bool { return e.pipes.Load() == 0 })
	quietPipes(t, rest)
	if err := up.send(l.client, 64<<20, 100, 100); err != nil {
		t.Fatal(err)
	}
	if err := up.expect(l.backend, 64<<20, 100); err != nil {
		t.Errorf("after the bulk: %v", err)
	}
}

// A direction that only trickles holds no pipe, however short its pauses are.
func TestATrickleIsNoBulk(t *testing.T) {
	e := &Portable{}
	l := start(t, e, setup{})
	var off int64
	trickle := func(n int64) {
		if err := up.send(l.client, off, n, int(n)); err != nil {
			t.Fatal(err)
		}
		if err := up.expect(l.backend, off, n); err != nil {
			t.Fatal(err)
		}
		off += n
	}
	trickle(2 * smallBuffer)
	eventually(t, "the pipe to be given back", func() bool { trickle(1); return e.pipes.Load() == 0 })
}

func TestWithoutPipesNoneIsOpened(t *testing.T) {
	rest := pipesAtRest(t)
	l := start(t, &Portable{MaxPipes: -1}, setup{})
	wrote := async(func() error { return up.send(l.client, 0, 16<<20, 1<<20) })
	for off := int64(0); off < 16<<20; off += 1 << 20 {
		if err := up.expect(l.backend, off, 1<<20); err != nil {
			t.Fatal(err)
		}
		if n := descriptors(t)["pipe"]; n > rest {
			t.Fatalf("%d pipes opened", n-rest)
		}
	}
	if err := result(t, "the sender", wrote); err != nil {
		t.Fatal(err)
	}
}

func TestMoreBulkThanThereArePipesArrivesWhole(t *testing.T) {
	const sessions, size = 6, 8 << 20
	e := &Portable{MaxPipes: 2}
	var got []<-chan error
	for range sessions {
		l := start(t, e, setup{})
		go up.send(l.client, 0, size, 1<<20)
		go down.send(l.backend, 0, size, 1<<20)
		got = append(got, async(func() error { return up.expect(l.backend, 0, size) }),
			async(func() error { return down.expect(l.client, 0, size) }))
	}
	for _, c := range got {
		if err := result(t, "a transfer", c); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all pipes to be given back", func() bool { return e.pipes.Load() == 0 })
}

func TestPipesAreReservedUpToTheBound(t *testing.T) {
	for _, c := range []struct{ most, asked, granted int }{{0, 1000, 1000}, {3, 5, 3}, {-1, 2, 0}} {
		e := &Portable{MaxPipes: c.most}
		granted := 0
		for range c.asked {
			if e.takePipe() {
				granted++
			}
		}
		if granted != c.granted {
			t.Errorf("MaxPipes %d: %d of %d granted, want %d", c.most, granted, c.asked, c.granted)
		}
		for range granted {
			e.givePipe()
		}
		if n := e.pipes.Load(); n != 0 {
			t.Errorf("MaxPipes %d: %d left when all were given back", c.most, n)
		}
	}
}

func TestIdleSessionsHoldTheirSocketsOnly(t *testing.T) {
	const sessions = 500
	forEachEngine(t, func(t *testing.T, e Engine) {
		rest := pipesAtRest(t)
		before := descriptors(t)["socket"]
		for range sessions {
			l := start(t, e, setup{})
			for _, s := range []side{l.side(Client), l.side(Backend)} {
				if err := flowOf(s.dir).send(s.near, 0, 100, 100); err != nil {
					t.Fatal(err)
				}
				if err := flowOf(s.dir).expect(s.far, 0, 100); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Two of each session are the test's own.
		if now := descriptors(t); now["socket"]-before != 4*sessions || now["pipe"] != rest {
			t.Errorf("%d sockets and %d pipes for %d idle sessions", now["socket"]-before-2*sessions, now["pipe"]-rest, sessions)
		}
	})
}

const roleNoDescriptors = "no-descriptors"

// The limit is the process's, so a child plays this test.
func TestBulkGoesOnWithoutDescriptorsForPipes(t *testing.T) {
	if os.Getenv(roleVariable) != roleNoDescriptors {
		child := exec.Command(os.Args[0], "-test.run=^TestBulkGoesOnWithoutDescriptorsForPipes$", "-test.v")
		child.Env = append(os.Environ(), roleVariable+"="+roleNoDescriptors)
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const size = 8 << 20
	e := &Portable{}
	l := start(t, e, setup{})
	before := descriptors(t)["pipe"]
	restore := lowerLimit(t)
	wrote := async(func() error { return up.send(l.client, 0, size, 1<<20) })
	err := up.expect(l.backend, 0, size)
	restore()
	if err != nil {
		t.Fatal(err)
	}
	if err := result(t, "the sender", wrote); err != nil {
		t.Fatal(err)
	}
	if n := descriptors(t)["pipe"]; n > before {
		t.Errorf("%d pipes opened: the limit did not hold", n-before)
	}
	l.client.Close()
	expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "eof"})
}

// lowerLimit lets the process open nothing more until restore is called.
func lowerLimit(t *testing.T) (restore func()) {
	t.Helper()
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	lowest := next.Fd()
	next.Close()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(lowest), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	return func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }
}
