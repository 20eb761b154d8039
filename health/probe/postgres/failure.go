package postgres

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/health"
)

const (
	junkBytes = 24  // of what is not PostgreSQL's, shown to the operator
	sawBytes  = 256 // of it, kept as evidence
)

// refusal is the part of an ErrorResponse that an operator needs.
type refusal struct{ severity, code, message string }

// parseRefusal reads the fields of an ErrorResponse: a letter and a text that ends with 0,
// and another 0 at the end. It is one if there is a message.
func parseRefusal(fields []byte) (said refusal, ok bool) {
	for len(fields) > 0 && fields[0] != 0 {
		text, rest, whole := bytes.Cut(fields[1:], []byte{0})
		if !whole {
			return refusal{}, false
		}
		switch fields[0] {
		case 'S':
			said.severity = string(text)
		case 'C':
			said.code = string(text)
		case 'M':
			said.message = string(text)
		}
		fields = rest
	}
	return said, len(fields) == 1 && said.message != ""
}

// String is what the server said, without what it may have left out.
func (r refusal) String() string {
	text := fmt.Sprintf("%.160s", r.message)
	if r.severity != "" {
		text = r.severity + ": " + text
	}
	if r.code != "" {
		text += " (SQLSTATE " + r.code + ")"
	}
	return text
}

// failure names what was said to a probe with this configuration.
func (r refusal) failure(step string, c Config) error {
	means, unsure := r.meaning(c)
	r = refusal{health.Hush(r.severity, c.Password), health.Hush(r.code, c.Password), health.Hush(r.message, c.Password)}
	return &health.Failure{Step: step, Err: fmt.Errorf("%s: %v", means, r), Saw: r.String(), Unsure: unsure}
}

// meaning is what an operator can do about it, and whether a working server says so too.
func (r refusal) meaning(c Config) (text string, unsure bool) {
	switch r.code {
	case "57P03":
		return "not ready", false
	case "57P01", "57P02":
		return "shutting down", false
	case "53300": // those kept for superusers and for replication are left then
		return "too many connections", true
	case "28P01":
		if c.Password == "" {
			return "it wants a password: set check.password", true
		}
		return "check.user or check.password is wrong", true
	case "28000": // no such role, or no line for it
		if c.TLS == nil {
			return "it does not let the probe in without TLS (pg_hba.conf)", true
		}
		return "it does not let the probe in (pg_hba.conf)", true
	case "3D000":
		return "no such database: set check.database", true
	case "42501":
		return "the probe's user may not connect", true
	}
	return "answered an error", false
}

// junk is the failure of an answer that is not PostgreSQL's.
func junk(step string, b []byte) error {
	return &health.Failure{
		Step: step,
		Err:  fmt.Errorf("not an answer of PostgreSQL: %q", b[:min(len(b), junkBytes)]),
		Saw:  string(b[:min(len(b), sawBytes)]),
	}
}

var errCut = errors.New("connection closed within an answer")
