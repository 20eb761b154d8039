//go:build linux

package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/health"
)

func TestSendExpectProbeOfARealServer(t *testing.T) {
	t.Parallel()
	redis := parts.StartRedis(t)
	quit := health.Step{Send: "QUIT\r\n", Expect: "+OK"}
	role := func(want string) []health.Step {
		return []health.Step{{Send: "PING\r\n", Regexp: `^\+PONG\r\n`}, {Send: "INFO replication\r\n", Expect: want}, quit}
	}
	ask := func(want string, steps ...health.Step) {
		t.Helper()
		p, err := health.NewSendExpect(health.Endpoint{Network: "tcp", Address: redis.Addr}, health.SendExpect{Steps: steps})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Probe(ctx); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("probe says %v, want %q", err, want)
		}
	}
	ask("", role("role:master")...)
	ask(`send-expect step 2: want "role:slave", got "$`, role("role:slave")...)
	ask(`want "+PONG", got "-ERR unknown command`, health.Step{Send: "GNIP\r\n", Expect: "+PONG"})
	redis.Signal(syscall.SIGSTOP) // the kernel goes on accepting
	ask(`send-expect step 1: want a match of `, role("role:master")...)
	redis.Signal(syscall.SIGCONT)
	ask("", role("role:master")...)
}
