//go:build linux

package e2e

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/probetest"
	"github.com/sluicelb/sluice/health/probe/redis"
)

func probeRedis(t *testing.T, addr string, c redis.Config, want string) {
	t.Helper()
	p, err := redis.New(health.Endpoint{Network: "tcp", Address: addr}, c)
	if err != nil {
		t.Fatal(err)
	}
	probetest.Expect(t, probetest.Probe(p, 5*time.Second), want)
}

func TestRedisProbeLogsInWithTheLeastRights(t *testing.T) {
	t.Parallel()
	r := parts.StartRedis(t, "--requirepass", "top")
	c := parts.DialRESP(t, r.Addr)
	redisDo(t, c, "OK", "AUTH", "top")
	redisDo(t, c, "OK", "ACL", "SETUSER", "probe", "on", ">secret", "+ping", "+role")
	redisDo(t, c, "OK", "ACL", "SETUSER", "poor", "on", ">secret", "+ping")
	for _, try := range []struct {
		cfg  redis.Config
		want string
	}{
		{redis.Config{}, "it wants a password"},
		{redis.Config{Password: "top"}, ""},
		{redis.Config{Password: "bottom"}, "check.password is wrong"},
		{redis.Config{User: "probe", Password: "secret", Role: redis.Master}, ""},
		{redis.Config{User: "probe", Password: "other"}, "check.password is wrong"},
		{redis.Config{User: "poor", Password: "secret", Role: redis.Master}, "redis role: the probe's user may not do that"},
	} {
		probeRedis(t, r.Addr, try.cfg, try.want)
	}
	probeRedis(t, parts.StartRedis(t).Addr, redis.Config{Password: "p"}, "leave check.password out")
}

func TestRedisProbeKnowsTheRole(t *testing.T) {
	t.Parallel()
	a, b := parts.StartRedis(t), parts.StartRedis(t)
	b.ReplicaOf(t, a)
	probeRedis(t, a.Addr, redis.Config{Role: redis.Master}, "")
	probeRedis(t, a.Addr, redis.Config{Role: redis.Replica}, "role is master, want replica")
	probeRedis(t, b.Addr, redis.Config{Role: redis.Replica}, "")
	probeRedis(t, b.Addr, redis.Config{Role: redis.Master}, "role is replica, want master")
	probeRedis(t, b.Addr, redis.Config{}, "")
	b.Promote(t)
	probeRedis(t, b.Addr, redis.Config{Role: redis.Master}, "")
	b.ReplicaOf(t, a)
	c := parts.DialRESP(t, b.Addr)
	a.Kill()
	parts.Eventually(t, parts.Patience, "the link to be down", func() bool {
		role, err := c.Do("INFO", "replication")
		text, _ := role.(string)
		return err == nil && strings.Contains(text, "master_link_status:down")
	})
	probeRedis(t, b.Addr, redis.Config{}, "")
	probeRedis(t, b.Addr, redis.Config{Role: redis.Replica}, "its link to the master is not up")
	redisDo(t, c, "OK", "CONFIG", "SET", "replica-serve-stale-data", "no")
	probeRedis(t, b.Addr, redis.Config{}, "redis ping: a replica without its master")
}

func TestRedisProbeOverTLS(t *testing.T) {
	t.Parallel()
	cert := parts.NewCertificate(t)
	r := parts.StartRedisTLS(t, cert)
	probeRedis(t, r.Addr, redis.Config{TLS: &tls.Config{RootCAs: cert.Pool}}, "")
	probeRedis(t, r.Addr, redis.Config{TLS: &tls.Config{RootCAs: parts.NewCertificate(t).Pool}}, "redis tls: tls: failed to verify certificate")
	probeRedis(t, r.Addr, redis.Config{TLS: &tls.Config{InsecureSkipVerify: true}}, "")
	probeRedis(t, r.Addr, redis.Config{}, "redis ping: connection")
}

// C39
func TestRedisProbeDoesNotTakeLoadingForReady(t *testing.T) {
	t.Parallel()
	dir := parts.TempDir(t)
	first := parts.StartRedis(t, "--dir", dir)
	c := parts.DialRESP(t, first.Addr)
	if _, err := c.Do("EVAL", "for i = 1, 20000 do redis.call('SET', 'k'..i, i) end", "0"); err != nil {
		t.Fatal(err)
	}
	redisDo(t, c, "OK", "SAVE")
	first.Kill()
	slow := parts.StartRedis(t, "--dir", dir, "--key-load-delay", "200", "--loading-process-events-interval-bytes", "1024")
	probeRedis(t, slow.Addr, redis.Config{}, "redis ping: it is loading its data")
	p, err := redis.New(health.Endpoint{Network: "tcp", Address: slow.Addr}, redis.Config{})
	if err != nil {
		t.Fatal(err)
	}
	parts.Eventually(t, parts.Patience, "it to be ready", func() bool { return probetest.Probe(p, time.Second) == nil })
}

func TestRedisProbesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	r := parts.StartRedis(t)
	for range 200 {
		probeRedis(t, r.Addr, redis.Config{Role: redis.Master}, "")
	}
	before := r.Output.String()
	c := parts.DialRESP(t, r.Addr)
	clients, err := c.Do("CLIENT", "LIST")
	if err != nil || strings.Count(clients.(string), "\n") != 1 {
		t.Errorf("clients: %v, %v", clients, err)
	}
	if n := strings.Count(before, "\n"); n > 30 {
		t.Errorf("the server logged %d lines: %s", n, before)
	}
}
