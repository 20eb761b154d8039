package history

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/leaktest"
)

const childDir = "SLUICE_HISTORY_CHILD"

// TestMain is also the process that is killed while it writes.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		h := New(Config{Dir: dir, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		i := 0
		for range time.Tick(100 * time.Microsecond) { // until the parent kills this process
			h.Add(entry("b1", i))
			i++
		}
	}
	leaktest.Main(m)
}

var began = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func entry(backend string, i int) Entry {
	return Entry{
		Time: began.Add(time.Duration(i) * time.Second), Service: "svc", Backend: backend, Address: "192.0.2.1:1",
		Source: "probe", From: "up", To: "down", Reason: fmt.Sprintf("reason %d", i), Step: "redis ping", Saw: "-LOADING \"x\"\n",
		Errno: "connection refused", Took: time.Millisecond, Streak: 3, Sessions: 7, Usable: 1, Total: 2,
	}
}

// logged is a log that can be looked at.
func logged() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

func reasons(all []Entry) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(strings.TrimPrefix(e.Reason, "reason ") + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestTheNewestEntriesOfEachBackendAreKept(t *testing.T) {
	h := New(Config{PerBackend: 3})
	for i := range 5 {
		h.Add(entry("b1", i))
	}
	h.Add(entry("b2", 9))
	if got := reasons(h.Of("svc", "b1")) + ", " + reasons(h.Of("svc", "b2")); got != "2 3 4, 9" {
		t.Error(got)
	}
	if h.Of("svc", "none") != nil {
		t.Error("entries of a backend that is none")
	}
	h.Close()
}

func TestWhatIsOlderThanMemoryIsFoundInTheFiles(t *testing.T) {
	dir := t.TempDir()
	h := New(Config{Dir: dir, PerBackend: 4})
	for i := range 40 {
		h.Add(entry("b1", i))
		h.Add(entry("b2", i))
	}
	h.Close() // all of it is on disk
	h = New(Config{Dir: dir, PerBackend: 4})
	defer h.Close()
	if got := h.Last(); !got.Equal(entry("b1", 39).Time) {
		t.Errorf("the last was of %v", got)
	}
	at := func(i int) time.Time { return entry("b1", i).Time.Add(time.Millisecond) }
	for _, tt := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"in memory", at(37), "36 37 38 39"},
		{"the oldest in memory", entry("b1", 36).Time, "36 37 38 39"},
		{"just before", at(35), "33 34 35 36 37 38"},
		{"long before", at(10), "8 9 10 11 12 13"},
		{"the first", at(0), "0 1 2 3"},
		{"before everything", began.Add(-time.Hour), "0 1 2"},
	} {
		all, err := h.Around("svc", "b1", tt.at, 3)
		if got := reasons(all); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if all, err := h.Around("svc", "none", at(1), 3); len(all) > 0 || err != nil {
		t.Errorf("of a backend that is none: %v, %v", all, err)
	}
}

