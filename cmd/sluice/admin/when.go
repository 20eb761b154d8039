package admin

import (
	"strings"
	"time"
)

// when understands a time of the past, as a person gives it: RFC 3339; 15:04 or 15:04:05,
// the newest such time by now's clock; or a duration ago, -10m. "" is now.
func when(now time.Time, s string) (time.Time, error) {
	if s == "" {
		return now, nil
	}
	// A + that was not escaped in a query is a space.
	if t, err := time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1)); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return newest(now, t), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d <= 0 {
		return now.Add(d), nil
	}
	return time.Time{}, invalid("at %q: want RFC 3339, a time of day like 15:04, or a duration ago like -10m", clip(s))
}

// newest is the newest time up to now whose clock shows what clock's does.
func newest(now, clock time.Time) time.Time {
	t := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
	if t.After(now) { // a day is not always 24 hours
		t = time.Date(now.Year(), now.Month(), now.Day()-1, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
	}
	return t
}
