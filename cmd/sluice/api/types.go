package api

import (
	"encoding/json"
	"time"
)

// Administrative states of a backend, from people.
const (
	Ready = "ready" // it may have sessions
	Drain = "drain" // no new ones; it is still probed
	Maint = "maint" // no new ones, and it is not probed
)

// Duration is a time.Duration in Go's notation.
type Duration time.Duration

// String is Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes "1.5s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads "1.5s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// Service is one element of GET /services, and GET /services/S.
type Service struct {
	Name     string    `json:"name"`
	Listen   []string  `json:"listen"`         // actual addresses
	Lost     []string  `json:"lost,omitempty"` // listeners that accept nobody though they should: "ADDRESS: why"
	Balance  string    `json:"balance"`
	Sessions int64     `json:"sessions"`          // now, those that wait included
	Held     int64     `json:"held"`              // of them, those that wait for a backend
	Usable   int       `json:"usable"`            // backends
	Paused   *Duration `json:"paused,omitempty"`  // for how much longer
	Leaving  bool      `json:"leaving,omitempty"` // removed, its sessions go on until their deadline
	Backends []Backend `json:"backends"`

	// Clients that ended, by why; those turned away included.
	Ended map[string]int64 `json:"ended"`
}

// Backend is a backend of a Service.
type Backend struct {
	Name           string    `json:"name"`
	Address        string    `json:"address"`
	Weight         int       `json:"weight"`
	Priority       int       `json:"priority"`
	MaxConnections int       `json:"max_connections"`
	Health         string    `json:"health"` // up, down, unknown
	Ejected        bool      `json:"ejected"`
	Admin          string    `json:"admin"` // ready, drain, maint
	Usable         bool      `json:"usable"`
	State          string    `json:"state"`             // all of these in one word: up, down, unknown, ejected, conflict, drain, maint, removed
	Leaving        bool      `json:"leaving,omitempty"` // removed, its sessions go on until their deadline
	Sessions       int64     `json:"sessions"`          // now, dials included
	Total          int64     `json:"total"`             // connected since the start
	Reason         string    `json:"reason"`            // of the newest change of state
	Since          time.Time `json:"since"`

	Retries        int64            `json:"retries"` // dials to it after, or beside, another
	DialFailures   map[string]int64 `json:"dial_failures"`
	BytesToBackend int64            `json:"bytes_to_backend"`
	BytesToClient  int64            `json:"bytes_to_client"`
	ConnectP50     Duration         `json:"connect_p50"` // of the newest dials; 0 = none yet
	ConnectP99     Duration         `json:"connect_p99"`
}

// NewBackend is the body of POST /services/S/backends.
type NewBackend struct {
	Address        string `json:"address"`
	Name           string `json:"name,omitempty"`   // "" = Address
	Weight         *int   `json:"weight,omitempty"` // nil = 1
	Priority       int    `json:"priority,omitempty"`
	MaxConnections int    `json:"max_connections,omitempty"` // 0 = no limit
}

// AdminState is the body of PUT …/backends/B/admin.
type AdminState struct {
	State string `json:"state"`
}

// Weight is the body of PUT …/backends/B/weight.
type Weight struct {
	Weight *int `json:"weight"` // 0..256
}

// Setting is the body of PATCH …/backends/B: what is absent stays as it is.
type Setting struct {
	Weight         *int `json:"weight,omitempty"`          // 0..256; 0 = no new sessions
	Priority       *int `json:"priority,omitempty"`        // from 0
	MaxConnections *int `json:"max_connections,omitempty"` // from 0; 0 = no limit
}

// Pause is the body of POST /services/S/pause, and the answer.
type Pause struct {
	For Duration `json:"for"` // above 0, at most an hour
}

// Resumed is the answer to POST /services/S/resume.
type Resumed struct {
	Was bool `json:"was"` // it was paused
}

// Session is one element of GET /sessions.
type Session struct {
	ID             string    `json:"id"` // SERVICE/NUMBER
	Service        string    `json:"service"`
	Client         string    `json:"client"`
	Backend        string    `json:"backend"` // "" = it has none yet
	Phase          string    `json:"phase"`   // connecting, held, relaying
	Start          time.Time `json:"start"`
	Age            Duration  `json:"age"`
	Attempts       int       `json:"attempts"`
	BytesToBackend int64     `json:"bytes_to_backend"`
	BytesToClient  int64     `json:"bytes_to_client"`
}

