package systemd

import (
	"os"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
)

// roleVariable makes the test binary play a part instead of running tests.
const roleVariable = "SLUICE_SYSTEMD_ROLE"

func TestMain(m *testing.M) {
	if play, ok := roles()[os.Getenv(roleVariable)]; ok {
		os.Exit(play())
	}
	leaktest.Main(m)
}
