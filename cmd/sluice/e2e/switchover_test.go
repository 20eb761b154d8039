//go:build linux

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// pgWriter inserts one number after the other, each with a new transaction, and keeps those that were acknowledged. A
// session that fails is replaced by a new one.
type pgWriter struct {
	dsn   string
	first int

	acked []int
	fails int
}

func (w *pgWriter) run(ctx context.Context) {
	var conn *pgx.Conn
	for n := w.first; ctx.Err() == nil; n++ {
		err := func() (err error) {
			within, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if conn == nil {
				if conn, err = pgx.Connect(within, w.dsn); err != nil {
					return err
				}
			}
			_, err = conn.Exec(within, "INSERT INTO t VALUES ($1)", n)
			return err
		}()
		if err == nil {
			w.acked = append(w.acked, n)
			continue
		}
		w.fails++
		if conn != nil {
			closing, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = conn.Close(closing)
			cancel()
			conn = nil
		}
		parts.Pause(20 * time.Millisecond)
	}
	if conn != nil {
		_ = conn.Close(context.Background())
	}
}

func pgNumbers(t *testing.T, addr string) map[int]bool {
	t.Helper()
	ctx, conn := pgConnect(t, addr)
	rows, err := conn.Query(ctx, "SELECT n FROM t")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	set := make(map[int]bool, len(all))
	for _, n := range all {
		set[n] = true
	}
	return set
}

// C38, C43: a primary is demoted and its replica promoted while clients write. What was acknowledged is on the new
// primary, and the old one gets nothing more.
func TestPostgresSwitchoverLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	a := parts.StartPostgres(t)
	pgExec(t, a.Addr, "CREATE TABLE t (n int PRIMARY KEY)", "CREATE ROLE probe LOGIN")
	b := a.StartReplica(t)
	pgExec(t, a.Addr, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	s, addr := start(t, "check: {type: postgres, user: probe, database: postgres, role: primary, conflict: keep, interval: 200ms, timeout: 1s, rise: 1, fall: 2}\n"+
		"on_down: close\nconnect: {hold: 10s}", a.Addr, b.Addr)
	s.AwaitUp(t, "b1")

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var writers []*pgWriter
	var wg sync.WaitGroup
	for i := range 8 {
		w := &pgWriter{dsn: "postgres://postgres@" + addr + "/postgres?sslmode=disable", first: i * 1_000_000}
		writers = append(writers, w)
		wg.Go(func() { w.run(ctx) })
	}
	parts.Pause(time.Second)
	pgExec(t, a.Addr, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1"}})
	pgExec(t, b.Addr, "SELECT 1")
	b.Promote(t)
	s.AwaitUp(t, "b2")
	old := len(pgNumbers(t, a.Addr))
	parts.Pause(time.Second)
	stop()
	wg.Wait()

	onOld, onNew := pgNumbers(t, a.Addr), pgNumbers(t, b.Addr)
	if len(onOld) != old {
		t.Errorf("the old primary got %d writes after the switch", len(onOld)-old)
	}
	acked := 0
	for _, w := range writers {
		acked += len(w.acked)
		for _, n := range w.acked {
			if !onNew[n] {
				t.Errorf("%d was acknowledged, and is not on the new primary", n)
			}
		}
	}
	if acked == 0 || len(onNew) <= old {
		t.Errorf("%d writes were acknowledged, %d on the old primary, %d on the new", acked, old, len(onNew))
	}
	t.Logf("%d writes acknowledged, %d of them before the switch", acked, old)
}

// The old primary comes back and claims to be one: it gets nobody.
func TestPostgresPrimaryThatIsRestartedGetsNoSessions(t *testing.T) {
	t.Parallel()
	a := parts.StartPostgres(t)
	pgExec(t, a.Addr, "CREATE ROLE probe LOGIN")
	b := a.StartReplica(t)
	s, addr := start(t, "check: {type: postgres, user: probe, database: postgres, role: primary, interval: 100ms, timeout: 1s, rise: 2, fall: 2}\n"+
		"on_down: close\nconnect: {hold: 10s}", a.Addr, b.Addr)
	s.AwaitUp(t, "b1")
	a.Kill()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b1"}})
	b.Promote(t)
	s.AwaitUp(t, "b2")
	a.Start(t)
	l := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "several writers"})
	if !strings.Contains(l.Raw, `"serving":"b2"`) {
		t.Error(l.Raw)
	}
	_, port, _ := strings.Cut(b.Addr, ":")
	for range 20 {
		ctx, conn := pgConnect(t, addr)
		var is string
		if err := conn.QueryRow(ctx, "SELECT inet_server_port()::text").Scan(&is); err != nil || is != port {
			t.Errorf("a client got to port %s (%v), want %s", is, err, port)
		}
		_ = conn.Close(ctx)
	}
}

