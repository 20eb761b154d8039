package compare

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/stream"
	"github.com/sluicelb/sluice/l4/leaktest"
)

// workerArg makes the test binary a stream server on the address after it.
const workerArg = "serve-stream"

// fakePrefix makes the test binary, called by such a name, a balancer with the fault
// that the rest of the name tells.
const fakePrefix = "fake-"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == workerArg {
		ln, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			panic(err)
		}
		if err := stream.Serve(context.Background(), ln); err != nil {
			panic(err)
		}
		return
	}
	if fault, ok := strings.CutPrefix(filepath.Base(os.Args[0]), fakePrefix); ok {
		playBalancer(fault)
		return
	}
	leaktest.Main(m)
}
