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
}

// StartPostgres makes a cluster and starts it on a free port, as the user postgres if the tests run as root.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	program, err := filepath.EvalSymlinks(Find(t, "postgres", "postgresql"))
	if err != nil {
		t.Fatal(err)
	}
	dir := TempDir(t)
	pg := &Postgres{Addr: FreeAddr(t), dir: filepath.Join(dir, "data"), as: postgresUser(t, dir),
		bin: filepath.Dir(program)}
	initdb := pg.command("initdb", "-D", pg.dir, "-U", "postgres", "-A", "trust", "-N", "--no-instructions",
		"-E", "UTF8", "--locale=C.UTF-8")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	pg.Start(t)
	return pg
}

// Start starts the cluster's server; again after Kill.
func (pg *Postgres) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(pg.Addr)
	cmd := pg.command("postgres", "-D", pg.dir, "-p", port, "-h", "127.0.0.1", "-k", pg.dir, "-F",
		"-c", "max_wal_size=1GB", "-c", "shared_buffers=32MB", "-c", "autovacuum=off")
	pg.Process = startProcess(t, "postgres", cmd)
	awaitListening(t, pg.Process, pg.Addr)
	Eventually(t, Patience, "postgres is ready", func() bool {
		return strings.Contains(pg.Output.String(), "ready to accept connections")
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

// postgresUser hands dir to the user postgres and returns how to become it: the servers refuse to run as root.
// It is nil if the tests do not run as root.
func postgresUser(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("no user postgres to run PostgreSQL as (apt-get install postgresql): %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
