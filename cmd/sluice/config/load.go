package config

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Load reads and checks the file at path. A file that cannot be read is an error of os, one that is wrong is Faults.
func Load(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1)) // one more, for Parse to refuse
	if err != nil {
		return File{}, fmt.Errorf("config: %w", err)
	}
	return Parse(path, src)
}

// Parse checks the content of a file, which faults call name. All faults are reported in one go, as Faults.
func Parse(name string, src []byte) (File, error) {
	faults := newFaultList(name)
	n := readTree(src, faults)
	if n == nil {
		return File{}, faults.err()
	}
	d := &decoder{faults: faults, places: map[string]place{}}
	f := d.file(n)
	if n.kind == mapping {
		v := &validator{faults: faults, source: fileSource(d.places), ca: map[string]error{}}
		v.file(&f, &d.defaults)
	}
	if err := faults.err(); err != nil {
		return File{}, err
	}
	for i := range f.Services {
		f.Services[i].Check.settle()
	}
	return f, nil
}

// fileSource is where the values of a file stand.
type fileSource map[string]place

// place returns where the value at path stands; for what a service inherits, where it stands in `defaults`; else where
// the closest block around it starts.
func (s fileSource) place(path string) place {
	for p := path; p != ""; p = parent(p) {
		if at, ok := s[p]; ok {
			return at
		}
		if rest, ok := inService(p); ok {
			if at, ok := s["defaults"+rest]; ok {
				return at
			}
		}
	}
	return s[""]
}

// inService returns what follows the service in a path, such as ".check.port".
func inService(path string) (string, bool) {
	if !strings.HasPrefix(path, "services[") {
		return "", false
	}
	_, rest, ok := strings.Cut(path, "].")
	return "." + rest, ok
}

func (s fileSource) label(path string) string {
	return label(path)
}

func (fileSource) isFile() bool {
	return true
}

func (s fileSource) given(path string) bool {
	_, ok := s[path]
	return ok
}
