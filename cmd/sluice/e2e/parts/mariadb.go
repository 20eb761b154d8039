//go:build linux

package parts

import (
	"database/sql"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// MariaDB is a running MariaDB with a fresh data directory. The user root has no password on its socket.
type MariaDB struct {
	*Process
	Addr   string
	Socket string
	dir    string
	args   []string
	as     *syscall.SysProcAttr
}

// StartMariaDB makes a data directory and starts a server on a free port, with more arguments if need be.
func StartMariaDB(t testing.TB, args ...string) *MariaDB {
	t.Helper()
	dir := TempDir(t)
	m := &MariaDB{Addr: FreeAddr(t), dir: dir, Socket: filepath.Join(dir, "s"), args: args, as: mariadbUser(t, dir)}
	install := m.command(Find(t, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--auth-root-authentication-method=normal",
		"--datadir="+filepath.Join(dir, "data"), "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	m.Start(t)
	return m
}

// Start starts the server; again, after Kill.
func (m *MariaDB) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(m.Addr)
	args := append([]string{"--no-defaults", "--datadir=" + filepath.Join(m.dir, "data"), "--socket=" + m.Socket, "--port=" + port,
		"--bind-address=127.0.0.1", "--pid-file=" + filepath.Join(m.dir, "pid"), "--innodb-buffer-pool-size=16M",
		"--innodb-log-file-size=4M", "--log-warnings=2", "--tmpdir=" + m.dir}, m.args...)
	m.Process = startProcess(t, "mariadb", m.command(Find(t, "mariadbd", "mariadb-server"), args...))
	awaitListening(t, m.Process, m.Addr)
	Eventually(t, Patience, "MariaDB is ready", func() bool { return strings.Contains(m.Output.String(), "ready for connections") })
}

func (m *MariaDB) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	// A server that starts deletes the temporary tables that it finds, another one's too.
	cmd.Env = append(os.Environ(), "TMPDIR="+m.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if m.as != nil {
		cmd.SysProcAttr.Credential = m.as.Credential
	}
	return cmd
}

// mariadbUser hands dir to an ordinary user, see becomes.
func mariadbUser(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	return becomes(t, "nobody", dir)
}

// SQL connects as root over the socket. The test imports the driver.
func (m *MariaDB) SQL(t testing.TB) *sql.DB {
	t.Helper()
	return OpenSQL(t, "root@unix("+m.Socket+")/")
}

// OpenSQL connects as the driver's DSN says, one connection at a time.
func OpenSQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// Exec runs statements as root.
func (m *MariaDB) Exec(t testing.TB, statements ...string) {
	t.Helper()
	db := m.SQL(t)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Status returns a counter of the server's.
func (m *MariaDB) Status(t testing.TB, name string) (n int) {
	t.Helper()
	db := m.SQL(t)
	defer db.Close()
	if err := db.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// MariaDB returns arguments with which a server speaks TLS.
func (c Certificate) MariaDB(t testing.TB) []string {
	t.Helper()
	cert, key := c.ownedBy(t, mariadbUser)
	return []string{"--ssl-cert=" + cert, "--ssl-key=" + key}
}
