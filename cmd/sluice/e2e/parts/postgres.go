//go:build linux

package parts

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Postgres is a running PostgreSQL with a fresh cluster, trusting everybody on loopback. The superuser is postgres.
type Postgres struct {
	*Process
	Addr string
	dir  string
	bin  string
	as   *syscall.SysProcAttr
	args []string
	cold bool // it lets nobody in, ever
}

// StartPostgres makes a cluster and starts it on a free port, as the user postgres if the tests run as root.
func StartPostgres(t testing.TB, args ...string) *Postgres {
	t.Helper()
	pg := newPostgres(t, args)
	initdb := pg.command("initdb", "-D", pg.dir, "-U", "postgres", "-A", "trust", "-N", "--no-instructions",
		"-E", "UTF8", "--locale=C.UTF-8")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	pg.Start(t)
	return pg
}

// StartReplica makes a copy of pg that follows it, and waits until it does.
func (pg *Postgres) StartReplica(t testing.TB) *Postgres {
	t.Helper()
	return pg.replica(t, newPostgres(t, nil))
}

// StartColdReplica is StartReplica of one that is no hot standby: it turns every login away until it is promoted.
func (pg *Postgres) StartColdReplica(t testing.TB) *Postgres {
	t.Helper()
	r := newPostgres(t, []string{"-c", "hot_standby=off"})
	r.cold = true
	return pg.replica(t, r)
}

func (pg *Postgres) replica(t testing.TB, r *Postgres) *Postgres {
	t.Helper()
	host, port, _ := net.SplitHostPort(pg.Addr)
	backup := r.command("pg_basebackup", "-D", r.dir, "-R", "-X", "stream", "-c", "fast", "-h", host, "-p", port, "-U", "postgres")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	r.Start(t)
	Eventually(t, Patience, "the replica to follow", func() bool {
		return strings.Contains(r.Output.String(), "started streaming WAL")
	})
	return r
}

// Promote makes a replica a primary, and waits until it is one.
func (pg *Postgres) Promote(t testing.TB) {
	t.Helper()
	if out, err := pg.command("pg_ctl", "promote", "-D", pg.dir, "-w").CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl promote: %v\n%s", err, out)
	}
}

// Stop ends the server in order, its sessions and children included.
func (pg *Postgres) Stop(t testing.TB) {
	t.Helper()
	pg.Signal(syscall.SIGINT)
	if status := pg.Exit(Patience); status != 0 {
		t.Fatalf("postgres exited with %d", status)
	}
}

// Socket is the path of the server's Unix socket.
func (pg *Postgres) Socket() string {
	_, port, _ := net.SplitHostPort(pg.Addr)
	return filepath.Join(pg.dir, ".s.PGSQL."+port)
}

// HBA lets nobody in over TCP but as the lines say, besides postgres himself.
func (pg *Postgres) HBA(t testing.TB, lines ...string) {
	t.Helper()
	text := strings.Join(append([]string{"host all postgres 127.0.0.1/32 trust"}, lines...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(pg.dir, "pg_hba.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := pg.command("pg_ctl", "reload", "-D", pg.dir).CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl reload: %v\n%s", err, out)
	}
}

// Postgres returns arguments with which a server speaks TLS.
func (c Certificate) Postgres(t testing.TB) []string {
	t.Helper()
	cert, key := c.ownedBy(t, postgresUser)
	return []string{"-c", "ssl=on", "-c", "ssl_cert_file=" + cert, "-c", "ssl_key_file=" + key}
}

func newPostgres(t testing.TB, args []string) *Postgres {
	t.Helper()
	program, err := filepath.EvalSymlinks(Find(t, "postgres", "postgresql"))
	if err != nil {
		t.Fatal(err)
	}
	dir := TempDir(t)
	return &Postgres{Addr: FreeAddr(t), dir: filepath.Join(dir, "data"), as: postgresUser(t, dir),
		bin: filepath.Dir(program), args: args}
}

// Start starts the cluster's server; again after Kill or Stop.
func (pg *Postgres) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(pg.Addr)
	args := append([]string{"-D", pg.dir, "-p", port, "-h", "127.0.0.1", "-k", pg.dir, "-F",
		"-c", "max_wal_size=1GB", "-c", "shared_buffers=32MB", "-c", "autovacuum=off"}, pg.args...)
	cmd := pg.command("postgres", args...)
	pg.Process = startProcess(t, "postgres", cmd)
	awaitListening(t, pg.Process, pg.Addr)
	Eventually(t, Patience, "postgres is ready", func() bool {
		out := pg.Output.String()
		if pg.cold {
			return strings.Contains(out, "started streaming WAL")
		}
		return strings.Contains(out, "ready to accept connections") || strings.Contains(out, "ready to accept read-only connections")
	})
}

func (pg *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(pg.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if pg.as != nil {
		cmd.SysProcAttr.Credential = pg.as.Credential
	}
	return cmd
}

// postgresUser hands dir to the user postgres, see becomes.
func postgresUser(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	return becomes(t, "postgres", dir)
}

// becomes hands dir to a user and returns how to become it: the servers do not run as root. It is nil if the tests do
// not either.
func becomes(t testing.TB, name, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("no user %s to run a server as (it comes with its Debian package): %v", name, err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
