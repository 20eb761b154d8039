package l4

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
)

// line is a log record: its attributes as text, those of groups as group.key.
type line map[string]string

// journal is a slog.Handler that keeps every record.
type journal struct {
	mu    sync.Mutex
	lines []line
}

func (j *journal) logger() *slog.Logger { return slog.New(j) }

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	l := line{"msg": r.Message, "level": r.Level.String()}
	r.Attrs(func(a slog.Attr) bool { l.put("", a); return true })
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, l)
	return nil
}

func (l line) put(prefix string, a slog.Attr) {
	if a.Value.Kind() == slog.KindGroup {
		for _, sub := range a.Value.Group() {
			l.put(prefix+a.Key+".", sub)
		}
		return
	}
	l[prefix+a.Key] = a.Value.String()
}

// of returns the records with the given message, in order.
func (j *journal) of(msg string) []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []line
	for _, l := range j.lines {
		if l["msg"] == msg {
			found = append(found, maps.Clone(l))
		}
	}
	return found
}

// all returns every record, in order.
func (j *journal) all() []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// await waits for n records with the given message and returns them.
func (j *journal) await(t testing.TB, msg string, n int) []line {
	t.Helper()
	eventually(t, fmt.Sprintf("%d of %q in the log", n, msg), func() bool { return len(j.of(msg)) >= n })
	return j.of(msg)
}

// said returns level and message of every record, and forgets them.
func (j *journal) said() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []string
	for _, l := range j.lines {
		all = append(all, l["level"]+" "+l["msg"])
	}
	j.lines = nil
	return all
}

// expect checks that l has exactly the given attributes, level and message included;
// "*" stands for any value but an empty one.
func (l line) expect(t testing.TB, want line) {
	t.Helper()
	for k, v := range want {
		if got, ok := l[k]; !ok || got != v && (v != "*" || got == "") {
			t.Errorf("%s is %q, want %q, in %v", k, got, v, l)
		}
	}
	for k := range l {
		if _, ok := want[k]; !ok {
			t.Errorf("unexpected attribute %s in %v", k, l)
		}
	}
}
