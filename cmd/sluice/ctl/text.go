package ctl

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// clean makes everything visible that does not print: control characters could move the
// cursor or retitle a window, marks of direction could make a text read as another.
func clean(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += size
	}
	return b.String()
}

// hidden includes what stands for a byte that is no UTF-8.
func hidden(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// quote is a name in a sentence.
func quote(s string) string { return `"` + clean(s) + `"` }

// width is how many columns a clean text takes on a terminal.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth knows the large blocks of the East Asian wide characters (UAX 11) and of
// symbols drawn as pictures; an error of one column costs a crooked line.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens a clean text to n columns, at its end.
func cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return head(s, n-1) + "…"
}

// squeeze shortens a clean text to n columns in its middle: names and addresses differ at
// both ends.
func squeeze(s string, n int) string {
	if width(s) <= n || n < 5 {
		return cut(s, n)
	}
	runes, tail := []rune(s), 0
	i := len(runes)
	for i > 0 && tail+runeWidth(runes[i-1]) <= n/2 {
		i--
		tail += runeWidth(runes[i])
	}
	return head(s, n-1-tail) + "…" + string(runes[i:])
}

// head is as much of the beginning as n columns hold.
func head(s string, n int) string {
	for i, r := range s {
		if n -= runeWidth(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// short is a duration in at most six characters or so.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0s"
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", max(1, d.Microseconds()))
	case d < 10*time.Millisecond:
		return trimZero(fmt.Sprintf("%.1f", d.Seconds()*1e3)) + "ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return trimZero(fmt.Sprintf("%.1f", d.Truncate(100*time.Millisecond).Seconds())) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "m")
	case d < 100*day:
		return two(d, day, "d", time.Hour, "h")
	}
	return fmt.Sprintf("%dd", d/day)
}

// two writes a duration in two units, the second only if there is any of it.
func two(d, large time.Duration, l string, small time.Duration, s string) string {
	text := strconv.Itoa(int(d/large)) + l
	if rest := d % large / small; rest > 0 {
		text += strconv.Itoa(int(rest)) + s
	}
	return text
}

// trimZero spares the .0 of round numbers.
func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

// count is a number for a table.
func count(n int64) string {
	if n < 1e6 {
		return strconv.FormatInt(n, 10)
	}
	return scaled(float64(n), "", []string{"", "k", "M", "G", "T"})
}

// size is a number of bytes.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return scaled(float64(n), " ", []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"})
}

// scaled divides by thousands, as disks and networks are counted, until at most three digits
// are left. Rounding is part of that: 999,999 is 1 M and not 1000 k.
func scaled(f float64, gap string, units []string) string {
	i := 0
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if f < 99.95 {
		return trimZero(fmt.Sprintf("%.1f", f)) + gap + units[i]
	}
	return fmt.Sprintf("%.0f", f) + gap + units[i]
}

// plural is a number with its noun.
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// goOn is what sessions do that nobody ends.
func goOn(n int64) string {
	if n == 1 {
		return "goes on"
	}
	return "go on"
}
