//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/postgres"
	"github.com/sluicelb/sluice/health/probe/probetest"
)

func probePostgres(t *testing.T, addr string, c postgres.Config, want string) {
	t.Helper()
	p, err := postgres.New(health.Endpoint{Network: "tcp", Address: addr}, c)
	if err != nil {
		t.Fatal(err)
	}
	probetest.Expect(t, probetest.Probe(p, 5*time.Second), want)
}

func pgExec(t *testing.T, addr string, statements ...string) {
	t.Helper()
	ctx, conn := pgConnect(t, addr)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	_ = conn.Close(ctx)
}

// pgComplaints are lines of a server's log that somebody would have to look at.
func pgComplaints(pg *parts.Postgres) (all []string) {
	for line := range strings.Lines(pg.Output.String()) {
		if strings.Contains(line, "FATAL") || strings.Contains(line, "ERROR") || strings.Contains(line, "could not") ||
			strings.Contains(line, "startup packet") || strings.Contains(line, "unexpected EOF") {
			all = append(all, line)
		}
	}
	return all
}

// C27
func TestSSLRequestsAreNoLineInTheServersLog(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"plain": nil, "TLS": parts.NewCertificate(t).Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			pg := parts.StartPostgres(t, append(args, "-c", "log_connections=on", "-c", "log_disconnections=on")...)
			before := len(pg.Output.String())
			for range 50 {
				probePostgres(t, pg.Addr, postgres.Config{}, "")
			}
			pg.Stop(t) // with all that it has to say of the probes
			said, _, stopped := strings.Cut(pg.Output.String()[before:], "received fast shutdown request")
			if n := strings.Count(said, "connection received"); !stopped || n < 50 {
				t.Errorf("%d connections in the log: %s", n, said)
			}
			lines := strings.Split(said, "\n")
			for _, line := range lines[:len(lines)-1] {
				if !strings.Contains(line, "connection received") {
					t.Errorf("the server said %q", line)
				}
			}
		})
	}
}

// C27
func TestPostgresProbesLeaveNoLineInTheServersLog(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"plain": nil, "TLS": parts.NewCertificate(t).Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			pg := parts.StartPostgres(t, args...)
			pgExec(t, pg.Addr, "CREATE ROLE probe LOGIN PASSWORD 'secret'")
			for range 100 {
				probePostgres(t, pg.Addr, postgres.Config{}, "")
				probePostgres(t, pg.Addr, postgres.Config{User: "probe", Database: "postgres", Role: postgres.Primary}, "")
			}
			ctx, conn := pgConnect(t, pg.Addr)
			parts.Eventually(t, parts.Patience, "no backend to be left", func() bool {
				var n int
				err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice-probe'").Scan(&n)
				return err == nil && n == 0
			})
			if lines := pgComplaints(pg); len(lines) > 0 {
				t.Errorf("the server complained: %q", lines)
			}
		})
	}
}

