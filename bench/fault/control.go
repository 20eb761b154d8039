package fault

// What the parent tells a backend: one of these on a line, breakCommand followed by a
// space and the fault.
const (
	breakCommand  = "break"
	mendCommand   = "mend"
	reportCommand = "report"
)

// reply is a line that a backend says, as JSON: one when it listens, one to each command,
// and one when it is told to end and has stopped listening.
type reply struct {
	// At is when what it was told was in force, by its monotonic clock.
	At    int64  `json:"at"`
	Error string `json:"error,omitempty"`
	// Wrong is how many sessions sent what is wrong, and FirstWrong what; only in a report,
	// like Seen.
	Wrong      int        `json:"wrong,omitempty"`
	FirstWrong string     `json:"first_wrong,omitempty"`
	Seen       []sighting `json:"seen,omitempty"`
}

// sighting is a session's first message.
type sighting struct {
	Session uint64 `json:"s"`
	// At is when it came to the process's socket, Read when the process read it; both by
	// the monotonic clock.
	At   int64 `json:"at"`
	Read int64 `json:"read"`
	// Broken is true if its connection was accepted while the process treated new ones in
	// another way than it should.
	Broken bool `json:"broken,omitempty"`
}
