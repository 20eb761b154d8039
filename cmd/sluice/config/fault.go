package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing wrong with a configuration.
type Fault struct {
	File      string // "" if it came from flags
	Line, Col int    // from 1, columns in characters; 0 if it came from flags
	Path      string // such as services[0].check.port; "" if it is about the file as a whole
	Message   string // one line: what is wrong, what is allowed
}

// String returns FILE:LINE:COL: message, or the message alone for a fault of a flag, which names the flag.
func (f Fault) String() string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Message)
}

// Faults is every fault of one configuration, in the order of their places. It is never empty when it is an error.
type Faults []Fault

// Error returns one fault a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// maxFaults bounds what a file of nonsense costs, and what is worth reading.
const maxFaults = 1000

// place is where a value stands in a file. The zero place is no place.
type place struct {
	line, col int
}

// faultList gathers faults while a configuration is read.
type faultList struct {
	file    string
	list    Faults
	seen    map[Fault]bool  // without Path: what services inherit is reported once
	paths   map[string]bool // values with a fault; nothing more is said about them
	dropped bool
}

func newFaultList(file string) *faultList {
	return &faultList{file: file, seen: map[Fault]bool{}, paths: map[string]bool{}}
}

// add reports a fault. Further faults of the same path are still wanted.
func (l *faultList) add(at place, path, message string) {
	f := Fault{File: l.file, Line: at.line, Col: at.col, Message: message}
	if l.seen[f] {
		return
	}
	if l.full() {
		return
	}
	l.seen[f] = true
	f.Path = path
	l.list = append(l.list, f)
}

// full reports whether there is no room for one more fault, which is then known to be missing.
func (l *faultList) full() bool {
	l.dropped = l.dropped || len(l.list) == maxFaults
	return len(l.list) == maxFaults
}

// addValue reports that the value at path is no good, unless that was said of it or of a block around it before.
func (l *faultList) addValue(at place, path, message string) {
	for p := path; p != ""; p = parent(p) {
		if l.paths[p] {
			return
		}
	}
	l.paths[path] = true
	l.add(at, path, message)
}

// err returns the faults in the order of their places, or nil.
func (l *faultList) err() error {
	if len(l.list) == 0 {
		return nil
	}
	slices.SortStableFunc(l.list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	if l.dropped {
		last := l.list[len(l.list)-1]
		last.Path, last.Message = "", fmt.Sprintf("more than %d faults; the rest is not shown", maxFaults)
		l.list = append(l.list, last)
	}
	return l.list
}

// join returns the path of a key of the block at path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string {
	return fmt.Sprintf("%s[%d]", path, i)
}

// parent cuts the last key or index off a path.
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return ""
}

// label is how a message calls the value at path: its key, also for the elements of a list.
func label(path string) string {
	for strings.HasSuffix(path, "]") {
		path = parent(path)
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}

// maxQuoted is how many characters of a value a message repeats.
const maxQuoted = 80

// quote returns text from a file in a form that keeps a message short and on one line.
func quote(s string) string {
	if utf8.RuneCountInString(s) > maxQuoted {
		s = string([]rune(s)[:maxQuoted]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
