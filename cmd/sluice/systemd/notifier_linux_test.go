package systemd

import (
	"fmt"
	"os"
	"testing"
)

func TestAnAbstractSocketIsReached(t *testing.T) {
	m := manage(t, fmt.Sprintf("@sluice-test-%d", os.Getpid()))
	NewNotifier(nil).Ready()
	if got := m.next(t); got != "READY=1" {
		t.Errorf("got %q", got)
	}
}
