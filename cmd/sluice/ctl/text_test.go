package ctl

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                           "0s",
		0:                                      "0s",
		1:                                      "1µs",
		850 * time.Microsecond:                 "850µs",
		1500 * time.Microsecond:                "1.5ms",
		2 * time.Millisecond:                   "2ms",
		999 * time.Millisecond:                 "999ms",
		time.Second:                            "1s",
		9990 * time.Millisecond:                "9.9s",
		42 * time.Second:                       "42s",
		59999 * time.Millisecond:               "59s",
		time.Minute:                            "1m",
		5*time.Minute + 12*time.Second:         "5m12s",
		time.Hour:                              "1h",
		3*time.Hour + 12*time.Minute:           "3h12m",
		24 * time.Hour:                         "1d",
		75*time.Hour + 59*time.Minute:          "3d3h",
		400 * 24 * time.Hour:                   "400d",
		100*24*time.Hour - time.Nanosecond:     "99d23h",
		time.Hour - time.Nanosecond:            "59m59s",
		24*time.Hour - time.Nanosecond:         "23h59m",
		10*time.Millisecond - time.Nanosecond:  "10ms",
		time.Duration(1<<63 - 1).Truncate(1e9): "106751d",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999_999: "999999", 1_000_000: "1M", 2_345_678: "2.3M", 999_999_999: "1G", 123_456_789: "123M"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1 kB", 1234: "1.2 kB", 1_234_567_890: "1.2 GB", 99_949: "99.9 kB", 99_960: "100 kB", 999_999: "1 MB",
		1<<63 - 1: "9.2 EB",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 sessions", 1: "1 session", 2: "2 sessions"} {
		if got := plural(n, "session"); got != want {
			t.Errorf("plural(%d) = %s", n, got)
		}
	}
}

func TestWhatDoesNotPrintIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain - ASCII":     "plain - ASCII",
		"größer, 日本":        "größer, 日本",
		"\x1b[31mred":       `\x1b[31mred`,
		"a\r\nb\tc\x00\a":   `a\r\nb\tc\x00\a`,
		"\x7f\u009b2J":      `\x7f\u009b2J`,
		"abc\u202edef":      `abc\u202edef`,
		"zero\u200bwidth":   `zero\u200bwidth`,
		"bad \xff utf-8":    `bad \xff utf-8`,
		"a true \ufffd":     "a true \ufffd",
		"line\u2028break":   `line\u2028break`,
		"it's 'quoted'\x1b": `it's 'quoted'\x1b`,
		"":                  "",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanTextPrints(f *testing.F) {
	f.Add("\x1b]0;title\a", 7)
	f.Add("日本\u202e\xff'", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		c := clean(s)
		if strings.IndexFunc(c, func(r rune) bool { return !unicode.IsPrint(r) && r != '\ufffd' }) >= 0 {
			t.Errorf("clean(%q) = %q", s, c)
		}
		if n = max(0, n%100); width(cut(c, n)) > n || width(squeeze(c, n)) > n {
			t.Errorf("%q in %d columns: %q, %q", c, n, cut(c, n), squeeze(c, n))
		}
	})
}

func TestLongTextsAreShortenedToColumns(t *testing.T) {
	for _, c := range []struct {
		in            string
		n             int
		cut, squeezed string
	}{
		{"short", 10, "short", "short"},
		{"exactly-10", 10, "exactly-10", "exactly-10"},
		{"10.20.30.40:6379", 10, "10.20.30.…", "10.2…:6379"},
		{"backend-number-12", 8, "backend…", "bac…r-12"},
		{"日本語日本語", 7, "日本語…", "日本…語"},
		{"abcdef", 1, "…", "…"},
		{"abcdef", 0, "", ""},
		{"abcdef", 4, "abc…", "abc…"},
	} {
		if got := cut(c.in, c.n); got != c.cut {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.n, got, c.cut)
		}
		if got := squeeze(c.in, c.n); got != c.squeezed {
			t.Errorf("squeeze(%q, %d) = %q, want %q", c.in, c.n, got, c.squeezed)
		}
	}
}

func TestWidthCountsColumns(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "größe": 5, "日本": 4, "e\u0301": 1, "🙂": 2, "…": 1} {
		if got := width(in); got != want {
			t.Errorf("width(%q) = %d, want %d", in, got, want)
		}
	}
}
