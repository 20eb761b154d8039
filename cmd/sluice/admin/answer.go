package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxQuoted is how much of what a client sent is repeated to it, in bytes.
const maxQuoted = 100

// refused is an error of ours, with what the client is told.
func refused(code, format string, args ...any) error {
	return &api.ControlError{Fault: api.Fault{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// invalid is the fault of a request that makes no sense. Its format says what was given and
// what is wanted.
func invalid(format string, args ...any) error { return refused(api.CodeInvalid, format, args...) }

// notFound tells of the usual cause, a name with a / that was not escaped.
func notFound(r *http.Request) error {
	return refused(api.CodeNotFound, "no such path: %s (in a name, write / as %%2F)", clip(r.URL.EscapedPath()))
}

// clip makes s short enough to repeat, and printable.
func clip(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// statusOf is the HTTP status of a fault. A code that is new to it is a failure of ours.
func statusOf(code string) int {
	switch code {
	case api.CodeInvalid:
		return http.StatusBadRequest
	case api.CodeUnauthorized:
		return http.StatusUnauthorized
	case api.CodeForbidden:
		return http.StatusForbidden
	case api.CodeNotFound:
		return http.StatusNotFound
	case api.CodeMethod:
		return http.StatusMethodNotAllowed
	case api.CodeTimeout:
		return http.StatusRequestTimeout
	case api.CodeConflict:
		return http.StatusConflict
	case api.CodeStale:
		return http.StatusPreconditionFailed
	case api.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case api.CodeMedia:
		return http.StatusUnsupportedMediaType
	case api.CodeConfig:
		return http.StatusUnprocessableEntity
	case api.CodeBusy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error. The connection of a request with a body ends with it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		defer linger(w, r)
	}
	fault := api.AsFault(err)
	switch fault.Code {
	case api.CodeUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
	case api.CodeBusy:
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, statusOf(fault.Code), api.Error{Error: fault})
}

// linger reads what is left of a body, for no longer than it takes a client to see the answer:
// to close a connection on what it still sends would take the answer away. Meanwhile the
// connection has to give way to others.
func linger(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(lingerTimeout))
	if rc.Flush() != nil {
		return
	}
	if c := connIn(r); c != nil {
		c.room.state(c, http.StateIdle)
	}
	io.CopyN(io.Discard, r.Body, maxLinger)
}

// writeJSON sends nothing before all of v is text, so that a failure can still be told.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("admin: answer: %w", err))
	}
	write(w, status, "application/json", append(b, '\n'))
}

// write sends a whole answer. With its length, a client can tell when it was cut.
func write(w http.ResponseWriter, status int, mediaType string, b []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b) // the client's loss, if it is gone
}

// unread is the error of a body that could not be read.
func unread(err error, limit int64) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refused(api.CodeTooLarge, "body too large: want at most %d bytes", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refused(api.CodeTimeout, "body too slow: want it within %v", bodyTimeout)
	}
	return invalid("body cut short: %v", err)
}
