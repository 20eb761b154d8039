//go:build linux

package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestPostgresThroughSluice(t *testing.T) {
	t.Parallel()
	pg := parts.StartPostgres(t)
	s, addr := start(t, fastCheck, pg.Addr)
	s.AwaitUp(t, "b1")
	for name, test := range map[string]func(*testing.T, string){
		"queries":             pgQueries,
		"prepared statements": pgPrepared,
		"LISTEN and NOTIFY":   pgNotify,
		"psql":                pgPsql,
		"COPY of 100 MB":      pgCopy,
		"query cancel":        pgCancel,
	} {
		t.Run(name, func(t *testing.T) { test(t, addr) })
	}
}

// pgConnect logs in through addr; everything the test does with it ends with the context after a minute.
func pgConnect(t *testing.T, addr string) (context.Context, *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	conn, err := pgx.Connect(ctx, "postgres://postgres@"+addr+"/postgres?sslmode=prefer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return ctx, conn
}

func pgQueries(t *testing.T, addr string) {
	ctx, conn := pgConnect(t, addr)
	for i := range 200 {
		var sum int
		if err := conn.QueryRow(ctx, "select $1::int + 1", i).Scan(&sum); err != nil || sum != i+1 {
			t.Fatalf("select %d + 1: %d (%v)", i, sum, err)
		}
	}
	rows, err := conn.Query(ctx, "select repeat('x', 1000) from generate_series(1, 10000)")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(list) != 10_000 {
		t.Errorf("got %d rows (%v), want 10000", len(list), err)
	}
}

func pgPrepared(t *testing.T, addr string) {
	ctx, conn := pgConnect(t, addr)
	if _, err := conn.Prepare(ctx, "double", "select 2 * $1::int"); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		var got int
		if err := conn.QueryRow(ctx, "double", i).Scan(&got); err != nil || got != 2*i {
			t.Fatalf("double %d: %d (%v)", i, got, err)
		}
	}
}

func pgNotify(t *testing.T, addr string) {
	ctx, listener := pgConnect(t, addr)
	_, sender := pgConnect(t, addr)
	if _, err := listener.Exec(ctx, "listen news"); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := sender.Exec(ctx, "select pg_sleep(0.5), pg_notify('news', 'hello')")
		sent <- err
	}()
	n, err := listener.WaitForNotification(ctx)
	if err != nil || n.Payload != "hello" {
		t.Errorf("notification %v (%v), want hello", n, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func pgPsql(t *testing.T, addr string) {
	host, port, _ := net.SplitHostPort(addr)
	res := parts.Command(t, parts.Find(t, "psql", "postgresql-client"), "-X", "-h", host, "-p", port, "-U", "postgres",
		"-At", "-c", "select 6 * 7", "-c", "show server_version_num", "postgres")
	if res.Code != 0 || !strings.HasPrefix(res.Stdout, "42\n") {
		t.Errorf("psql: exit %d, %q, %s", res.Code, res.Stdout, res.Stderr)
	}
}

const (
	copyRows    = 100_000
	copyRowSize = 1024
)

// copyData generates the rows of COPY's text format: about 100 MB, each row different.
func copyData(w io.Writer) error {
	filler := strings.Repeat("0123456789abcdef", copyRowSize/16)
	for i := range copyRows {
		if _, err := fmt.Fprintf(w, "%d\t%s\n", i, filler[i%16:]); err != nil {
			return err
		}
	}
	return nil
}

func pgCopy(t *testing.T, addr string) {
	ctx, conn := pgConnect(t, addr)
	if _, err := conn.Exec(ctx, "create unlogged table big (n int, filler text)"); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	sent := sha256.New()
	go func() { _ = w.CloseWithError(copyData(io.MultiWriter(w, sent))) }()
	tag, err := conn.PgConn().CopyFrom(ctx, r, "copy big from stdin")
	if err != nil || tag.RowsAffected() != copyRows {
		t.Fatalf("COPY FROM: %v (%v)", tag, err)
	}
	got := &counter{Hash: sha256.New()}
	if _, err := conn.PgConn().CopyTo(ctx, got, "copy (select * from big order by n) to stdout"); err != nil {
		t.Fatalf("COPY TO: %v", err)
	}
	if string(got.Sum(nil)) != string(sent.Sum(nil)) {
		t.Errorf("the %d bytes that came back are not those that were sent", got.n)
	}
	if got.n < 100_000_000 {
		t.Errorf("only %d bytes were copied", got.n)
	}
}

// counter is a hash that also counts.
type counter struct {
	hash.Hash
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.Hash.Write(p)
}

func pgCancel(t *testing.T, addr string) {
	ctx, conn := pgConnect(t, addr)
	failed := make(chan error, 1)
	begin := time.Now()
	go func() {
		_, err := conn.Exec(ctx, "select pg_sleep(30)")
		failed <- err
	}()
	_, watcher := pgConnect(t, addr)
	parts.Eventually(t, parts.Patience, "the query runs", func() bool {
		var n int
		err := watcher.QueryRow(ctx, "select count(*) from pg_stat_activity where query = 'select pg_sleep(30)' and state = 'active'").Scan(&n)
		return err == nil && n == 1
	})
	if err := conn.PgConn().CancelRequest(ctx); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	var canceled *pgconn.PgError
	if !errors.As(err, &canceled) || canceled.Code != "57014" {
		t.Errorf("the query ended with %v, want query_canceled", err)
	}
	elapsed(t, "the cancelled query", begin, 0, 10*time.Second)
	var one int
	if err := conn.QueryRow(ctx, "select 1").Scan(&one); err != nil {
		t.Errorf("the session does not go on after the cancel: %v", err)
	}
}

func TestPostgresSessionsEndWhenItsServerIsKilledAndComeBack(t *testing.T) {
	t.Parallel()
	pg := parts.StartPostgres(t)
	s, addr := start(t, fastCheck, pg.Addr)
	ctx, conn := pgConnect(t, addr)
	pg.Kill()
	begin := time.Now()
	if _, err := conn.Exec(ctx, "select 1"); err == nil {
		t.Error("a query succeeded without a server")
	}
	elapsed(t, "noticing the dead server", begin, 0, time.Second)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down"})
	mark := s.Log.Len()
	pg.Start(t)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", After: mark})
	ctx, conn = pgConnect(t, addr)
	if _, err := conn.Exec(ctx, "select 1"); err != nil {
		t.Error(err)
	}
}
