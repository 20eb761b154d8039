package proc

import (
	"os"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
)

// TestMain runs the tests, or, in a child that a test starts, what that is told to do.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		playRole(role)
		return
	}
	leaktest.Main(m)
}

// roleEnv tells a copy of the test binary what to do.
const roleEnv = "BENCH_PROC_ROLE"