func TestPostgresProbeLogsIn(t *testing.T) {
	t.Parallel()
	pg := parts.StartPostgres(t)
	pgExec(t, pg.Addr, "CREATE ROLE scram LOGIN PASSWORD 'secret'", "SET password_encryption = 'md5'",
		"CREATE ROLE md5 LOGIN PASSWORD 'secret'", "CREATE ROLE few LOGIN CONNECTION LIMIT 1")
	pg.HBA(t, "host postgres scram 127.0.0.1/32 scram-sha-256", "host postgres md5 127.0.0.1/32 md5", "host postgres few 127.0.0.1/32 trust",
		"host nowhere scram 127.0.0.1/32 trust")
	config := func(user, password, database string) postgres.Config {
		return postgres.Config{User: user, Password: password, Database: database}
	}
	for _, c := range []struct {
		cfg  postgres.Config
		want string
	}{
		{config("scram", "secret", "postgres"), ""},
		{config("md5", "secret", "postgres"), ""},
		{config("few", "", "postgres"), ""},
		{config("scram", "wrong", "postgres"), "postgres login: check.user or check.password is wrong: FATAL"},
		{config("scram", "", "postgres"), "postgres login: it wants a password: set check.password: FATAL"},
		{config("md5", "wrong", "postgres"), "postgres login: check.user or check.password is wrong: FATAL"},
		{config("md5", "", "postgres"), "postgres login: it wants a password: set check.password: FATAL"},
		{config("scram", "", "nowhere"), "postgres login: no such database: set check.database"},
		{config("nobody", "", "postgres"), "postgres login: it does not let the probe in without TLS (pg_hba.conf): FATAL"},
		{postgres.Config{User: "few", Database: "postgres", TLS: &tls.Config{}}, "postgres ssl request: it does not speak TLS (ssl = off)"},
	} {
		probePostgres(t, pg.Addr, c.cfg, c.want)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	taken, err := pgx.Connect(ctx, "postgres://few@"+pg.Addr+"/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	probePostgres(t, pg.Addr, config("few", "", "postgres"), "postgres login: too many connections: FATAL")
	_ = taken.Close(ctx)
}

func TestPostgresProbeOverTLS(t *testing.T) {
	t.Parallel()
	cert := parts.NewCertificate(t)
	pg := parts.StartPostgres(t, cert.Postgres(t)...)
	right, wrong := &tls.Config{RootCAs: cert.Pool}, &tls.Config{RootCAs: parts.NewCertificate(t).Pool}
	for _, user := range []string{"", "postgres"} {
		probePostgres(t, pg.Addr, postgres.Config{User: user, TLS: right}, "")
		probePostgres(t, pg.Addr, postgres.Config{User: user, TLS: wrong}, "failed to verify certificate")
		probePostgres(t, pg.Addr, postgres.Config{User: user}, "")
	}
	pgExec(t, pg.Addr, "CREATE ROLE scram LOGIN PASSWORD 'secret'")
	pg.HBA(t, "hostssl postgres scram 127.0.0.1/32 scram-sha-256")
	secret := postgres.Config{User: "scram", Password: "secret", Database: "postgres"}
	probePostgres(t, pg.Addr, secret, "postgres login: it does not let the probe in without TLS (pg_hba.conf): FATAL")
	secret.TLS = right
	probePostgres(t, pg.Addr, secret, "")
	secret.Database = "template1"
	probePostgres(t, pg.Addr, secret, "postgres login: it does not let the probe in (pg_hba.conf): FATAL")
}

func TestPostgresProbeOverAUnixSocket(t *testing.T) {
	t.Parallel()
	pg := parts.StartPostgres(t)
	for _, c := range []postgres.Config{{}, {User: "postgres", Role: postgres.Primary}} {
		p, err := postgres.New(health.Endpoint{Network: "unix", Address: pg.Socket()}, c)
		if err != nil {
			t.Fatal(err)
		}
		probetest.Expect(t, probetest.Probe(p, 5*time.Second), "")
	}
}

// C39
func TestPostgresThatLetsNobodyInIsDown(t *testing.T) {
	t.Parallel()
	login := postgres.Config{User: "postgres"}
	pg := parts.StartPostgres(t, "-c", "max_connections=4", "-c", "superuser_reserved_connections=1", "-c", "max_wal_senders=2")
	cold := pg.StartColdReplica(t)
	probePostgres(t, cold.Addr, postgres.Config{}, "")
	probePostgres(t, cold.Addr, login, "postgres login: not ready: FATAL: the database system is not accepting connections (SQLSTATE 57P03)")

	probePostgres(t, pg.Addr, login, "")
	for range 4 {
		pgConnect(t, pg.Addr)
	}
	probePostgres(t, pg.Addr, postgres.Config{}, "")
	probePostgres(t, pg.Addr, login, "postgres login: too many connections: FATAL: sorry, too many clients already (SQLSTATE 53300)")

	pg.Signal(syscall.SIGTERM) // it waits for its clients
	p, err := postgres.New(health.Endpoint{Network: "tcp", Address: pg.Addr}, login)
	if err != nil {
		t.Fatal(err)
	}
	parts.Eventually(t, parts.Patience, "a server that shuts down to say so", func() bool {
		err := probetest.Probe(p, 5*time.Second)
		return err != nil && strings.Contains(err.Error(), "not ready: FATAL: the database system is shutting down")
	})
}

func TestPostgresProbeKnowsTheRole(t *testing.T) {
	t.Parallel()
	a := parts.StartPostgres(t)
	b := a.StartReplica(t)
	want := func(role postgres.Role) postgres.Config { return postgres.Config{User: "postgres", Role: role} }
	probePostgres(t, a.Addr, want(postgres.Primary), "")
	probePostgres(t, a.Addr, want(postgres.Replica), "postgres role: role is primary, want replica")
	probePostgres(t, b.Addr, want(postgres.Replica), "")
	probePostgres(t, b.Addr, want(postgres.Primary), "postgres role: role is replica, want primary")
	probePostgres(t, b.Addr, want(postgres.Any), "")
	b.Promote(t)
	probePostgres(t, b.Addr, want(postgres.Primary), "")
	pgExec(t, a.Addr, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	p, err := postgres.New(health.Endpoint{Network: "tcp", Address: a.Addr}, want(postgres.Primary))
	if err != nil {
		t.Fatal(err)
	}
	parts.Eventually(t, parts.Patience, "the old primary to be read-only", func() bool {
		err := probetest.Probe(p, 5*time.Second)
		return err != nil && strings.Contains(err.Error(), "read-only")
	})
}
