package postgres

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sluicelb/sluice/health"
)

// Role is what a backend has to be.
type Role string

// The roles.
const (
	Any     Role = ""        // whatever it is
	Primary Role = "primary" // not in recovery, and takes writes by default
	Replica Role = "replica" // in recovery
)

// Config is what a probe asks and wants. The zero value sends an SSLRequest.
type Config struct {
	User     string // "" does not log in
	Password string
	Database string // "" is the one named like the user
	Role     Role   // needs a user
	// TLS has the probe insist on TLS; nil is plain text for a login. Without a ServerName
	// the endpoint's host is asked for.
	TLS *tls.Config
}

// maxAnswer bounds all that a probe reads, and each message of it, in bytes.
const maxAnswer = 64 << 10

const (
	stepLogin = "postgres login"
	stepRole  = "postgres role"
)

// New returns a prober of one backend. Errors wrap health.ErrConfig: a role or a password
// without a user, or an unknown role.
func New(e health.Endpoint, c Config) (health.Prober, error) {
	c.TLS = e.Secure(c.TLS)
	switch {
	case c.Role != Any && c.Role != Primary && c.Role != Replica:
		return nil, fmt.Errorf("%w: role %q: want primary or replica", health.ErrConfig, c.Role)
	case c.User == "" && (c.Role != Any || c.Password != "" || c.Database != ""):
		return nil, fmt.Errorf("%w: a role, a password or a database needs a user to log in as", health.ErrConfig)
	case c.User == "":
		return greeter{e, c.TLS}, nil
	case strings.ContainsRune(c.User+c.Database, 0):
		return nil, fmt.Errorf("%w: a user or a database with a zero byte", health.ErrConfig)
	}
	login, err := loginConfig(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", health.ErrConfig, err)
	}
	return prober{e, c, login}, nil
}

// settings leaves nothing of a login to the environment or to files in the home directory.
const settings = "host=127.0.0.1 port=5432 user=probe password=none dbname=probe sslmode=disable sslcertmode=disable " +
	"sslrootcert='' sslcert='' sslkey='' sslpassword='' sslsni=1 sslnegotiation=postgres connect_timeout=0 " +
	"target_session_attrs=any min_protocol_version=3.0 max_protocol_version=3.0 channel_binding=prefer require_auth=''"

// loginConfig returns the driver's configuration.
func loginConfig(c Config) (*pgconn.Config, error) {
	service, done, err := emptyService()
	if err != nil {
		return nil, err
	}
	defer done()
	cfg, err := pgconn.ParseConfig(settings + service)
	if err != nil {
		return nil, err
	}
	cfg.User, cfg.Password, cfg.Database = c.User, c.Password, c.Database
	cfg.RuntimeParams = map[string]string{"application_name": "sluice-probe"}
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return cfg, nil
}

// emptyService returns settings that name a service without any, in a file that is there
// until done is called. A service that the environment names can be replaced, not removed.
func emptyService() (settings string, done func(), err error) {
	if os.Getenv("PGSERVICE") == "" {
		return "", func() {}, nil
	}
	file, err := os.CreateTemp("", "sluice-probe-*.conf")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.Remove(file.Name()) }
	_, err = io.WriteString(file, "[probe]\n")
	if err := cmp.Or(err, file.Close()); err != nil {
		done()
		return "", nil, err
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(file.Name())
	return fmt.Sprintf(" service=probe servicefile='%s'", escaped), done, nil
}

// prober logs in.
type prober struct {
	endpoint health.Endpoint
	want     Config
	login    *pgconn.Config
}

func (p prober) Probe(ctx context.Context) error {
	return p.endpoint.Exchange(ctx, stepLogin, nil, func(conn net.Conn) error {
		w := &wire{Conn: health.Bounded(conn, maxAnswer)}
		if p.want.TLS == nil {
			return p.talk(ctx, w, w)
		}
		offered, err := offersTLS(ctx, w)
		if err != nil {
			return err
		}
		secure, err := startTLS(ctx, w, offered, p.want.TLS)
		if err != nil {
			return err
		}
		defer secure.CloseWrite()
		return p.talk(ctx, w, secure)
	})
}

// talk logs in over conn, which is w or TLS over it, and asks. The driver gets a context
// without an end, since the probe's ends the reads and writes of w.
func (p prober) talk(ctx context.Context, w *wire, conn net.Conn) error {
	t := &talk{ctx: ctx, want: p.want, intact: &intact{wire: w}}
	cfg, dials := p.login.Copy(), 0
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		if dials++; dials > 1 {
			return nil, errors.New("one connection a probe")
		}
		return conn, nil
	}
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		t.intact.r = bufio.NewReader(r)
		t.intact.check = pgproto3.NewFrontend(&t.intact.whole, io.Discard)
		return pgproto3.NewFrontend(t.intact, w)
	}
	driver, err := pgconn.ConnectConfig(context.Background(), cfg)
	if err != nil {
		return t.failed(stepLogin, err)
	}
	defer func() {
		driver.Close(context.Background())
		<-driver.CleanupDone()
	}()
	if p.want.Role == Any {
		return nil
	}
	return t.judge(driver)
}

