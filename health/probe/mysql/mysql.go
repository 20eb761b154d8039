package mysql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/health"
)

// Role is what a server has to be.
type Role uint8

const (
	Any     Role = iota // whatever answers
	Primary             // takes writes: read_only and super_read_only are off
	Replica             // read_only or super_read_only is on
)

// String returns "any", "primary" or "replica".
func (r Role) String() string {
	switch r {
	case Primary:
		return "primary"
	case Replica:
		return "replica"
	default:
		return "any"
	}
}

// Config is what a probe says and wants. The zero value reads the greeting and closes,
// which does harm: see [Warning].
type Config struct {
	// User is who logs in; "" is no login. It needs no right beyond that.
	User string
	// Password may be "". It never shows in an error, nor in what an error keeps of an
	// answer. It wants a User.
	Password string
	// Role other than Any wants a User.
	Role Role
	// TLS is nil for plain text. Without a ServerName the host of the address is asked for.
	// A server that offers no TLS fails. It wants a User, as TLS begins with a login here.
	TLS *tls.Config
}

// The steps of a probe, as errors name them.
const (
	stepGreeting = "mysql greeting"
	stepTLS      = "mysql tls"
	stepLogin    = "mysql login"
	stepPing     = "mysql ping"
	stepRole     = "mysql role"
)

// lateTime is how long a probe without a user waits for a refusal after the greeting.
const lateTime = 250 * time.Millisecond

type prober struct {
	endpoint health.Endpoint
	config   Config
	kept     kept
}

// New returns a prober that makes one connection a probe. With a user it passes if the
// server lets it in and answers COM_PING, or has the role that is asked for; without one,
// if the server greets as one that takes clients. It may keep a connection between probes,
// and so is an io.Closer. Errors wrap [health.ErrConfig].
func New(e health.Endpoint, c Config) (health.Prober, error) {
	if c.Role > Replica {
		return nil, fmt.Errorf("%w: role %d: want any, primary or replica", health.ErrConfig, c.Role)
	}
	if c.User == "" {
		wants := map[string]bool{"password": c.Password != "", "role": c.Role != Any, "tls": c.TLS != nil}
		for _, setting := range []string{"password", "role", "tls"} {
			if wants[setting] {
				return nil, fmt.Errorf("%w: %s: want a user too", health.ErrConfig, setting)
			}
		}
	}
	if e.Network != "unix" {
		if _, _, err := net.SplitHostPort(e.Address); err != nil {
			return nil, fmt.Errorf("%w: address %q: want host:port", health.ErrConfig, e.Address)
		}
	}
	c.TLS = e.Secure(c.TLS)
	return &prober{endpoint: e, config: c}, nil
}

// Warning is what to log at the start for a check with this configuration: what it does to
// the server without a user. It is "" with one.
func Warning(c Config) string {
	if c.User != "" {
		return ""
	}
	return "a mysql check without a user is an aborted handshake to the server each time: " +
		"after max_connect_errors of them without a login between it blocks this host for all clients (error 1129); set check.user"
}

func (p *prober) Probe(ctx context.Context) error {
	if conn, since := p.kept.take(); conn != nil {
		// Whatever it says, unless that is the wanted answer, may be old: the server may have
		// been restarted, or have given it up. So a new one decides, in what time is left.
		err := p.converse(ctx, conn, since)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	conn, err := p.endpoint.Dial(ctx)
	if err != nil {
		return err
	}
	return p.converse(ctx, conn, time.Now())
}

// Close ends the connection that is kept, if any. The prober may be used again.
func (p *prober) Close() error {
	if conn, _ := p.kept.take(); conn != nil {
		return conn.Close()
	}
	return nil
}

// converse is a probe over conn, which was made at that time. It keeps one over which
// nothing has come before the deadline.
func (p *prober) converse(ctx context.Context, conn net.Conn, made time.Time) error {
	return health.Converse(ctx, conn, func() (keep bool, err error) {
		w := newWire(conn, p.config.TLS)
		if err := w.greet(); err != nil {
			keep = errors.Is(err, os.ErrDeadlineExceeded) && len(w.answer) == 0 && p.kept.put(conn, made)
			return keep, p.failure(ctx, w, stepGreeting, err)
		}
		return false, p.greeted(ctx, w)
	})
}

// greeted goes on after the greeting.
func (p *prober) greeted(ctx context.Context, w *wire) error {
	if p.config.User == "" {
		return p.bare(ctx, w)
	}
	defer w.end()
	if step, err := p.talk(w); err != nil {
		return p.failure(ctx, w, step, err)
	}
	return nil
}

// bare ends a probe without a user. MariaDB judges the client that a PROXY header names only
// once it has greeted, so that a blocked one shows after the greeting alone.
func (p *prober) bare(ctx context.Context, w *wire) error {
	if len(p.endpoint.Preamble) == 0 {
		return nil
	}
	if err := w.lateRefusal(ctx); err != nil {
		return p.failure(ctx, w, stepGreeting, err)
	}
	return nil
}

// talk logs in, asks, and says COM_QUIT. Its error comes with the step that failed.
func (p *prober) talk(w *wire) (step string, err error) {
	step = stepLogin
	defer func() {
		// The driver panics on lengths beyond a packet's end, and one backend's bytes must
		// not end the process for all.
		if recover() != nil {
			err = errMalformed
		}
	}()
	private := p.config.TLS != nil || p.endpoint.Network == "unix"
	s, err := login(w, p.config.User, p.config.Password, private)
	if err != nil {
		return step, err
	}
	defer s.close()
	if p.config.Role == Any {
		step = stepPing
		return step, s.ping()
	}
	step = stepRole
	is, err := s.settings()
	if err != nil {
		return step, err
	}
	return step, judge(p.config.Role, is)
}
