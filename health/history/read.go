package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errNotRegular is a name that stands for a pipe, a device or a directory. To open one may
// wait for ever, and to read one too.
var errNotRegular = errors.New("not a regular file")

// checkRegular says what is wrong with a file before it is opened.
func checkRegular(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s", errNotRegular, info.Mode().Type())
	}
	return nil
}

// found is what a file held beside entries.
type found struct {
	lines  int   // that are none
	passed int64 // bytes at its beginning that were not read
}

// readFile calls keep for every entry of a file, or of its last bytes, from a line's start,
// if it has more than most: somebody else's file must not hold up the start.
func readFile(dir, name string, most int64, keep func(Entry)) (found, error) {
	path := filepath.Join(dir, name)
	err := checkRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return found{}, err
	}
	defer f.Close()
	var seen found
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		seen.passed = max(size-most, 0)
		_, err = f.Seek(max(seen.passed-1, 0), io.SeekStart)
	}
	if err != nil {
		return found{}, err
	}
	lines := bufio.NewReaderSize(io.LimitReader(f, most+1), maxLine)
	if seen.passed > 0 {
		seen.passed += passLine(lines) - 1
	}
	seen.lines, err = readLines(lines, keep)
	return seen, err
}

// passLine reads up to the end of a line, and returns how many bytes that were.
func passLine(r *bufio.Reader) (n int64) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n // what is wrong otherwise shows with the next line
		}
	}
}

// readLines calls keep for every entry, and returns how many lines were none.
func readLines(r io.Reader, keep func(Entry)) (skipped int, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		tooLong := false
		for errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			_, err = lines.ReadSlice('\n')
		}
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			var e Entry
			if tooLong || json.Unmarshal(line, &e) != nil || e.Service == "" || e.Backend == "" || e.Time.IsZero() {
				skipped++
			} else {
				keep(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return skipped, nil
		}
		if err != nil {
			return skipped, err
		}
	}
}
