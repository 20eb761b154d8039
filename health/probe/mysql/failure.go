package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/health"
)

const (
	junkBytes  = 24  // of an answer that is not MySQL's, shown to the operator
	shortBytes = 120 // of words of a backend's own, within an error
)

var (
	errUnwanted    = errors.New("unexpected answer")
	errUnsupported = errors.New("the user's authentication plugin is not supported")
)

// failure words why a step failed, and keeps what came instead of the wanted answer.
func (p *prober) failure(ctx context.Context, w *wire, step string, err error) error {
	if w.failed != nil {
		err = w.failed // the driver's is no more than its echo
	}
	saw := p.hush(string(w.answer))
	f := &health.Failure{Step: step, Err: err, Saw: saw}
	var (
		refused   refusal
		handshake tlsError
		role      wrongRole
	)
	switch {
	case errors.As(err, &handshake):
		return health.Fail(ctx, stepTLS, handshake.err)
	case errors.Is(err, errNoTLS), errors.Is(err, errEarly):
		f.Step, f.Saw = stepTLS, ""
	case errors.Is(err, errNotMySQL):
		f.Err = fmt.Errorf("%w: %q", errNotMySQL, saw[:min(len(saw), junkBytes)])
	case errors.Is(err, errMalformed):
		f.Err = fmt.Errorf("%w: %s", errMalformed, short(saw))
	case w.failed != nil:
		if err := health.Fail(ctx, step, err); errors.As(err, &f) {
			f.Saw = saw
		}
	case w.refused(&refused):
		f.Saw = p.hush(refused.text)
		means, unsure := meaning(refused.code, f.Saw)
		f.Err, f.Unsure = errors.New(means), unsure
	case errors.Is(err, errUnsupported):
		f.Saw, f.Unsure = p.hush(w.plugin), true
		f.Err = fmt.Errorf("%w: %s (or the server feigns one, and there is no such user); want one of %s", errUnsupported, short(f.Saw), plugins)
	case errors.As(err, &role):
		f.Saw = role.saw
	default:
		f.Err = fmt.Errorf("%w: %s", errUnwanted, short(saw))
	}
	return f
}

// plugins are those that need no password as it is, as the driver has them.
const plugins = "mysql_native_password, caching_sha2_password, client_ed25519"

// refused tells whether the last packet is a refusal, and which.
func (w *wire) refused(r *refusal) bool {
	got, err := parseRefusal(w.answer)
	*r = got
	return err == nil
}

// meaning words a refusal by its code: what it means, or what to do. It is unsure if a
// server that works says so to a probe that may not log in, or finds no room. The codes are
// those of MySQL, from 4000 those of MariaDB.
func meaning(code uint16, text string) (means string, unsure bool) {
	switch code {
	case 1040:
		return "too many connections (1040): max_connections is used up", true
	case 1044, 1049:
		return fmt.Sprintf("the user may not use its database, or there is none (%d): %s", code, short(text)), true
	case 1045, 1698:
		return fmt.Sprintf("wrong user or password, or not from this host (%d): see check.user and check.password", code), true
	case 1053:
		return "the server is shutting down (1053)", false
	case 1129:
		return "this host is blocked after too many connection errors (1129): " +
			"FLUSH HOSTS unblocks it, checks without a user are a usual cause", true
	case 1130:
		return "the server has no user that may log in from this host (1130)", true
	case 1203, 1226:
		return fmt.Sprintf("the user has no connection or query left (%d): %s", code, short(text)), true
	case 1251, 1524, 2059:
		return fmt.Sprintf("%v (%d): %s", errUnsupported, code, short(text)), true
	case 1820, 1862:
		return fmt.Sprintf("the user's password has expired (%d)", code), true
	case 3118, 4151:
		return fmt.Sprintf("the user is locked (%d)", code), true
	case 3159:
		return "the server wants TLS (3159): see check.tls", true
	}
	return fmt.Sprintf("refused (%d): %s", code, short(text)), false
}

// hush takes the password out of what a backend sent.
func (p *prober) hush(s string) string { return health.Hush(s, p.config.Password) }

// short makes words of a backend fit for an error.
func short(s string) string {
	if len(s) > shortBytes {
		return fmt.Sprintf("%q...", s[:shortBytes])
	}
	return fmt.Sprintf("%q", s)
}