// A master and its replica change places while clients write: nobody writes to the replica, whose refusals would show.
func TestRedisSwitchoverUnderLoad(t *testing.T) {
	t.Parallel()
	a, b := parts.StartRedis(t, "--requirepass", "top", "--masterauth", "top"), parts.StartRedis(t, "--requirepass", "top", "--masterauth", "top")
	login := func(r *parts.Redis, commands ...[]string) {
		t.Helper()
		c := parts.DialRESP(t, r.Addr)
		for _, words := range append([][]string{{"AUTH", "top"}}, commands...) {
			if _, err := c.Do(words...); err != nil {
				t.Fatalf("%v: %v", words, err)
			}
		}
		_ = c.Close()
	}
	acl := []string{"ACL", "SETUSER", "probe", "on", ">secret", "+ping", "+role"}
	login(a, acl)
	login(b, acl)
	host, port, _ := strings.Cut(a.Addr, ":")
	login(b, []string{"REPLICAOF", host, port})
	s, addr := start(t, "check: {type: redis, user: probe, password: secret, role: master, interval: 100ms, timeout: 1s, rise: 1, fall: 1}\n"+
		"on_down: close\nconnect: {hold: 10s}", a.Addr, b.Addr)
	s.AwaitUp(t, "b1")

	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var mu sync.Mutex
	set, refused := 0, map[string]int{}
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				err := redisSet(addr, fmt.Sprintf("k%d.%d", i, n))
				mu.Lock()
				if err == nil {
					set++
				} else {
					refused[innermost(err).Error()]++
				}
				mu.Unlock()
			}
		})
	}
	parts.Pause(500 * time.Millisecond)
	login(b, []string{"REPLICAOF", "NO", "ONE"})
	host, port, _ = strings.Cut(b.Addr, ":")
	login(a, []string{"REPLICAOF", host, port})
	s.AwaitUp(t, "b2")
	parts.Pause(500 * time.Millisecond)
	stop()
	wg.Wait()
	t.Logf("%d keys set, %v", set, refused)
	if set == 0 {
		t.Error("nothing was set")
	}
	// From a's demotion until its probe fails, writes are refused by the server; after that by nobody.
	before := len(refused)
	for i := range 50 {
		if err := redisSet(addr, fmt.Sprintf("late%d", i)); err != nil {
			t.Errorf("after the switch: %v (before: %d kinds of errors)", err, before)
		}
	}
}

// redisSet sets a key over a connection of its own.
func redisSet(addr, key string) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(15 * time.Second))
	r := parts.NewRESP(c)
	if _, err := r.Do("AUTH", "top"); err != nil {
		return err
	}
	_, err = r.Do("SET", key, "v")
	return err
}

// C28 through sluice: a MariaDB turns read-only and back, and clients go where writes are taken.
func TestMariaDBThatTurnsReadOnlyGetsNoWriters(t *testing.T) {
	t.Parallel()
	a, b := parts.StartMariaDB(t, "--max-connect-errors=3"), parts.StartMariaDB(t, "--max-connect-errors=3")
	for _, m := range []*parts.MariaDB{a, b} {
		m.Exec(t, "CREATE USER probe IDENTIFIED BY 'secret'", "CREATE USER client", "GRANT ALL ON *.* TO client")
	}
	b.Exec(t, "SET GLOBAL read_only = ON")
	broken := []int{a.Status(t, "Aborted_connects"), b.Status(t, "Aborted_connects")} // by the wait for the server
	s, addr := start(t, "check: {type: mysql, user: probe, password: secret, role: primary, interval: 50ms, timeout: 1s, rise: 1, fall: 1}\n"+
		"on_down: close\nconnect: {hold: 10s}", a.Addr, b.Addr)
	at := func() (port string) {
		db := parts.OpenSQL(t, "client@tcp("+addr+")/")
		defer db.Close()
		if err := db.QueryRow("SELECT @@port").Scan(&port); err != nil {
			t.Fatal(err)
		}
		return port
	}
	_, first, _ := strings.Cut(a.Addr, ":")
	_, second, _ := strings.Cut(b.Addr, ":")
	for i, want := range []string{first, second, first} {
		s.Log.Await(t, parts.Patience, i/2+1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": []string{"b1", "b2", "b1"}[i]}})
		for range 20 {
			if got := at(); got != want {
				t.Errorf("round %d: a client got to %s, want %s", i, got, want)
			}
		}
		from, to := a, b
		if i == 1 {
			from, to = b, a
		}
		from.Exec(t, "SET GLOBAL read_only = ON")
		to.Exec(t, "SET GLOBAL read_only = OFF")
	}
	for i, m := range []*parts.MariaDB{a, b} {
		if n := m.Status(t, "Aborted_connects") - broken[i]; n != 0 {
			t.Errorf("%d handshakes were broken off", n)
		}
	}
}