// talk is one conversation through the driver.
type talk struct {
	ctx    context.Context // the probe's
	want   Config
	intact *intact
}

// judge asks for the role.
func (t *talk) judge(driver *pgconn.PgConn) error {
	results, err := driver.Exec(context.Background(), "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')").ReadAll()
	if err != nil {
		return t.failed(stepRole, err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 2 {
		return &health.Failure{Step: stepRole, Err: errors.New("an answer without a row of two columns")}
	}
	row := results[0].Rows[0]
	is := string(Primary)
	switch {
	case string(row[0]) == "t":
		is = string(Replica)
	case string(row[1]) == "on":
		is = "a primary that is read-only (default_transaction_read_only)"
	}
	if is != string(t.want.Role) {
		return &health.Failure{Step: stepRole, Err: fmt.Errorf("role is %s, want %s", is, t.want.Role), Saw: t.hush(fmt.Sprintf("%s, %s", row[0], row[1]))}
	}
	return nil
}

// failed words an error of the driver's, which quotes its configuration, by what is behind it.
func (t *talk) failed(step string, err error) error {
	var said *pgconn.PgError
	came := t.hush(string(t.intact.message))
	switch {
	case t.intact.failed == nil && errors.As(err, &said):
		return refusal{said.Severity, said.Code, said.Message}.failure(step, t.want)
	case errors.Is(t.intact.failed, errJunk):
		return junk(step, []byte(came))
	case errors.Is(t.intact.failed, errCut):
		return &health.Failure{Step: step, Err: errCut, Saw: came[:min(len(came), sawBytes)]}
	case t.intact.failed != nil:
		return health.Fail(t.ctx, step, t.intact.failed)
	case t.ctx.Err() != nil:
		return health.Fail(t.ctx, step, err)
	}
	inner := innermost(err)
	if text := inner.Error(); t.hush(text) != text {
		inner = errors.New(t.hush(text))
	}
	return &health.Failure{Step: step, Err: inner}
}

// hush takes the password out of what a server said. One that asks for it as it is, and is
// not what it seems, may repeat it.
func (t *talk) hush(text string) string { return health.Hush(text, t.want.Password) }

// innermost leaves out what the driver wraps around an error: user, database and host.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 0 {
			inner = all.Unwrap()[0]
		}
		if inner == nil {
			break
		}
		err = inner
	}
	if _, empty := err.(interface{ Unwrap() error }); empty { // the driver wraps nil too
		return errOutOfTurn
	}
	return err
}

var (
	errJunk      = errors.New("not a message")
	errOutOfTurn = errors.New("an answer out of turn")
)

// intact lets only messages through that the driver can read. Every other end of the
// conversation looks like a time-out to it, the one error that it returns and does no more
// about.
type intact struct {
	r    *bufio.Reader
	wire *wire

	check   *pgproto3.Frontend // reads whole, ahead of the driver's
	whole   bytes.Buffer
	message []byte // the last one, or what was read instead
	passed  int    // of it
	failed  error  // why there are no more: errJunk, or one of r
}

func (m *intact) Read(p []byte) (int, error) {
	if m.passed == len(m.message) && m.failed == nil {
		m.passed = 0
		if m.failed = m.next(); m.failed != nil {
			m.wire.Close()
		}
	}
	if m.failed != nil {
		return 0, timedOut{}
	}
	n := copy(p, m.message[m.passed:])
	m.passed += n
	return n, nil
}

// next reads a message: a letter, a length that counts itself, and so many bytes.
func (m *intact) next() error {
	m.message = make([]byte, 5, 64)
	n, err := io.ReadFull(m.r, m.message)
	m.message = m.message[:n]
	if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
		return errJunk
	}
	if err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(m.message[1:])
	if length < 4 || length > maxAnswer {
		m.message = append(m.message, buffered(m.r)...) // tells whose it is
		return errJunk
	}
	m.message = append(m.message, make([]byte, length-4)...)
	n, err = io.ReadFull(m.r, m.message[5:])
	if err != nil {
		m.message = m.message[:5+n]
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return errCut
		}
		return err
	}
	m.whole.Write(m.message)
	said, err := m.check.Receive()
	if err != nil {
		return errJunk
	}
	if more, ok := said.(*pgproto3.AuthenticationSASLContinue); ok {
		return checkRounds(more.Data)
	}
	return nil
}

// mostRounds is how many rounds of SCRAM a login may cost, some tenths of a second. The
// server says how many, 4096 by default; nothing ends them, the probe's deadline neither.
const mostRounds = 1_000_000

// checkRounds refuses a server's first message of SCRAM, "r=NONCE,s=SALT,i=ROUNDS", that asks
// for more. One that is not of that form is refused by the driver.
func checkRounds(first []byte) error {
	_, count, _ := bytes.Cut(first, []byte(",i="))
	if n, err := strconv.Atoi(string(count)); err == nil && n > mostRounds {
		return fmt.Errorf("it asks for %d rounds of SCRAM, at most %d are made (scram_iterations)", n, mostRounds)
	}
	return nil
}

// timedOut is what the driver takes for a time-out.
type timedOut struct{}

func (timedOut) Error() string   { return "no more messages" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }
