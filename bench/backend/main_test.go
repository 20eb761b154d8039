package backend

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/sluicelb/sluice/bench/stream"
	"github.com/sluicelb/sluice/l4/leaktest"
)

// workerArg makes the test binary a stream server on the address after it.
const workerArg = "serve-stream"

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
	leaktest.Main(m)
}
