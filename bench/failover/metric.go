package failover

// Metric is one figure of a run.
type Metric struct {
	// Key names it in Run.Values.
	Key string
	// Title and Unit are for people.
	Title, Unit string
	// Meaning is a sentence for people.
	Meaning string
}

// Metrics are all figures, in the order of a report; of all of them less is better, but
// attempts are none of a balancer's.
func Metrics() []Metric {
	return []Metric{
		{"attempts", "clients", "", "new clients that were due"},
		{"failed", "failed", "", "of them, those that got no right answer"},
		{"failed_refused", "refused", "", "the connection was not accepted"},
		{"failed_reset", "reset", "", "it was reset"},
		{"failed_closed", "closed early", "", "its end came before the answer"},
		{"failed_timeout", "timeout", "", "nothing came within the patience of a client"},
		{"failed_wrong", "wrong bytes", "", "another answer than the right one"},
		{"failed_other", "other", "", "for example no port or descriptor was free at the client"},
		{"late_50", "over 50 ms", "", "served, but more than 50 ms after they were due"},
		{"late_250", "over 250 ms", "", "the same for 250 ms"},
		{"late_1000", "over 1 s", "", "the same for 1 s"},
		{"worst_ms", "worst delay", "ms", "the longest from due to served"},
		{"gap_ms", "longest gap", "ms", "the longest time in which no client was served"},
		{"detect_ms", "to detect", "ms", "from the fault to the last client that failed, was late or reached the broken backend because of it"},
		{"recover_ms", "to recover", "ms", "from the end of the fault to the first client served by that backend again"},
		{"moved_share", "hashed moved", "", "share of hashed clients, from 0 to 1, that another backend served though theirs lived"},
		{"stuck", "long stuck", "", "long sessions that waited more than 500 ms for an answer"},
		{"stuck_ms", "stuck, longest", "ms", "the longest of those waits"},
		{"lost_alive", "long lost alive", "", "long sessions that ended though their backend lived"},
		{"lost", "long ended", "", "long sessions that ended before the load did, for whatever reason; only of a system that is observed"},
		{"lost_wrong", "long wrong", "", "long sessions with a message lost, doubled, swapped or changed"},
		{"imbalance", "imbalance", "", "after recovery: the distance between the shares of the busiest and the idlest backend, divided by the mean share"},
	}
}
