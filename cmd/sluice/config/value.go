package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads a duration of zero or more as Go writes them. Of numbers without a unit only 0 is one.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err == nil && d < 0:
		return 0, fmt.Errorf("%s is negative; allowed: 0s or more", formatDuration(d))
	case err == nil:
		return d, nil
	}
	if s != "" && strings.Trim(s, "0123456789.") == "" && len(s) <= maxQuoted {
		return 0, fmt.Errorf("%s has no unit; write %sms or %ss", s, s, s)
	}
	return 0, fmt.Errorf("%s is not a duration; write it like 250ms, 2s, 5m or 1h30m", quote(s))
}

// parseInt reads a plain decimal number, so that 010 is neither 8 nor 10.
func parseInt(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n > math.MaxInt32 || n < math.MinInt32):
		return 0, fmt.Errorf("%s is out of range; allowed: at most %d", quote(s), math.MaxInt32)
	case err != nil || strconv.FormatInt(n, 10) != s:
		return 0, fmt.Errorf("%s is not a plain whole number like 42", quote(s))
	}
	return int(n), nil
}

// parsePrefix reads a CIDR, or an address as the CIDR that holds only it. What cannot match a client as it was
// probably meant is refused: bits after the mask, zones, and IPv4 written as IPv6.
func parsePrefix(s string) (netip.Prefix, error) {
	none := netip.Prefix{}
	if strings.Contains(s, "%") {
		return none, fmt.Errorf("%s has a zone; write the prefix without %%", quote(s))
	}
	p, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return none, fmt.Errorf("%s is not a CIDR; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1", quote(s))
	case p.Addr().Is4In6() && p.Bits() >= 96:
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		return none, fmt.Errorf("%s is IPv4 written as IPv6; write %s", quote(s), p.Masked())
	case p != p.Masked():
		return none, fmt.Errorf("%s has bits after its mask; write %s", quote(s), p.Masked())
	}
	return p, nil
}

// StatusRange is a range of HTTP status codes, both ends included.
type StatusRange struct {
	First, Last int
}

// StatusRanges returns the status codes an http check takes for up. It is nil for other types.
func (c Check) StatusRanges() []StatusRange {
	ranges, _ := parseStatus(c.Status) // was valid, or there would be no Check
	return ranges
}

// parseStatus reads codes and ranges with commas between them: "200-299,304".
func parseStatus(s string) ([]StatusRange, error) {
	var ranges []StatusRange
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		r := StatusRange{statusCode(first), statusCode(last)}
		if r.First == 0 || r.Last < r.First {
			return nil, fmt.Errorf("%s is not a list of status codes; "+
				`write codes from 100 to 599 like "200", "200-399" or "200-299,401"`, quote(s))
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// statusCode returns 0 for what is no status code.
func statusCode(s string) int {
	n, err := parseInt(s)
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}
