package failover

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/fault"
)

// least is what a Config must have.
func least() Config {
	return Config{Balancers: []balancer.Spec{{Kind: balancer.Nginx, Name: "nginx"}}, Worker: []string{"worker"}}
}

func TestZeroesAreTheDefaults(t *testing.T) {
	c, err := least().withDefaults()
	if err != nil || c.Rounds != 3 || c.Duration != 10*time.Second || c.Backends != 3 || c.Rate != 500 || c.Talks != 30 || c.Hashed != 60 ||
		c.Patience != 3*time.Second || len(c.Faults) != len(fault.Faults()) || c.Failover != balancer.Default() {
		t.Errorf("%+v, %v", c, err)
	}
	none := least()
	none.Talks, none.Hashed = -1, -5
	if c, err := none.withDefaults(); err != nil || c.Talks != 0 || c.Hashed != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWhatCannotBeRunIsRefusedWithWhatIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Balancers = nil }, "no balancer"},
		{func(c *Config) { c.Balancers = append(c.Balancers, c.Balancers[0]) }, "two balancers are called nginx"},
		{func(c *Config) { c.Worker = nil }, "no command that runs a backend"},
		{func(c *Config) { c.Rounds = 21 }, "1 to 20"},
		{func(c *Config) { c.Rounds = -1 }, "1 to 20"},
		{func(c *Config) { c.Duration = leastDuration - 1 }, "4s to 10m0s"},
		{func(c *Config) { c.Duration = mostDuration + 1 }, "4s to 10m0s"},
		{func(c *Config) { c.Backends = 1 }, "2 to 16"},
		{func(c *Config) { c.Backends = 17 }, "2 to 16"},
		{func(c *Config) { c.Rate = 0.5 }, "1 to 5000"},
		{func(c *Config) { c.Rate = 5001 }, "1 to 5000"},
		{func(c *Config) { c.Rate = math.NaN() }, "1 to 5000"},
		{func(c *Config) { c.Rate = math.Inf(1) }, "1 to 5000"},
		{func(c *Config) { c.Talks = 1001 }, "at most 1000"},
		{func(c *Config) { c.Hashed = 1001 }, "at most 1000"},
		{func(c *Config) { c.Patience = time.Millisecond }, "100ms to 1m"},
		{func(c *Config) { c.Patience = time.Hour }, "100ms to 1m"},
		{func(c *Config) { c.Faults = []fault.Fault{"fire"} }, `no fault "fire"; known are [kill`},
		{func(c *Config) { c.Faults = []fault.Fault{fault.Kill, fault.Stop, fault.Kill} }, "kill is named twice"},
	} {
		c := least()
		tt.change(&c)
		for name, err := range map[string]error{"Measure": second(Measure(t.Context(), c)), "Expected": second(Expected(c))} {
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want %q", name, err, tt.says)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestHowLongItTakesIsKnown(t *testing.T) {
	c := least()
	c.Faults, c.Rounds, c.Duration = []fault.Fault{fault.Kill, fault.Stop}, 4, 5*time.Second
	if d, err := Expected(c); err != nil || d < 40*time.Second || d > time.Minute {
		t.Errorf("%v, %v", d, err)
	}
}

func TestATargetThatMakesNoSenseIsRefused(t *testing.T) {
	good := Target{Addr: "127.0.0.1:1", Rate: 1, Duration: time.Second, Patience: time.Second}
	for _, change := range []func(*Target){
		func(v *Target) { v.Rate = 0 }, func(v *Target) { v.Duration = 0 }, func(v *Target) { v.Patience = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := Observe(t.Context(), bad); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
