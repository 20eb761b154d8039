package demo

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// logHandler turns the balancer's records into lines for people. `sluice run` writes the
// same records as JSON.
type logHandler struct {
	screen *screen
	attrs  []slog.Attr
}

// Enabled implements slog.Handler.
func (h logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	h.screen.event(r.Time, r.Message, detail(attrs))
	return nil
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = slices.Concat(h.attrs, attrs)
	return h
}

// WithGroup implements slog.Handler. The balancer opens no groups, and a line for people
// would not show them.
func (h logHandler) WithGroup(string) slog.Handler { return h }

// detail says which backend and why if the record is about one, else everything, the
// reason first.
func detail(attrs []slog.Attr) string {
	var backend, source, reason string
	rest := make([]string, 0, len(attrs)) // but the reason
	for _, a := range attrs {
		value := a.Value.Resolve().String()
		switch a.Key {
		case "backend":
			backend = value
		case "source":
			source = value
		case "reason":
			reason = value
			continue
		case "service": // there is only one
			continue
		}
		rest = append(rest, a.Key+"="+value)
	}
	switch {
	case reason == "":
		return strings.Join(rest, " ")
	case backend == "" && len(rest) > 0:
		return fmt.Sprintf("%s (%s)", reason, strings.Join(rest, " "))
	case backend == "":
		return reason
	}
	return fmt.Sprintf("%s by %s: %s", backend, source, reason)
}
