package proc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What a Go program uses to start and to end a test's work, at most: a wide margin for
// a busy machine, and still far less than what is burned twice.
const besides = 200 * time.Millisecond

func TestCPUIsWhatWasBurned(t *testing.T) {
	for _, role := range []string{"burn", "burn in threads", "parent"} {
		t.Run(role, func(t *testing.T) {
			p, _ := play(t, role)
			used, err := p.CPU()
			if err != nil {
				t.Fatal(err)
			}
			if used.used < burned || used.used > burned+besides {
				t.Errorf("%v used, %v burned", used.used, burned)
			}
		})
	}
}

func TestCPUAgreesWithTheKernelsTicks(t *testing.T) {
	p, _ := play(t, "burn in threads")
	used, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks time.Duration
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n) * tick
	}
	if off := used.used - ticks; off < -2*tick || off > 2*tick { // each is rounded down
		t.Errorf("%v, in ticks %v", used.used, ticks)
	}
}

func TestCPUOfAProcessThatWaitsStandsStill(t *testing.T) {
	p, _ := play(t, "burn")
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	used, err := after.Since(before)
	if err != nil || used < 0 || used > besides {
		t.Errorf("%v, %v used while waiting", used, err)
	}
}

func TestCPUOfAnotherSetOfProcessesIsAnError(t *testing.T) {
	before, after := CPU{pids: []int{1, 2}, used: time.Second}, CPU{pids: []int{1, 3}, used: 2 * time.Second}
	if used, err := after.Since(before); !errors.Is(err, ErrEnded) || used != 0 {
		t.Errorf("%v, %v", used, err)
	}
	after.pids = []int{1, 2}
	if used, err := after.Since(before); err != nil || used != time.Second {
		t.Errorf("%v, %v", used, err)
	}
}

func TestWhatHasEndedCannotBeMeasured(t *testing.T) {
	p, _ := play(t, "listen")
	p.Stop(0)
	if _, err := p.CPU(); !errors.Is(err, ErrEnded) {
		t.Errorf("CPU: %v", err)
	}
	if _, err := p.Holdings(); !errors.Is(err, ErrEnded) {
		t.Errorf("Holdings: %v", err)
	}
}

func TestHoldingsGrowByWhatIsHeld(t *testing.T) {
	p, addr := play(t, "listen")
	before, err := p.Holdings()
	if err != nil {
		t.Fatal(err)
	}
	if before.Anonymous <= 0 || before.Descriptors < 3 {
		t.Fatalf("before: %+v", before)
	}
	hold(t, addr)
	var after Holdings
	eventually(t, "the connection is closed", func() bool { // it is answered before it is closed
		if after, err = p.Holdings(); err != nil {
			t.Fatal(err)
		}
		return after.Descriptors == before.Descriptors+40
	})
	if grown := after.Anonymous - before.Anonymous; grown < 64<<20 || grown > 80<<20 {
		t.Errorf("memory grew by %d", grown)
	}
}

// hold makes a role hold more.
func hold(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestHoldingsAreSummedOverDescendants(t *testing.T) {
	p, _ := play(t, "parent")
	pids, err := descendants(p.Pid())
	if err != nil || len(pids) != 2 {
		t.Fatalf("%v, %v", pids, err)
	}
	all, err := p.Holdings()
	if err != nil {
		t.Fatal(err)
	}
	var sum Holdings
	for _, pid := range pids {
		memory, descriptors, err := holdings(pid)
		if err != nil {
			t.Fatal(err)
		}
		sum.Anonymous += memory
		sum.Descriptors += descriptors
	}
	if all.Descriptors != sum.Descriptors || all.Anonymous <= 0 || sum.Anonymous <= 0 {
		t.Errorf("%+v, one by one %+v", all, sum)
	}
}

func TestStatusFilesAreRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       int64
		ok         bool
	}{
		{"usual", "VmRSS:\t    9 kB\nRssAnon:\t    1234 kB\nRssFile:\t 5 kB\n", 1234 << 10, true},
		{"last line", "Name:\tx\nRssAnon:\t7 kB", 7 << 10, true},
		{"zero", "\nRssAnon:\t       0 kB\n", 0, true},
		{"a zombie has none", "Name:\tx\nState:\tZ (zombie)\n", 0, false},
		{"a name that looks like it", "Name:\tRssAnon: 5 kB\nState:\tZ\n", 0, false},
		{"no unit", "\nRssAnon:\t7\n", 0, false},
		{"no number", "\nRssAnon:\tx kB\n", 0, false},
		{"empty", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rssAnon([]byte(tt.text))
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

func TestStatFilesAreRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
		ok         bool
	}{
		{"usual", "12 (nginx) S 7 12 12 0 -1", 7, true},
		{"a name with spaces and parentheses", "12 (a) R 1 (b) S 7 12", 7, true},
		{"a zombie", "12 (nginx) Z 7 12", 0, false},
		{"cut", "12 (nginx)", 0, false},
		{"empty", "", 0, false},
		{"no number", "12 (nginx) S x 12", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := statParent([]byte(tt.text)); got != tt.want || ok != tt.ok {
				t.Errorf("%d, %v", got, ok)
			}
		})
	}
}

func TestAProcessIsItsOwnDescendant(t *testing.T) {
	pids, err := descendants(os.Getpid())
	if err != nil || len(pids) == 0 || pids[0] != os.Getpid() {
		t.Errorf("%v, %v", pids, err)
	}
}

func TestListenersAreFoundInTheKernelsTable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   2: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
   3: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714 1 0 100 0 0 10 0
   4: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
`
	tests := []struct {
		port int
		want []string
	}{
		{8080, []string{"socket:[4711]", "socket:[4713]"}},
		{8081, []string{"socket:[4714]"}},
		{8082, nil},
	}
	for _, tt := range tests {
		if got := listeners(strings.NewReader(table), tt.port); !slices.Equal(got, tt.want) {
			t.Errorf("%d: %v", tt.port, got)
		}
	}
}

func TestAProcessOwnsOnlyItsListeners(t *testing.T) {
	p, addr := play(t, "listen")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if !p.owns(addr) {
		t.Error("not its own")
	}
	if p.owns(ln.Addr().String()) {
		t.Error("ours")
	}
	for _, odd := range []string{"", "127.0.0.1", "127.0.0.1:http"} {
		if p.owns(odd) {
			t.Errorf("%q", odd)
		}
	}
}
