package failover

import (
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
