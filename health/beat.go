package health

import "time"

// Timers of many backends that fire each on its own wake the process each on its own: at
// thousands of probes a second that costs more than the probes' own work. So waits end on a
// beat that all have in common, and what is due in one beat is done in one go.
const (
	beat = 20 * time.Millisecond
	// beatFrom is the shortest interval of probes that keeps the beat: of this and longer ones
	// a beat is a small part of the jitter.
	beatFrom = time.Second
)

// onBeat returns d, lengthened so that a wait of it ends on a beat of the given length.
func onBeat(d, beat time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	past := time.Duration(time.Now().Add(d).UnixNano()) % beat
	return d + (beat-past)%beat
}