// Filter selects sessions: the query of GET /sessions, and the body of POST
// /sessions/kill. An empty field selects all.
type Filter struct {
	ID      string   `json:"id,omitempty"`
	Service string   `json:"service,omitempty"`
	Backend string   `json:"backend,omitempty"` // needs Service
	Client  string   `json:"client,omitempty"`  // an address or a CIDR
	MinAge  Duration `json:"min_age,omitzero"`
}

// Sessions is GET /sessions?service=&backend=&client=&min_age=&sort=&limit=.
// Sort is age (the default: the oldest first), bytes, client or backend; limit is 1000 by
// default, 0 is none.
type Sessions struct {
	Total    int       `json:"total"` // that the filter selects
	Sessions []Session `json:"sessions"`
}

// Killed is the answer to POST /sessions/kill and POST …/backends/B/kill.
type Killed struct {
	Killed int `json:"killed"`
}

// Removed is the answer to DELETE …/backends/B?within=30s.
type Removed struct {
	Sessions int64    `json:"sessions"` // that go on
	Within   Duration `json:"within"`   // when they are reset; 0 = never
}

// Event is something that happened: an element of GET /events?since=ID&service=S, and the
// data of GET /events/stream, which sends them as they come (SSE, id: and event: set).
type Event struct {
	ID      uint64    `json:"id"` // grows by one
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // transition, admin, reload, outage, lifecycle
	Service string    `json:"service,omitempty"`
	Backend string    `json:"backend,omitempty"`
	Text    string    `json:"text"`             // one line
	Who     string    `json:"who,omitempty"`    // the person, for admin and reload
	From    string    `json:"from,omitempty"`   // of a transition
	To      string    `json:"to,omitempty"`     // of a transition
	Source  string    `json:"source,omitempty"` // of a transition: probe, dial, admin
}

// Events is GET /events. Lost tells that events after the since that was asked for are no
// longer there.
type Events struct {
	Events []Event `json:"events"`
	Lost   bool    `json:"lost,omitempty"`
}

// Transition is a change of a backend's state, with its evidence.
type Transition struct {
	Time     time.Time `json:"time"`
	Source   string    `json:"source"` // probe, dial, admin
	From     string    `json:"from"`
	To       string    `json:"to"`
	Reason   string    `json:"reason"`
	Step     string    `json:"step,omitempty"`  // what the probe was doing
	Saw      string    `json:"saw,omitempty"`   // what the backend sent; not to be trusted as markup
	Errno    string    `json:"errno,omitempty"` // the system's error in words
	Took     Duration  `json:"took,omitzero"`
	Streak   int       `json:"streak,omitempty"`
	Who      string    `json:"who,omitempty"`
	Sessions int64     `json:"sessions"`
	Usable   int       `json:"usable"`
	Total    int       `json:"total"`
}

// Explanation is GET …/backends/B/explain?at=TIME: TIME is RFC 3339, or 15:04[:05] of the
// last 24 hours, or a duration ago (-10m); without it, now.
type Explanation struct {
	Service     string       `json:"service"`
	Backend     string       `json:"backend"`
	Address     string       `json:"address"`
	At          time.Time    `json:"at"`
	State       string       `json:"state"` // then, in one word; "" = not known: before everything that is kept
	Since       time.Time    `json:"since,omitzero"`
	Reason      string       `json:"reason"`
	Story       []string     `json:"story"`       // lines to read
	Transitions []Transition `json:"transitions"` // that lead to it, and those that followed; the oldest first
}

// Pick is GET /services/S/pick?source=IP.
type Pick struct {
	Service    string      `json:"service"`
	Source     string      `json:"source"`
	Balance    string      `json:"balance"`
	Choice     string      `json:"choice"`  // "" = nobody
	Certain    bool        `json:"certain"` // false: chance, turns or load may choose another next
	Why        string      `json:"why"`
	Candidates []Candidate `json:"candidates"` // in the order of their use
	Excluded   []Excluded  `json:"excluded"`
	Key        string      `json:"key"`    // the source's hash, in hex
	Digest     string      `json:"digest"` // of the table, in hex; equal on instances that agree
}

// Candidate is a backend that may be picked.
type Candidate struct {
	Backend  string `json:"backend"`
	Tier     int    `json:"tier"` // 1 is used first
	Priority int    `json:"priority"`
	Health   string `json:"health"`
	Weight   int    `json:"weight"` // at present, while it climbs
	Sessions int64  `json:"sessions"`
}

