//go:build linux

package parts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// Record is one line of sluice's JSON log.
type Record struct {
	Msg    string
	Time   time.Time // when sluice wrote it
	Fields map[string]any
	Raw    string
}

// Get returns a field as text, "" if it is absent.
func (r Record) Get(key string) string {
	v, ok := r.Fields[key]
	if !ok {
		return ""
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return fmt.Sprint(int64(f))
	}
	return fmt.Sprint(v)
}

// Fields names fields and the values they must have; a value "*" asks only that the field is there.
type Fields map[string]string

// Match says which records are meant: those with this message (any if empty) and these fields.
type Match struct {
	Msg    string
	Fields Fields
	// After skips that many records from the start of the log: what Log.Len returned earlier.
	After int
}

func (m Match) fits(r Record) bool {
	if m.Msg != "" && r.Msg != m.Msg {
		return false
	}
	for key, want := range m.Fields {
		if got := r.Get(key); got != want && (want != "*" || got == "") {
			return false
		}
	}
	return true
}

// Log is the log of a running sluice, parsed line by line as it is written.
type Log struct {
	mu      sync.Mutex
	records []Record
	other   []string      // lines that are not JSON: usage, panics, reports of the race detector
	more    chan struct{} // closed and replaced with every record
	ended   bool
	gate    sync.Mutex // held while nothing is read
}

func newLog() *Log { return &Log{more: make(chan struct{})} }

// read parses lines from r until its end and passes them on to copyTo.
func (l *Log) read(r io.Reader, copyTo io.Writer) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		l.gate.Lock()
		line, err := lines.ReadString('\n')
		l.gate.Unlock()
		if line != "" {
			fmt.Fprintln(copyTo, strings.TrimRight(line, "\n"))
			l.add(strings.TrimSpace(line))
		}
		if err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.more)
	l.more = make(chan struct{})
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Record{Raw: line}
	if json.Unmarshal([]byte(line), &r.Fields) != nil {
		l.other = append(l.other, line)
		return
	}
	r.Msg, _ = r.Fields["msg"].(string)
	if text, ok := r.Fields["time"].(string); ok {
		r.Time, _ = time.Parse(time.RFC3339Nano, text)
	}
	l.records = append(l.records, r)
	close(l.more)
	l.more = make(chan struct{})
}

// Len is the number of records so far.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.records)
}

// All returns the records that match, oldest first.
func (l *Log) All(m Match) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.matching(m)
}

func (l *Log) matching(m Match) []Record {
	var found []Record
	for i := m.After; i < len(l.records); i++ {
		if m.fits(l.records[i]) {
			found = append(found, l.records[i])
		}
	}
	return found
}

// Other returns the lines that are no JSON records.
func (l *Log) Other() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.other...)
}

// Await waits until the n-th record that matches is there and returns it. It fails the test if the log ends or the
// time is up before.
func (l *Log) Await(t testing.TB, within time.Duration, n int, m Match) Record {
	t.Helper()
	end := time.After(within)
	for {
		l.mu.Lock()
		found, more, ended := l.matching(m), l.more, l.ended
		l.mu.Unlock()
		if len(found) >= n {
			return found[n-1]
		}
		if ended {
			t.Fatalf("the log ended with %d of %d records %q %v", len(found), n, m.Msg, m.Fields)
		}
		select {
		case <-more:
		case <-end:
			t.Fatalf("not within %v: log record %q %v (%d of %d)", within, m.Msg, m.Fields, len(found), n)
		}
	}
}
