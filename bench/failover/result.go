package failover

import (
	"time"

	"github.com/sluicelb/sluice/bench/proc"
)

// Outage is a time in which one backend was broken.
type Outage struct {
	Backend int `json:"backend"` // from 0
	// From and To are since the load began: when the fault was in force, and when it
	// was undone. A zero To is the end of the run.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Ends is true if the sessions on it end with it; else a session that ends was cut by
	// the balancer though its backend lived.
	Ends bool `json:"ends"`
	// Silences is true if the sessions on it get no answers while it lasts.
	Silences bool `json:"silences"`
}

// Bucket is what became of the clients that were due in 50 ms.
type Bucket struct {
	Served int `json:"served"`
	// Late is how many of those were served after more than 50 ms.
	Late   int `json:"late,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Backends is how many each backend served, by its index.
	Backends []int `json:"backends"`
}

// BucketLength is the time of one bucket.
const BucketLength = 50 * time.Millisecond

// TalkEnd is one long session, in short.
type TalkEnd struct {
	Began   time.Duration `json:"began_ns"`
	Ended   time.Duration `json:"ended_ns"`
	Backend int           `json:"backend"` // -1 = none answered
	// Failure is how it ended; empty = it lived until the end of the run.
	Failure string `json:"failure,omitempty"`
	// Stuck is the longest time it waited for an answer that was due, if that was more than StuckAfter.
	Stuck time.Duration `json:"stuck_ns,omitempty"`
	// StuckAt is when that began.
	StuckAt time.Duration `json:"stuck_at_ns,omitempty"`
}

// StuckAfter is for how long an answer of a long session may be missing before the session
// counts as stuck.
const StuckAfter = 500 * time.Millisecond

// Run is one balancer through one fault.
type Run struct {
	Balancer string `json:"balancer"`
	Fault    string `json:"fault"`
	Round    int    `json:"round"` // from 1
	// Length of the load.
	Length  time.Duration `json:"length_ns"`
	Outages []Outage      `json:"outages"`
	// Values by the keys of Metrics; one that does not apply is missing.
	Values  map[string]float64 `json:"values"`
	Buckets []Bucket           `json:"buckets"`
	Talks   []TalkEnd          `json:"talks"`
	// Error is why there are no values; empty if there are.
	Error string `json:"error,omitempty"`
}

// Result is what all runs found. Its tags are the JSON report's format.
type Result struct {
	// Format is Format when it was written.
	Format  string    `json:"format"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	// Command is the command line; whoever ran it fills it in.
	Command []string     `json:"command,omitempty"`
	Machine proc.Machine `json:"machine"`
	// Others is the share of the machine's CPU time, from 0 to 1, that went to processes
	// that had no part in it.
	Others float64 `json:"others"`
	// Partial is why it ended before its end; empty if it did not.
	Partial string `json:"partial,omitempty"`
	Rounds  int    `json:"rounds"`
	// Rate is that of visits a second; Talks and Hashed are the numbers of clients.
	Rate     float64 `json:"rate"`
	Talks    int     `json:"talks"`
	Hashed   int     `json:"hashed"`
	Backends int     `json:"backends"`
	// Balancers in the order given.
	Balancers []Balancer `json:"balancers"`
	Faults    []string   `json:"faults"`
	// Notes are sentences that a reader of the numbers must know.
	Notes []string `json:"notes,omitempty"`
	Runs  []Run    `json:"runs"`
}

// Balancer is one that was measured.
type Balancer struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version"`
	// Config is the text of its configuration, of the first run.
	Config string `json:"config,omitempty"`
	// Cannot are sentences: what of the common configuration it cannot express.
	Cannot []string `json:"cannot,omitempty"`
}
