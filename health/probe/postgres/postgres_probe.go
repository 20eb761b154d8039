package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

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

// maxAnswer bounds all that a probe reads, in bytes.
const maxAnswer = 256 << 10

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
	}
	login, err := loginConfig(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", health.ErrConfig, err)
	}
	return prober{e, c.Role, login}, nil
}

// loginConfig returns the driver's configuration, of which every part that it would take
// from the environment is ours.
func loginConfig(c Config) (*pgconn.Config, error) {
	cfg, err := pgconn.ParseConfig("host=127.0.0.1 port=5432 user=probe sslmode=disable target_session_attrs=any passfile=/dev/null connect_timeout=0")
	if err != nil {
		return nil, err
	}
	cfg.User, cfg.Password, cfg.Database = c.User, c.Password, c.Database
	cfg.TLSConfig, cfg.Fallbacks, cfg.SSLNegotiation = c.TLS, nil, "postgres"
	cfg.RuntimeParams = map[string]string{"application_name": "sluice-probe"}
	cfg.ValidateConnect, cfg.ConnectTimeout = nil, 0
	cfg.MaxProtocolMessageBodyLen = maxAnswer
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return cfg, nil
}

// prober logs in.
type prober struct {
	endpoint health.Endpoint
	role     Role
	login    *pgconn.Config
}

func (p prober) Probe(ctx context.Context) error {
	var dialled error // the endpoint's error, in its own words
	cfg, dials := p.login.Copy(), 0
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if dials++; dials > 1 {
			return nil, errors.New("one connection a probe")
		}
		var conn net.Conn
		if conn, dialled = p.endpoint.Dial(ctx); dialled != nil {
			return nil, dialled
		}
		return health.Bounded(conn, maxAnswer), nil
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	switch {
	case dialled != nil:
		return dialled
	case err != nil:
		return failed(ctx, stepLogin, err)
	}
	defer func() {
		conn.Close(ctx)
		<-conn.CleanupDone()
	}()
	if p.role == Any {
		return nil
	}
	return p.judge(ctx, conn)
}

// judge asks for the role.
func (p prober) judge(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')").ReadAll()
	if err != nil {
		return failed(ctx, stepRole, err)
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
	if is != string(p.role) {
		return &health.Failure{Step: stepRole, Err: fmt.Errorf("role is %s, want %s", is, p.role), Saw: fmt.Sprintf("%s, %s", row[0], row[1])}
	}
	return nil
}

// meanings are the errors that an operator can do something about, by SQLSTATE.
var meanings = map[string]string{
	"57P03": "not ready",
	"57P01": "shutting down",
	"53300": "too many connections",
	"28P01": "check.user or check.password is wrong",
	"28000": "it does not let the probe in (pg_hba.conf)",
	"3D000": "no such database: set check.database",
	"42501": "the probe's user may not connect",
}

// failed words an error of the driver's.
func failed(ctx context.Context, step string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		answer := fmt.Sprintf("%s: %.120s (SQLSTATE %s)", pg.Severity, pg.Message, pg.Code)
		if means, ok := meanings[pg.Code]; ok {
			return &health.Failure{Step: step, Err: fmt.Errorf("%s: %s", means, answer), Saw: answer}
		}
		return &health.Failure{Step: step, Err: errors.New(answer), Saw: answer}
	}
	if cert := (*tls.CertificateVerificationError)(nil); errors.As(err, &cert) {
		return &health.Failure{Step: step, Err: cert}
	}
	if ctx.Err() == nil && !isNet(err) {
		return &health.Failure{Step: step, Err: errors.New(innermost(err))}
	}
	return health.Fail(ctx, step, err)
}

// isNet tells whether an error is the connection's.
func isNet(err error) bool {
	var of net.Error
	return errors.As(err, &of)
}

// innermost leaves out what the driver wraps around an error: user, database and host.
func innermost(err error) string {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if err = e.Unwrap(); err != nil {
				continue
			}
			return e.(error).Error()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				err = all[len(all)-1]
				continue
			}
		}
		return strings.TrimSpace(err.Error())
	}
}
