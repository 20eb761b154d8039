package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/sluicelb/sluice/health"
)

// Role is what a backend has to be.
type Role string

// The roles.
const (
	Any     Role = "" // whatever it is
	Master  Role = "master"
	Replica Role = "replica" // one whose link to its master is up
)

// Config is what a probe asks and wants. The zero value sends PING in plain text.
type Config struct {
	User     string // of an ACL; "" is the default user
	Password string // "" sends no AUTH
	Role     Role
	TLS      *tls.Config // nil is plain text; without a ServerName the endpoint's host is asked for
}

// maxAnswer bounds all that a probe reads, in bytes.
const maxAnswer = 64 << 10

type prober struct {
	endpoint health.Endpoint
	cfg      Config
}

// New returns a prober of one backend. Errors wrap health.ErrConfig: a user without a
// password, or an unknown role.
func New(e health.Endpoint, c Config) (health.Prober, error) {
	switch {
	case c.User != "" && c.Password == "":
		return nil, fmt.Errorf("%w: user %q needs a password", health.ErrConfig, c.User)
	case c.Role != Any && c.Role != Master && c.Role != Replica:
		return nil, fmt.Errorf("%w: role %q: want master or replica", health.ErrConfig, c.Role)
	}
	c.TLS = e.Secure(c.TLS)
	return prober{e, c}, nil
}

func (p prober) Probe(ctx context.Context) error {
	return p.endpoint.Exchange(ctx, "redis tls", p.cfg.TLS, func(conn net.Conn) error {
		conn = health.Bounded(conn, maxAnswer)
		return talk{ctx, conn, bufio.NewReader(conn), p.cfg.Password}.probe(p.cfg)
	})
}

// talk is a probe's conversation.
type talk struct {
	ctx  context.Context
	conn net.Conn
	r    *bufio.Reader
	// secret is taken out of all that is told: some servers repeat what they were sent.
	secret string
}

func (t talk) probe(c Config) error {
	if c.Password != "" {
		auth := []string{"AUTH", c.Password}
		if c.User != "" {
			auth = []string{"AUTH", c.User, c.Password}
		}
		if r, err := t.command("redis auth", auth...); err != nil {
			return err
		} else if r.text != "OK" {
			return t.unexpected("redis auth", "+OK", r)
		}
	}
	r, err := t.command("redis ping", "PING")
	if err != nil {
		return err
	}
	if r.kind != '+' || r.text != "PONG" {
		return t.unexpected("redis ping", "+PONG", r)
	}
	if c.Role == Any {
		return nil
	}
	return t.role(c.Role)
}

// role asks for the role.
func (t talk) role(want Role) error {
	const step = "redis role"
	r, err := t.command(step, "ROLE")
	if err != nil {
		return err
	}
	if len(r.items) == 0 {
		return t.unexpected(step, "a list", r)
	}
	is := r.items[0].text
	if is == "slave" { // the protocol's word
		is = string(Replica)
	}
	if is != string(want) {
		is = t.hush(is)
		return &health.Failure{Step: step, Err: fmt.Errorf("role is %s, want %s", is, want), Saw: is}
	}
	if want != Replica {
		return nil
	}
	// slave, the master's host and port, the state of the link, an offset
	if len(r.items) < 4 {
		return t.unexpected(step, "the state of the link to the master", r)
	}
	if link := r.items[3].text; link != "connected" {
		return &health.Failure{Step: step, Err: fmt.Errorf("its link to the master is not up (%s): what it has may be old", t.hush(link)), Saw: t.hush(link)}
	}
	return nil
}

// command sends one command and reads its reply, which is not an error.
func (t talk) command(step string, words ...string) (reply, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, sent := io.WriteString(t.conn, b.String())
	// What the server said before it closed tells more than that the write failed.
	r, err := readReply(t.r)
	bad := badReply{}
	switch {
	case errors.As(err, &bad):
		more, _ := t.r.Peek(t.r.Buffered())
		saw := bad.came + string(more) // as one, for a secret on the seam
		bad.came = t.hush(bad.came)
		return reply{}, &health.Failure{Step: step, Err: bad, Saw: t.hush(saw)}
	case err != nil && sent != nil:
		return reply{}, health.Fail(t.ctx, step, sent)
	case err != nil:
		return reply{}, health.Fail(t.ctx, step, err)
	case r.kind == '-':
		return reply{}, t.refused(step, r.text)
	}
	return r, nil
}

func (t talk) hush(text string) string { return health.Hush(text, t.secret) }

// unexpected is a reply that is none of those that may come.
func (t talk) unexpected(step, want string, r reply) error {
	saw := string(r.kind) + t.hush(r.text)
	return &health.Failure{Step: step, Err: fmt.Errorf("answered %.60q, want %s", saw, want), Saw: saw}
}

// meanings are the errors that an operator can do something about, by their code. Those that
// are unsure are about this client alone: a working server says them too.
var meanings = []struct {
	code, means string
	unsure      bool
}{
	{"LOADING", "it is loading its data", false},
	{"MASTERDOWN", "a replica without its master, which may serve nothing", false},
	{"NOAUTH", "it wants a password: set check.password", true},
	{"WRONGPASS", "check.user or check.password is wrong", true},
	{"NOPERM", "the probe's user may not do that: ACL SETUSER ... +ping +role", true},
	{"DENIED", "protected mode: it answers to this machine only, or not to this address", false},
	{"BUSY", "a script runs and blocks it", false},
	{"MISCONF", "it cannot save, and so takes no writes", false},
	{"ERR max number of clients", "all its clients' places are taken", true},
	{"ERR Client sent AUTH, but no password is set", "it has no password: leave check.password out", true},
	{"ERR AUTH", "it has no password: leave check.password out", true},
	{"ERR invalid password", "check.password is wrong", true},
}

// refused is the failure of an error reply.
func (t talk) refused(step, text string) error {
	shown := t.hush(text)
	f := &health.Failure{Step: step, Err: fmt.Errorf("answered an error: %.120s", shown), Saw: "-" + shown}
	for _, m := range meanings {
		if strings.HasPrefix(text, m.code) {
			f.Err, f.Unsure = fmt.Errorf("%s (%.120s)", m.means, shown), m.unsure
			break
		}
	}
	return f
}