func TestAFileThatCannotBeReadLaterCostsWhatItHeldAlone(t *testing.T) {
	dir := t.TempDir()
	h := New(Config{Dir: dir, PerBackend: 2})
	defer h.Close()
	for i := range 5 {
		h.Add(entry("b1", i))
	}
	if err := os.Mkdir(filepath.Join(dir, olderFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := h.Around("svc", "b1", began, 3); reasons(all) != "3 4" || err == nil {
		t.Errorf("%q, %v", reasons(all), err)
	}
}

func TestEntriesOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	h := New(Config{Dir: dir})
	for i := range 100 {
		h.Add(entry("b1", i))
	}
	h.Close()
	again := New(Config{Dir: dir, PerBackend: 10})
	defer again.Close()
	got := again.Of("svc", "b1")
	if reasons(got) != "90 91 92 93 94 95 96 97 98 99" || got[9] != entry("b1", 99) {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestKillLosesNoLineThatWasWritten(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, newerFile)
		deadline := time.Now().Add(20 * time.Second)
		for info, err := os.Stat(name); (err != nil || info.Size() < 20_000) && time.Now().Before(deadline); info, err = os.Stat(name) {
		}
		cmd.Process.Kill()
		cmd.Wait()
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole := bytes.Count(raw, []byte("\n"))
		log, said := logged()
		h := New(Config{Dir: dir, PerBackend: 1 << 20, Log: log})
		got := h.Of("svc", "b1")
		if len(got) != whole || whole < 20 || reasons(got[len(got)-1:]) != fmt.Sprint(whole-1) {
			t.Errorf("%d entries of %d lines; %s", len(got), whole, said)
		}
		h.Add(entry("b1", whole))
		h.Close()
		h = New(Config{Dir: dir, PerBackend: 1 << 20})
		if got := h.Of("svc", "b1"); len(got) != whole+1 {
			t.Errorf("%d entries after one more of %d", len(got), whole)
		}
		h.Close()
	}
}

func TestATornLastLineCostsNothingElse(t *testing.T) {
	lines := encode(encode(encode(nil, entry("b1", 0)), entry("b1", 1)), entry("b1", 2))
	second := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
	for cut := second; cut <= len(lines); cut++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, newerFile), lines[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		h := New(Config{Dir: dir})
		h.Add(entry("b1", 3))
		h.Close()
		h = New(Config{Dir: dir})
		want := "0 1 3"
		if cut >= len(lines)-1 {
			want = "0 1 2 3"
		}
		if got := reasons(h.Of("svc", "b1")); got != want {
			t.Errorf("torn at %d: %s, want %s", cut-second, got, want)
		}
		h.Close()
	}
}

func TestTheFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	h := New(Config{Dir: dir, MaxBytes: 4000})
	for i := range 200 {
		h.Add(entry("b1", i))
		if i%10 == 0 {
			h.Close()
			h = New(Config{Dir: dir, MaxBytes: 4000})
		}
	}
	h.Close()
	for _, name := range []string{newerFile, olderFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 4000 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	h = New(Config{Dir: dir, PerBackend: 5})
	defer h.Close()
	if got := reasons(h.Of("svc", "b1")); got != "195 196 197 198 199" {
		t.Error(got)
	}
}

func TestWhatCannotBeUsedIsSaidAndMemoryGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inUse := t.TempDir()
	first := New(Config{Dir: inUse})
	defer first.Close()
	for dir, want := range map[string]string{file: "not a directory", inUse: "another process has it"} {
		log, said := logged()
		h := New(Config{Dir: dir, Log: log})
		h.Add(entry("b1", 1))
		if !strings.Contains(said.String(), want) || reasons(h.Of("svc", "b1")) != "1" {
			t.Errorf("%s: said %s", dir, said)
		}
		h.Close()
	}
}

// A disk that fails costs what was to be written, and is said once.
func TestWritesThatFailAreCountedAndSaidOnce(t *testing.T) {
	dir := t.TempDir()
	log, said := logged()
	s, err := openStore(dir, 1<<20, log)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.file = full
	line := encode(nil, entry("b1", 1))
	s.write(line, 1)
	s.write(line, 1)
	if n := strings.Count(said.String(), "history cannot be written"); n != 1 || s.lost.Load() != 2 {
		t.Errorf("said %d times, %d lost", n, s.lost.Load())
	}
	s.retry = time.Time{}
	s.write(line, 1)
	if !strings.Contains(said.String(), "history is written again") || !strings.Contains(said.String(), "lost=2") {
		t.Errorf("said %s", said)
	}
	s.start()
	s.close()
}

