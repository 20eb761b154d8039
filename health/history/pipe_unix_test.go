//go:build unix

package history

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes into would be waited for, and a device would never end.
func TestWhatIsNoFileDoesNotHoldUpTheStart(t *testing.T) {
	for what, place := range map[string]func(name string) error{
		"a pipe":             func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a link to a device": func(name string) error { return os.Symlink("/dev/zero", name) },
	} {
		for _, name := range []string{newerFile, olderFile} {
			t.Run(what+" for "+name, func(t *testing.T) {
				dir := t.TempDir()
				if err := place(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				log, said := logged()
				done := make(chan struct{})
				go func() {
					defer close(done)
					h := New(Config{Dir: dir, Log: log})
					h.Add(entry("b1", 1))
					h.Close()
				}()
				select {
				case <-done:
				case <-time.After(10 * time.Second):
					t.Fatal("it waits")
				}
				if !strings.Contains(said.String(), "not a regular file") {
					t.Errorf("said %s", said)
				}
			})
		}
	}
}
