package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
)

// three are the usual balancers.
func three() []balancer.Spec {
	return []balancer.Spec{
		{Kind: balancer.Sluice, Name: "sluice"}, {Kind: balancer.HAProxy, Name: "haproxy"}, {Kind: balancer.Nginx, Name: "nginx"},
	}
}

func TestZeroMeansTheDefault(t *testing.T) {
	given := Config{Balancers: three(), Worker: []string{"x"}}
	c, err := given.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if c.Duration != time.Minute || c.Sessions != 3000 || !slices.Equal(c.Workloads, Workloads()) || c.Rounds != 0 || c.Rate != 0 {
		t.Errorf("%+v", c)
	}
	if given.Workloads != nil || given.Duration != 0 {
		t.Error("the caller's was changed")
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	tests := []struct {
		name, reason string
		change       func(*Config)
	}{
		{"no balancer", "no balancer", func(c *Config) { c.Balancers = nil }},
		{"no worker", "no stream server", func(c *Config) { c.Worker = nil }},
		{"negative duration", "duration", func(c *Config) { c.Duration = -1 }},
		{"negative rounds", "rounds", func(c *Config) { c.Rounds = -1 }},
		{"very many rounds", "rounds", func(c *Config) { c.Rounds = 101 }},
		{"negative sessions", "sessions", func(c *Config) { c.Sessions = -1 }},
		{"too many sessions", "9001 sessions", func(c *Config) { c.Sessions = 9001 }},
		{"negative rate", "rate", func(c *Config) { c.Rate = -1 }},
		{"absurd rate", "rate", func(c *Config) { c.Rate = 1e9 }},
		{"two of one name", "two balancers are called sluice", func(c *Config) { c.Balancers = append(three(), three()[0]) }},
		{"one called direct", "two balancers are called direct", func(c *Config) { c.Balancers[1].Name = Direct }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Balancers: three(), Worker: []string{"x"}}
			tt.change(&c)
			if _, err := c.withDefaults(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("%v", err)
			}
		})
	}
}
