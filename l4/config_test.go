package l4

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/picker"
)

func TestTheZeroConfigIsUsableButForItsName(t *testing.T) {
	s, err := New(Config{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Name() != "x" || s.cfg().Balance != picker.RoundRobin || s.cfg().SessionLog != LogErrors || s.cfg().Engine == nil || s.cfg().Log == nil {
		t.Errorf("%+v", s.cfg().Config)
	}
}

func TestImpossibleConfigsAreRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no name":          {},
		"policy":           {Balance: "fair"},
		"session log":      {SessionLog: "some"},
		"proxy version 3":  {Proxy: ProxyConfig{Send: 3}},
		"proxy version -1": {Proxy: ProxyConfig{Send: -1}},
		"connect timeout":  {Connect: ConnectConfig{Timeout: -1}},
		"keepalive":        {KeepAlive: -time.Second},
		"accept timeout":   {Proxy: ProxyConfig{AcceptTimeout: -1}},
		"attempts":         {Connect: ConnectConfig{Attempts: -1}},
		"connections":      {MaxConnections: -1},
		"per source":       {MaxPerSource: -1},
	} {
		if name != "no name" {
			c.Name = "x"
		}
		if s, err := New(c); !errors.Is(err, ErrConfig) || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