// Excluded is a backend that may not, and why.
type Excluded struct {
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
}

// Failure is the record of a session that failed or was retried: an element of GET
// /failures?service=S&limit=N, the newest first.
type Failure struct {
	Time     time.Time `json:"time"`
	Service  string    `json:"service"`
	Client   string    `json:"client"`
	Backend  string    `json:"backend"` // that it got in the end; "" = none
	Who      string    `json:"who"`     // ended it
	Why      string    `json:"why"`
	Duration Duration  `json:"duration"`
	Held     Duration  `json:"held,omitzero"`
	Attempts []Attempt `json:"attempts"` // that failed
}

// Attempt is a backend that was tried in vain.
type Attempt struct {
	Backend string   `json:"backend"`
	Error   string   `json:"error"`
	Took    Duration `json:"took"`
}

// Change is one line of a plan or a reload.
type Change struct {
	Service string `json:"service,omitempty"` // "" = the process
	Backend string `json:"backend,omitempty"`
	Action  string `json:"action"` // add, remove, change
	Key     string `json:"key,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Note    string `json:"note,omitempty"` // what it means, where that is not plain
}

// Moved is the share of hashed clients that get another backend.
type Moved struct {
	Service string  `json:"service"`
	Balance string  `json:"balance"`
	Share   float64 `json:"share"`  // 0..1, of all clients
	Needed  float64 `json:"needed"` // of them, whose backend is gone: nothing could have kept them
}

// Plan is the answer to POST /plan (the body is a file, application/yaml) and POST
// /reload (an empty body: the file that the process was started with).
type Plan struct {
	Applied bool     `json:"applied"`
	Changes []Change `json:"changes"`
	Moved   []Moved  `json:"moved,omitempty"`
}

// Status is GET /status.
type Status struct {
	Version     string      `json:"version"`
	PID         int         `json:"pid"`
	Started     time.Time   `json:"started"`
	Uptime      Duration    `json:"uptime"`
	Engine      string      `json:"engine"`
	File        string      `json:"file,omitempty"` // "" = flags
	Revision    uint64      `json:"revision"`
	Ready       bool        `json:"ready"`
	NotReady    string      `json:"not_ready,omitempty"` // why
	Draining    bool        `json:"draining,omitempty"`
	Sessions    int64       `json:"sessions"`
	Services    int         `json:"services"`
	Backends    int         `json:"backends"`
	Usable      int         `json:"usable"`
	Descriptors Descriptors `json:"descriptors"`
	Reload      Reload      `json:"reload"`
	LogDropped  int64       `json:"log_dropped"` // records
}

// Descriptors is the process's budget.
type Descriptors struct {
	Limit    int   `json:"limit"`
	Sessions int   `json:"sessions"` // that there is room for
	Shed     int64 `json:"shed"`     // clients closed for want of them
}

// Reload is the newest reload.
type Reload struct {
	Count   int64     `json:"count"` // that were applied
	Refused int64     `json:"refused"`
	Time    time.Time `json:"time,omitzero"`   // of the newest, applied or refused
	Error   string    `json:"error,omitempty"` // why it was refused
}

// Error is the body of an answer that is not 2xx.
type Error struct {
	Error Fault `json:"error"`
}

// Fault says what is wrong, and what is allowed.
type Fault struct {
	// Code is one of the Code constants.
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Faults  []string `json:"faults,omitempty"` // of a file, FILE:LINE:COL: …
}

// Codes of faults, with their HTTP status.
const (
	CodeInvalid      = "invalid"      // 400: the request makes no sense
	CodeUnauthorized = "unauthorized" // 401: token missing or wrong
	CodeForbidden    = "forbidden"    // 403: from a page of another origin, or a host that is not ours
	CodeNotFound     = "not_found"    // 404: service, backend, session or path
	CodeMethod       = "method"       // 405
	CodeTimeout      = "timeout"      // 408: the body did not come in time
	CodeConflict     = "conflict"     // 409: there is one already, or it is the last
	CodeStale        = "stale"        // 412: changed by somebody else since
	CodeTooLarge     = "too_large"    // 413
	CodeMedia        = "media_type"   // 415: not application/json
	CodeConfig       = "config"       // 422: the file is wrong
	CodeBusy         = "busy"         // 503: draining, or another change takes too long
	CodeInternal     = "internal"     // 500
)
