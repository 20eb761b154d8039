package history

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	newerFile = "transitions.jsonl"
	olderFile = "transitions.1.jsonl"
	lockFile  = "lock"

	// maxLine is more than an entry takes, in bytes.
	maxLine = 64 << 10
	// retryEvery is how long writes that fail are left alone.
	retryEvery = 5 * time.Second
)

// errInUse is a directory that another process has.
var errInUse = errors.New("another process has it")

// store appends entries to the newer of two files.
type store struct {
	dir  string
	most int64
	log  *slog.Logger
	lock *os.File

	entries chan Entry
	lost    atomic.Int64 // entries that found no room, or were not written
	done    sync.WaitGroup

	// These belong to the goroutine that writes.
	file   *os.File
	size   int64
	failed bool      // the last write did, and it was said
	retry  time.Time // not to write before
}

// openStore locks the directory.
func openStore(dir string, most int64, log *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockExclusively(lock); err != nil {
		lock.Close()
		return nil, err
	}
	return &store{dir: dir, most: most, log: log, lock: lock, entries: make(chan Entry, queued)}, nil
}

func (s *store) start() { s.done.Go(s.run) }

// queue hands an entry over, or counts it as lost.
func (s *store) queue(e Entry) {
	select {
	case s.entries <- e:
	default:
		s.lost.Add(1)
	}
}

func (s *store) close() {
	close(s.entries)
	s.done.Wait()
	s.lock.Close()
}

// run writes entries, all that are queued at a time.
func (s *store) run() {
	defer s.shut()
	for e := range s.entries {
		batch, n := encode(nil, e), int64(1)
		for more := true; more && len(batch) < maxLine; {
			select {
			case next, open := <-s.entries:
				if more = open; open {
					batch = encode(batch, next)
					n++
				}
			default:
				more = false
			}
		}
		s.write(batch, n)
	}
}

// encode appends an entry's line.
func encode(b []byte, e Entry) []byte {
	line, err := json.Marshal(e)
	if err != nil {
		return b // an entry is plain text and numbers
	}
	return append(append(b, line...), '\n')
}

// write appends lines with one call, and says when that begins to fail, and when it works
// again.
func (s *store) write(lines []byte, n int64) {
	if s.failed && time.Now().Before(s.retry) {
		s.lost.Add(n)
		return
	}
	err := s.append(lines)
	switch {
	case err != nil:
		s.lost.Add(n)
		s.retry = time.Now().Add(retryEvery)
		if !s.failed {
			s.log.Warn("history cannot be written", "file", filepath.Join(s.dir, newerFile), "error", err.Error())
		}
		s.shut() // what was written may be a part of a line: it is begun anew
	case s.failed, s.lost.Load() > 0:
		s.log.Warn("history is written again", "lost", s.lost.Swap(0))
	}
	s.failed = err != nil
}

func (s *store) append(lines []byte) error {
	if s.file == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	if s.size > 0 && s.size+int64(len(lines)) > s.most {
		s.shut()
		if err := os.Rename(filepath.Join(s.dir, newerFile), filepath.Join(s.dir, olderFile)); err != nil {
			return err
		}
		if err := s.open(); err != nil {
			return err
		}
	}
	n, err := s.file.Write(lines)
	s.size += int64(n)
	return err
}

// open opens the newer file, and ends a line that was torn.
func (s *store) open() error {
	name := filepath.Join(s.dir, newerFile)
	if err := checkRegular(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return err
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			f.Close()
			return err
		}
	}
	if last[0] != '\n' {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			f.Close()
			return err
		}
		size++
	}
	s.file, s.size = f, size
	return nil
}

func (s *store) shut() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
