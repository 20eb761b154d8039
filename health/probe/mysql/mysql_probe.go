package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/sluicelb/sluice/health"
)

// Role is what a backend has to be.
type Role string

// The roles.
const (
	Any     Role = ""        // whatever it is
	Primary Role = "primary" // read_only and super_read_only are off
	Replica Role = "replica" // one of them is on
)

// Config is what a probe asks and wants. The zero value reads the greeting.
type Config struct {
	User     string // "" does not log in; see Warning
	Password string
	Role     Role        // needs a user
	TLS      *tls.Config // needs a user; without a ServerName the endpoint's host is asked for
}

// Warning returns what an operator should know of a probe by c before it runs for a day;
// "" is nothing.
func Warning(c Config) string {
	if c.User != "" {
		return ""
	}
	return "a mysql check without a user breaks off its handshakes: the server counts them against max_connect_errors and may then block this address; set check.user"
}

const (
	maxAnswer = 64 << 10 // of all that a probe reads, in bytes
	stepLogin = "mysql login"
	stepRole  = "mysql role"
)

// New returns a prober of one backend. Errors wrap health.ErrConfig: a role, a password or
// TLS without a user, or an unknown role.
func New(e health.Endpoint, c Config) (health.Prober, error) {
	switch {
	case c.Role != Any && c.Role != Primary && c.Role != Replica:
		return nil, fmt.Errorf("%w: role %q: want primary or replica", health.ErrConfig, c.Role)
	case c.User == "" && (c.Role != Any || c.Password != "" || c.TLS != nil):
		return nil, fmt.Errorf("%w: a role, a password or TLS needs a user to log in as", health.ErrConfig)
	case c.User == "":
		return greeter{e}, nil
	}
	login := mysql.NewConfig()
	login.User, login.Passwd, login.TLS = c.User, c.Password, e.Secure(c.TLS)
	login.Net, login.Addr = "probe", "backend"
	login.MaxAllowedPacket, login.Logger = maxAnswer, &mysql.NopLogger{}
	return prober{e, c.Role, login}, nil
}

// prober logs in.
type prober struct {
	endpoint health.Endpoint
	role     Role
	login    *mysql.Config
}

func (p prober) Probe(ctx context.Context) error {
	var dialled error // the endpoint's error, in its own words
	cfg := p.login.Clone()
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var conn net.Conn
		if conn, dialled = p.endpoint.Dial(ctx); dialled != nil {
			return nil, dialled
		}
		return health.Bounded(conn, maxAnswer), nil
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return &health.Failure{Step: stepLogin, Err: err}
	}
	conn, err := connector.Connect(ctx)
	switch {
	case dialled != nil:
		return dialled
	case err != nil:
		return failed(ctx, stepLogin, err)
	}
	defer conn.Close() // says that it quits
	if p.role == Any {
		return failed(ctx, "mysql ping", conn.(driver.Pinger).Ping(ctx))
	}
	return p.judge(ctx, conn.(driver.QueryerContext))
}

// judge asks for the role. MariaDB has no super_read_only, so it is not asked for by name.
func (p prober) judge(ctx context.Context, conn driver.QueryerContext) error {
	rows, err := conn.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only')", nil)
	if err != nil {
		return failed(ctx, stepRole, err)
	}
	defer rows.Close()
	var on, saw []string
	for row := make([]driver.Value, 2); ; {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return failed(ctx, stepRole, err)
		}
		name, value := text(row[0]), text(row[1])
		saw = append(saw, name+"="+value)
		if value != "OFF" && value != "0" { // newer MariaDBs have several kinds of on
			on = append(on, name)
		}
	}
	if len(saw) == 0 {
		return &health.Failure{Step: stepRole, Err: errors.New("it knows no read_only")}
	}
	is, because := Primary, "read_only is off"
	if len(on) > 0 {
		is, because = Replica, strings.Join(on, " and ")+" is on"
	}
	if is != p.role {
		return &health.Failure{Step: stepRole, Err: fmt.Errorf("role is %s (%s), want %s", is, because, p.role), Saw: strings.Join(saw, ", ")}
	}
	return nil
}

func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// meanings are the errors that an operator can do something about, by number.
var meanings = map[uint16]string{
	1040: "too many connections",
	1045: "check.user or check.password is wrong",
	1053: "shutting down",
	1129: "it blocks this address, after too many handshakes that were broken off (FLUSH HOSTS lets it in again)",
	1130: "it lets in nobody from this address",
	1203: "too many connections of the probe's user",
	1226: "the probe's user has used up its connections",
}

// failed words an error of the driver's; nil is none.
func failed(ctx context.Context, step string, err error) error {
	var answer *mysql.MySQLError
	var cert *tls.CertificateVerificationError
	var of net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return serverError(step, answer.Number, answer.Message)
	case errors.As(err, &cert):
		return &health.Failure{Step: step, Err: cert}
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return health.Fail(ctx, step, io.EOF)
	case ctx.Err() == nil && !errors.As(err, &of):
		return &health.Failure{Step: step, Err: err}
	}
	return health.Fail(ctx, step, err)
}

// serverError is an error that the server has answered.
func serverError(step string, number uint16, message string) error {
	answer := fmt.Sprintf("ERROR %d: %.120s", number, message)
	if means, ok := meanings[number]; ok {
		return &health.Failure{Step: step, Err: fmt.Errorf("%s (%s)", means, answer), Saw: answer}
	}
	return &health.Failure{Step: step, Err: errors.New(answer), Saw: answer}
}
