package ctl

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// refusal is an answer of the server that is not 2xx.
type refusal struct {
	fault api.Fault
	text  string // for people
}

func (r *refusal) Error() string { return r.text }

// refused reads a refusal.
func (c *client) refused(status int, raw []byte) error {
	var e api.Error
	if err := json.Unmarshal(raw, &e); err != nil || e.Error.Code == "" {
		return c.stranger(status, raw)
	}
	r := &refusal{fault: e.Error, text: clean(e.Error.Message)}
	switch e.Error.Code {
	case api.CodeUnauthorized:
		r.text = c.unauthorized()
	case api.CodeStale:
		r.text += "\nsomebody else changed it since: look again with 'sluice status', then repeat"
	}
	for _, f := range e.Error.Faults {
		r.text += "\n" + clean(f)
	}
	return r
}

// unauthorized tells apart that there was no token and that it was the wrong one, and where
// that came from: an old variable of the shell is the usual reason.
func (c *client) unauthorized() string {
	if c.token != "" {
		return fmt.Sprintf("%s (%s) does not take this token (%s): it must be admin.token of the running sluice's file", c.shown, c.source, c.tokenSource)
	}
	return fmt.Sprintf("%s (%s) asks for a token: use --token env:NAME or --token file:PATH, or set SLUICE_TOKEN; it is admin.token of the running sluice's file", c.shown, c.source)
}

// stranger is an answer that sluice does not give.
func (c *client) stranger(status int, raw []byte) error {
	if status == http.StatusBadRequest && bytes.Contains(raw, []byte("HTTPS")) {
		return fmt.Errorf("%s (%s) speaks TLS: use --admin https://%s", c.shown, c.source, c.address)
	}
	return fmt.Errorf("%s (%s) answers %d %s, and not as sluice does: is this its admin address? It said: %s",
		c.shown, c.source, status, http.StatusText(status), excerpt(raw))
}

// garbage is an answer that cannot be read.
func (c *client) garbage(raw []byte, err error) error {
	return fmt.Errorf("%s (%s) answers, but not as sluice does: is this its admin address? (%s) It said: %s",
		c.shown, c.source, clean(err.Error()), excerpt(raw))
}

// excerpt is the beginning of an answer.
func excerpt(raw []byte) string {
	const most = 120
	text := strings.TrimSpace(string(raw[:min(len(raw), most)]))
	if text == "" {
		return "nothing"
	}
	return clean(text)
}

// unreachable says why there was no answer, and what to do.
func (c *client) unreachable(ctx context.Context, err error) error {
	at := fmt.Sprintf("%s (%s)", c.shown, c.source)
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s did not answer within %s: is it the right address, and is the machine up? --timeout gives it longer", at, c.timeout)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Errorf("%s: %s\n--ca FILE says who signed its certificate", at, clean(errors.Unwrap(err).Error()))
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // net/http has no type for it
		return fmt.Errorf("%s does not speak TLS: write it without https://, --ca, --cert and --key", at)
	}
	cause := err
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no sluice listens on %s: %s\n%s", at, clean(op.Err.Error()), c.hint())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s closed the connection without an answer: is it sluice's admin address, and not a service's?", at)
	}
	if inner := errors.Unwrap(err); inner != nil {
		cause = inner // without the address, which stands there already
	}
	return fmt.Errorf("%s: %s", at, clean(cause.Error()))
}

// hint says what to look at when nothing listens.
func (c *client) hint() string {
	listen := c.address
	if c.network == "unix" {
		listen = c.shown
	}
	return fmt.Sprintf("is it running, and does its file have \"admin: {listen: %s}\"? Without admin: nothing listens.\nsay where it is with --admin ADDR, SLUICE_ADMIN or -c FILE", clean(listen))
}

// errInterrupted is what a person's interrupt ends a command with.
var errInterrupted = errors.New("interrupted")

// explainMissing turns "not found" into what there is instead.
func (c *client) explainMissing(ctx context.Context, r request, err error) error {
	if r.service == "" || !gone(err) {
		return err
	}
	if missing := c.missing(ctx, r); missing != nil {
		return missing
	}
	return err
}

// mustBeThere is for an empty answer about a name. Servers do not ask whether there is one: what
// happened to a service that is gone may be of interest. But "nothing" is a wrong answer to a
// name that was never there.
func (c *client) mustBeThere(ctx context.Context, r request) error {
	if r.service == "" {
		return nil
	}
	return c.missing(ctx, r)
}

// missing returns what is wrong with the names of a request, or nil if they are right, or if
// that cannot be known.
func (c *client) missing(ctx context.Context, r request) error {
	all, _, err := c.services(ctx)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(all, func(s api.Service) bool { return s.Name == r.service })
	if i < 0 {
		return &refusal{api.Fault{Code: api.CodeNotFound}, fmt.Sprintf("no service %s: there %s", quote(r.service), among("is", "are", names(all)))}
	}
	backends := backendNames(all[i])
	if r.backend == "" || slices.Contains(backends, r.backend) {
		return nil
	}
	return &refusal{api.Fault{Code: api.CodeNotFound}, fmt.Sprintf("no backend %s in %s: it %s", quote(r.backend), clean(r.service), among("has", "has", backends))}
}

// names are those of services.
func names(all []api.Service) []string {
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.Name
	}
	return list
}

// backendNames are those of a service's backends, the ones that are leaving included.
func backendNames(s api.Service) []string {
	list := make([]string, len(s.Backends))
	for i, b := range s.Backends {
		list[i] = b.Name
	}
	return list
}

// among lists names after a verb, the first of them only if there are many.
func among(one, many string, list []string) string {
	const most = 20
	verb := many
	switch len(list) {
	case 0:
		return verb + " none"
	case 1:
		verb = one
	}
	text := clean(strings.Join(list[:min(len(list), most)], ", "))
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return verb + " " + text
}
