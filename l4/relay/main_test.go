package relay

import (
	"flag"
	"os"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
)

// roleVariable makes the test binary, started by a test, play a part of that test.
const roleVariable = "RELAY_TEST_ROLE"

func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		p.Value.Set("16") // those that run in parallel mostly wait
	}
	if load, ok := loads[os.Getenv(roleVariable)]; ok {
		load(os.Args[len(os.Args)-1])
		return
	}
	leaktest.Main(m)
}
