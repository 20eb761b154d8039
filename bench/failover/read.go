package failover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Format names the JSON report's format and its version.
const Format = formatName + " 1"

const formatName = "l4bench failover"

// ErrFormat means that what was read is no report that this program can read.
var ErrFormat = errors.New("failover: not a report of l4bench failover")

// Bounds of a report that is read.
const (
	mostBytes   = 256 << 20
	mostNames   = 100
	mostRuns    = mostRounds * mostNames
	mostTalked  = 1_000_000
	mostObserve = 100 * time.Hour
)

// MarshalJSON writes the format with the rest.
func (r Result) MarshalJSON() ([]byte, error) {
	type fields Result // without this method
	r.Format = Format
	return json.Marshal(fields(r))
}

// ReadResult reads a JSON report. An error wraps ErrFormat, or is rd's.
func ReadResult(rd io.Reader) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(rd, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%w: it has more than %d MB", ErrFormat, mostBytes>>20)
	}
	if err := checkFormat(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return r, nil
}

// checkFormat tells what the text is instead of a report of this format.
func checkFormat(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("it is empty")
	}
	var head struct {
		Format  *string         `json:"format"`
		Samples json.RawMessage `json:"samples"`
	}
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(text, &head); {
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(bytes.TrimRight(text, " \t\r\n"))):
		return fmt.Errorf("it is cut off after %d bytes: %w", len(text), err)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON, at byte %d: %w", syntax.Offset, err)
	case err != nil:
		return err
	case head.Format == nil && head.Samples != nil:
		return errors.New("it is a report of l4bench compare")
	case head.Format == nil:
		return fmt.Errorf("it has no \"format\": %q is expected", Format)
	case *head.Format == Format:
		return nil
	case strings.HasPrefix(*head.Format, formatName):
		return fmt.Errorf("its format is %q: this program reads %q; measure again with this one", *head.Format, Format)
	default:
		return fmt.Errorf("its format is %q: %q is expected", *head.Format, Format)
	}
}

// check holds a report to what the rest of the package relies on.
func (r *Result) check() error {
	switch {
	case r.Rounds < 1 || r.Rounds > mostRounds:
		return fmt.Errorf("rounds %d: 1 to %d are possible", r.Rounds, mostRounds)
	case r.Backends < 0 || r.Backends > mostBackends:
		return fmt.Errorf("backends %d: 0 to %d are possible", r.Backends, mostBackends)
	case len(r.Balancers) == 0 || len(r.Balancers) > mostNames:
		return fmt.Errorf("%d balancers: 1 to %d are possible", len(r.Balancers), mostNames)
	case len(r.Faults) == 0 || len(r.Faults) > mostNames:
		return fmt.Errorf("%d faults: 1 to %d are possible", len(r.Faults), mostNames)
	case len(r.Runs) > mostRuns:
		return fmt.Errorf("%d runs: at most %d are possible", len(r.Runs), mostRuns)
	}
	balancers, faults := make(map[string]bool), make(map[string]bool)
	for _, b := range r.Balancers {
		if b.Name == "" || balancers[b.Name] {
			return fmt.Errorf("balancer %q: each needs a name of its own", b.Name)
		}
		balancers[b.Name] = true
	}
	for _, f := range r.Faults {
		if f == "" || faults[f] {
			return fmt.Errorf("fault %q: each needs a name of its own", f)
		}
		faults[f] = true
	}
	for i, run := range r.Runs {
		if !balancers[run.Balancer] || !faults[run.Fault] {
			return fmt.Errorf("runs[%d]: balancer %q or fault %q is not in the report's lists", i, run.Balancer, run.Fault)
		}
		if err := run.check(r.Backends); err != nil {
			return fmt.Errorf("runs[%d]: %w", i, err)
		}
	}
	return nil
}

// check holds one run to what charts can show.
func (run Run) check(backends int) error {
	switch {
	case run.Round < 1 || run.Round > mostRounds:
		return fmt.Errorf("round %d: 1 to %d are possible", run.Round, mostRounds)
	case run.Length < 0 || run.Length > mostObserve:
		return fmt.Errorf("length_ns %d: 0 to %v are possible", run.Length, mostObserve)
	case len(run.Buckets) > int(mostObserve/BucketLength):
		return fmt.Errorf("%d buckets are too many", len(run.Buckets))
	case len(run.Talks) > mostTalked:
		return fmt.Errorf("%d long sessions are too many", len(run.Talks))
	}
	for key, v := range run.Values {
		if v < 0 {
			return fmt.Errorf("value %s is %g: it must not be less than 0", key, v)
		}
	}
	for i, out := range run.Outages {
		if out.Backend < 0 || out.Backend >= backends {
			return fmt.Errorf("outages[%d]: backend %d: there are %d", i, out.Backend, backends)
		}
	}
	for i, b := range run.Buckets {
		if b.Served < 0 || b.Late < 0 || b.Failed < 0 || len(b.Backends) > backends {
			return fmt.Errorf("buckets[%d]: counts below 0, or of more backends than %d", i, backends)
		}
	}
	return nil
}
