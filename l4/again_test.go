package l4

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A listener that is given up again must not take from the others the file that clients find
// them by.
func TestAUnixSocketKeepsItsFileUntilTheLastListenerOnItIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Again(first)
	if err != nil {
		t.Fatal(err)
	}
	third, err := Again(second)
	if err != nil {
		t.Fatal(err)
	}
	for i, ln := range []net.Listener{second, first} {
		ln.Close()
		ln.Close()
		if _, err := os.Lstat(path); err != nil {
			t.Fatalf("after %d closes: %v", i+1, err)
		}
	}
	third.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}
