package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrUnknown means that a name is no fault's.
var ErrUnknown = errors.New("fault: no such fault")

// Fault is a way in which a backend is broken.
type Fault string

// The faults. Break and Mend know all but the last three, which are sequences of others.
const (
	Kill      Fault = "kill"
	Exit      Fault = "exit"
	Stop      Fault = "stop"
	Refuse    Fault = "refuse"
	Blackhole Fault = "blackhole"
	Reset     Fault = "reset"
	Slow      Fault = "slow"
	Mute      Fault = "mute"
	HalfOpen  Fault = "half-open"
	Flap      Fault = "flap"
	AllDown   Fault = "all-down"
	Rolling   Fault = "rolling"
)

// SlowBy is how late a slow backend serves a new connection.
const SlowBy = 300 * time.Millisecond

// kind is what there is to know of a fault.
type kind struct {
	fault          Fault
	title, meaning string
	ends, silences bool
	step           Fault // of a sequence
}

func kinds() []kind {
	return []kind{
		{Kill, "killed", "the process is killed (SIGKILL), and later started again", true, false, ""},
		{Exit, "orderly exit", "the process stops listening, ends its sessions in order and exits (SIGTERM), and is later started again", true, false, ""},
		{Stop, "stopped", "the process stands still (SIGSTOP): the system goes on accepting for it, nothing is answered", false, true, ""},
		{Refuse, "refusing", "nobody listens: new connections are refused, sessions go on", false, false, ""},
		{Blackhole, "black hole", "the packets of new connections vanish, sessions go on", false, false, ""},
		{Reset, "reset after accept", "each new connection is accepted and reset, sessions go on", false, false, ""},
		{Slow, "slow accept", "each new connection is served only after " + SlowBy.String() + ", sessions go on", false, false, ""},
		{Mute, "mute", "each new connection is accepted, and gets no answer until the fault ends; sessions go on", false, false, ""},
		{HalfOpen, "half open", "all packets to the backend vanish, and it sends none: neither end of a session is told anything", false, true, ""},
		{Flap, "flapping", "one backend is killed and started again, several times", true, false, Kill},
		{AllDown, "all down", "all backends are killed at once, and later started again", true, false, Kill},
		{Rolling, "rolling restart", "one backend after the other exits in order and is started again", true, false, Exit},
	}
}

// Faults are all, in the order of a report.
func Faults() []Fault {
	var all []Fault
	for _, k := range kinds() {
		all = append(all, k.fault)
	}
	return all
}

// ParseFault finds the fault of a name. The error wraps ErrUnknown and lists them.
func ParseFault(name string) (Fault, error) {
	var known []string
	for _, f := range Faults() {
		if string(f) == name {
			return f, nil
		}
		known = append(known, string(f))
	}
	return "", fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, strings.Join(known, ", "))
}

// kind is empty for what is no fault.
func (f Fault) kind() kind {
	for _, k := range kinds() {
		if k.fault == f {
			return k
		}
	}
	return kind{}
}

// Title is a heading for people.
func (f Fault) Title() string { return f.kind().title }

// Meaning is a sentence for people, without its full stop.
func (f Fault) Meaning() string { return f.kind().meaning }

// Ends tells whether the sessions of a backend that is broken so end with it.
func (f Fault) Ends() bool { return f.kind().ends }

// Silences tells whether they get no answers while it lasts, and go on after it.
func (f Fault) Silences() bool { return f.kind().silences }

// Step is the fault that a sequence repeats; of one that is no sequence, itself.
func (f Fault) Step() Fault {
	if step := f.kind().step; step != "" {
		return step
	}
	return f
}
