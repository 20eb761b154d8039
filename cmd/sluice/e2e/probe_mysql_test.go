//go:build linux

package e2e

import (
	"crypto/tls"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of parts.OpenSQL

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/mysql"
	"github.com/sluicelb/sluice/health/probe/probetest"
)

func probeMySQL(t *testing.T, addr string, c mysql.Config, want string) {
	t.Helper()
	p, err := mysql.New(health.Endpoint{Network: "tcp", Address: addr}, c)
	if err != nil {
		t.Fatal(err)
	}
	probetest.Expect(t, probetest.Probe(p, 5*time.Second), want)
}

// C28
func TestMySQLProbesWithAUserNeverBlockTheBalancer(t *testing.T) {
	t.Parallel()
	m := parts.StartMariaDB(t, "--max-connect-errors=5")
	m.Exec(t, "CREATE USER probe IDENTIFIED BY 'secret'", "CREATE USER client")
	client := parts.OpenSQL(t, "client@tcp("+m.Addr+")/")
	client.SetMaxIdleConns(0) // each ping is a login
	broken, lost := m.Status(t, "Aborted_connects"), m.Status(t, "Aborted_clients")
	for i := range 200 {
		probeMySQL(t, m.Addr, mysql.Config{User: "probe", Password: "secret", Role: mysql.Primary}, "")
		probeMySQL(t, m.Addr, mysql.Config{User: "probe", Password: "secret"}, "")
		if i%20 == 0 {
			if err := client.Ping(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, l := m.Status(t, "Aborted_connects"), m.Status(t, "Aborted_clients"); b != broken || l != lost {
		t.Errorf("%d handshakes and %d connections were broken off", b-broken, l-lost)
	}
	db, n := m.SQL(t), 0
	parts.Eventually(t, parts.Patience, "no thread of a probe to be left", func() bool {
		return db.QueryRow("SELECT count(*) FROM information_schema.processlist WHERE user = 'probe'").Scan(&n) == nil && n == 0
	})
}

// What a check without a user costs, as its documentation says. A blocked address is never
// called healthy.
func TestMySQLProbesWithoutAUserAreCountedAgainstTheBalancer(t *testing.T) {
	t.Parallel()
	m := parts.StartMariaDB(t, "--max-connect-errors=5")
	m.Exec(t, "CREATE USER client")
	before := m.Status(t, "Aborted_connects")
	for range 5 {
		probeMySQL(t, m.Addr, mysql.Config{}, "")
	}
	parts.Eventually(t, parts.Patience, "the server to count them", func() bool { return m.Status(t, "Aborted_connects") == before+5 })
	p, err := mysql.New(health.Endpoint{Network: "tcp", Address: m.Addr}, mysql.Config{})
	if err != nil {
		t.Fatal(err)
	}
	blocked := false
	for range 20 {
		blocked = blocked || probetest.Probe(p, 5*time.Second) != nil
	}
	client := parts.OpenSQL(t, "client@tcp("+m.Addr+")/")
	if refused := client.Ping() != nil; refused != blocked {
		t.Errorf("clients are refused: %v, the probe says so: %v", refused, blocked)
	}
}

func TestMySQLProbeLogsIn(t *testing.T) {
	t.Parallel()
	m := parts.StartMariaDB(t)
	m.Exec(t, "CREATE USER probe IDENTIFIED BY 'secret'", "CREATE USER few WITH MAX_USER_CONNECTIONS 1")
	for _, c := range []struct {
		cfg  mysql.Config
		want string
	}{
		{mysql.Config{}, ""},
		{mysql.Config{User: "probe", Password: "secret"}, ""},
		{mysql.Config{User: "probe", Password: "wrong"}, "mysql login: wrong user or password"},
		{mysql.Config{User: "probe"}, "mysql login: wrong user or password"},
		{mysql.Config{User: "few"}, ""},
		{mysql.Config{User: "probe", Password: "secret", TLS: &tls.Config{}}, "mysql tls: the server offers no TLS"},
	} {
		probeMySQL(t, m.Addr, c.cfg, c.want)
	}
	taken := parts.OpenSQL(t, "few@tcp("+m.Addr+")/")
	if err := taken.Ping(); err != nil {
		t.Fatal(err)
	}
	probeMySQL(t, m.Addr, mysql.Config{User: "few"}, "mysql login: the user has no connection or query left (1226)")
}

func TestMySQLProbeKnowsTheRole(t *testing.T) {
	t.Parallel()
	m := parts.StartMariaDB(t)
	m.Exec(t, "CREATE USER probe")
	primary, replica := mysql.Config{User: "probe", Role: mysql.Primary}, mysql.Config{User: "probe", Role: mysql.Replica}
	probeMySQL(t, m.Addr, primary, "")
	probeMySQL(t, m.Addr, replica, "mysql role: role is primary (read_only is off), want replica")
	m.Exec(t, "SET GLOBAL read_only = ON")
	probeMySQL(t, m.Addr, primary, "mysql role: role is replica (read_only is on), want primary")
	probeMySQL(t, m.Addr, replica, "")
	m.Exec(t, "SET GLOBAL read_only = OFF")
	probeMySQL(t, m.Addr, primary, "")
}

func TestMySQLProbeOverTLS(t *testing.T) {
	t.Parallel()
	cert := parts.NewCertificate(t)
	m := parts.StartMariaDB(t, cert.MariaDB(t)...)
	m.Exec(t, "CREATE USER probe REQUIRE SSL")
	probeMySQL(t, m.Addr, mysql.Config{User: "probe", TLS: &tls.Config{RootCAs: cert.Pool}}, "")
	probeMySQL(t, m.Addr, mysql.Config{User: "probe", TLS: &tls.Config{RootCAs: parts.NewCertificate(t).Pool}}, "failed to verify certificate")
	probeMySQL(t, m.Addr, mysql.Config{User: "probe"}, "wrong user or password")
}
