package health

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestConfigThatCannotWorkIsRefusedWithTheFieldNamed(t *testing.T) {
	tests := []struct {
		field  string
		change func(c *Config)
	}{
		{"interval", func(c *Config) { c.Interval = 0 }},
		{"interval", func(c *Config) { c.Interval = time.Millisecond - 1 }},
		{"timeout", func(c *Config) { c.Timeout = 0 }},
		{"timeout", func(c *Config) { c.Timeout = -1 }},
		{"rise", func(c *Config) { c.Rise = 0 }},
		{"fall", func(c *Config) { c.Fall = 0 }},
		{"failures", func(c *Config) { c.Failures = -1 }},
		{"eject", func(c *Config) { c.Eject = -1 }},
		{"eject", func(c *Config) { c.Eject = MaxEject + 1 }},
	}
	for _, tt := range tests {
		cfg := config()
		tt.change(&cfg)
		m, err := NewMonitor(cfg)
		if m != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.field) {
			t.Errorf("%+v: got %v, want ErrConfig with %q", cfg, err, tt.field)
		}
	}
}

func TestConfigAtItsBoundsIsTaken(t *testing.T) {
	for _, cfg := range []Config{
		config(),
		{Interval: time.Millisecond, Timeout: 1, Rise: 1, Fall: 1},
		{Interval: time.Hour, Timeout: 2 * time.Hour, Rise: 100, Fall: 100, Failures: 100, Eject: MaxEject},
	} {
		if _, err := NewMonitor(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
