package fault

import (
	"os"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
)

// roleEnv tells a copy of the test binary what to be.
const roleEnv = "BENCH_FAULT_ROLE"

// TestMain runs the tests, or, in a child that a test starts, what that is told to do.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == workerArg {
		playWorker(os.Args[2], os.Args[3])
		return
	}
	if role := os.Getenv(roleEnv); role != "" {
		playRole(role)
		return
	}
	leaktest.Main(m)
}

// workerArg makes the test binary a backend: its number and address follow.
const workerArg = "fault-backend"