func TestAFullQueueDropsFromTheDiskAlone(t *testing.T) {
	s, err := openStore(t.TempDir(), 1<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &History{cfg: Config{PerBackend: 2 * queued}, store: s, rings: make(map[key]*ring)}
	for i := range queued + 5 { // nobody writes
		h.Add(entry("b1", i))
	}
	if n := len(h.Of("svc", "b1")); n != queued+5 || s.lost.Load() != 5 {
		t.Errorf("%d in memory, %d lost", n, s.lost.Load())
	}
	s.start()
	h.Close()
}

func TestBackendsThatAreGoneAreForgottenInTheEnd(t *testing.T) {
	h := New(Config{PerBackend: 1})
	for i := range mostRings + 1 {
		h.keep(entry(fmt.Sprint(i), i))
	}
	if len(h.rings) != mostRings || h.Of("svc", "0") != nil || h.Of("svc", "1") == nil {
		t.Errorf("%d are remembered", len(h.rings))
	}
}

// fill writes entries of b1, in lines of equal length, and returns how long those are.
func fill(t *testing.T, name string, from, to int) (line int) {
	t.Helper()
	var all []byte
	for i := from; i < to; i++ {
		all = encode(all, entry("b1", i))
	}
	if err := os.WriteFile(name, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return len(all) / (to - from)
}

func TestOfAFileThatIsTooLongTheEndIsRead(t *testing.T) {
	const n = 10
	for _, tt := range []struct {
		name  string
		bytes func(line int) int // that are read
		want  string
		warns bool
	}{
		{"more than there is", func(line int) int { return n*line + 2 }, "10 11 12 13 14 15 16 17 18 19", false},
		{"all there is", func(line int) int { return n * line }, "10 11 12 13 14 15 16 17 18 19", false},
		{"from a line's start", func(line int) int { return 2 * line }, "18 19", true},
		{"from within a line", func(line int) int { return 2*line - 2 }, "19", true},
		{"from before a line's start", func(line int) int { return 2*line + 2 }, "18 19", true},
		{"less than a line", func(line int) int { return line/2*2 - 2 }, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			line := fill(t, filepath.Join(dir, newerFile), 10, 10+n)
			log, said := logged()
			if line%2 != 0 {
				t.Fatalf("lines of %d bytes, want an even number: half of what is read is configured", line)
			}
			h := New(Config{Dir: dir, MaxBytes: int64(tt.bytes(line) / 2), Log: log})
			defer h.Close()
			if got := reasons(h.Of("svc", "b1")); got != tt.want {
				t.Errorf("read %s, want %s", got, tt.want)
			}
			if warns := strings.Contains(said.String(), "too long"); warns != tt.warns || strings.Contains(said.String(), "none") {
				t.Errorf("said %s", said)
			}
		})
	}
}

func TestAHugeFileDoesNotHoldUpTheStart(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, newerFile)
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 33); err != nil { // a hole
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(encode([]byte("\n"), entry("b1", 1))); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	h := New(Config{Dir: dir, MaxBytes: 1 << 20})
	defer h.Close()
	if got, took := reasons(h.Of("svc", "b1")), time.Since(began); got != "1" || took > 5*time.Second {
		t.Errorf("read %q in %v", got, took)
	}
}

func TestADirectoryInPlaceOfTheFileIsSaidAndLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, newerFile), 0o700); err != nil {
		t.Fatal(err)
	}
	log, said := logged()
	h := New(Config{Dir: dir, Log: log})
	h.Add(entry("b1", 1))
	h.Close()
	for _, want := range []string{"history cannot be read", "history cannot be written", "not a regular file"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("said %s, want %q", said, want)
		}
	}
	if got := reasons(h.Of("svc", "b1")); got != "1" {
		t.Error(got)
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add(encode(encode(nil, entry("b1", 1)), entry("b2", 2)))
	f.Add([]byte("{}\n\n[]\n{\"time\":1}"))
	f.Add(append(bytes.Repeat([]byte("x"), maxLine+1), '\n'))
	f.Fuzz(func(t *testing.T, b []byte) {
		kept, whole := 0, bytes.Count(b, []byte("\n"))+1
		skipped, err := readLines(io.NopCloser(bytes.NewReader(b)), func(e Entry) {
			if kept++; e.Service == "" {
				t.Error("an entry of no service")
			}
		})
		if err != nil || kept+skipped > whole {
			t.Errorf("%d kept and %d skipped of %d lines: %v", kept, skipped, whole, err)
		}
	})
}
