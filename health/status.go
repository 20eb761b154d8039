package health

import (
	"fmt"
	"strings"
)

// minStatus and maxStatus are the status codes that HTTP has (RFC 9110, section 15).
const (
	minStatus = 100
	maxStatus = 599
)

// StatusRange is the HTTP status codes From to To, both included, from 100 to 599.
type StatusRange struct{ From, To int }

// String returns the range as ParseStatus reads it: "200-399", or "204" for one code.
func (r StatusRange) String() string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

func (r StatusRange) valid() bool {
	return minStatus <= r.From && r.From <= r.To && r.To <= maxStatus
}

// ParseStatus reads ranges and single codes separated by commas: "200-399",
// "200,204,301-302". Spaces around each are allowed. They are returned in the order
// written, at least one. Errors wrap [ErrConfig].
func ParseStatus(s string) ([]StatusRange, error) {
	var ranges []StatusRange
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		r := StatusRange{statusCode(from), statusCode(to)}
		if !r.valid() {
			return nil, fmt.Errorf("%w: status %q: want codes from %d to %d, such as 200-399 or 200,204",
				ErrConfig, part, minStatus, maxStatus)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// statusCode reads exactly three digits; 0 is none. strconv would take "+200" and "0200".
func statusCode(s string) int {
	if len(s) != 3 {
		return 0
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// statusList is the ranges as ParseStatus reads them.
func statusList(ranges []StatusRange) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}
