package failover

import (
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/load"
)

// observed is all that is known of a run. Its methods compute, and change nothing.
type observed struct {
	any, hashed []load.Visit // in the order in which they were due
	talks       []load.Talk
	outages     []Outage
	// reached are the sessions of which a broken backend knows.
	reached  map[uint64]bool
	backends int // 0 = unknown, and then so is who answered
	length   time.Duration
}

// Limits of the figures.
const (
	late50, late250, late1000 = 50 * time.Millisecond, 250 * time.Millisecond, time.Second

	// settled is the moment between a recovery and what counts as the balance after it.
	settled = 500 * time.Millisecond
	// neverWithin: a fault whose last victim came so shortly before its end was not detected.
	neverWithin = 250 * time.Millisecond
	// grace is how far the clocks of an outage and of what it caused may be apart.
	grace = 100 * time.Millisecond
	// fewest clients, and the shortest time, that tell whether load is balanced.
	fewestBalanced   = 50
	shortestBalanced = time.Second
)

// fill computes everything that a run tells.
func (o observed) fill(r *Run) {
	r.Outages = o.outages
	r.Values = make(map[string]float64)
	for _, part := range []map[string]float64{o.clients(), o.gap(), o.detection(), o.recovery(), o.moved(), o.sessions(), o.imbalance()} {
		maps.Copy(r.Values, part)
	}
	r.Buckets = o.buckets()
	r.Talks = o.talkEnds()
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// clients counts what became of them, and how late the served were.
func (o observed) clients() map[string]float64 {
	v := map[string]float64{"attempts": float64(len(o.any)), "failed": 0, "late_50": 0, "late_250": 0, "late_1000": 0}
	for _, kind := range []load.Failure{load.Refused, load.Reset, load.Closed, load.Timeout, load.Wrong, load.Other} {
		v[failureKey(kind)] = 0
	}
	var worst, behind time.Duration
	for _, c := range o.any {
		behind = max(behind, c.Late)
		if c.Failure != "" {
			v["failed"]++
			v[failureKey(c.Failure)]++
			continue
		}
		worst = max(worst, c.Took)
		for key, limit := range map[string]time.Duration{"late_50": late50, "late_250": late250, "late_1000": late1000} {
			if c.Took > limit {
				v[key]++
			}
		}
	}
	v["worst_ms"], v["behind_ms"] = millis(worst), millis(behind)
	return v
}

// failureKey is the metric that counts a kind of failure.
func failureKey(f load.Failure) string {
	switch f {
	case load.Refused:
		return "failed_refused"
	case load.Reset:
		return "failed_reset"
	case load.Closed:
		return "failed_closed"
	case load.Timeout:
		return "failed_timeout"
	case load.Wrong:
		return "failed_wrong"
	}
	return "failed_other"
}

// gap is the longest time between two clients that were served one after the other, from
// the beginning of the load until the last client was due.
func (o observed) gap() map[string]float64 {
	if len(o.any) == 0 {
		return nil
	}
	var ends []time.Duration
	last := o.any[len(o.any)-1].Due
	for _, c := range o.any {
		if c.Failure == "" && c.Due+c.Took < last {
			ends = append(ends, c.Due+c.Took)
		}
	}
	slices.Sort(ends)
	var longest, before time.Duration
	for _, end := range append(ends, last) {
		longest, before = max(longest, end-before), end
	}
	return map[string]float64{"gap_ms": millis(longest)}
}

// detection is the time from when a backend was broken to the last client that suffered
// from it: that was due while it was broken, and failed, was late, or is known to have
// reached it. Late is more than 50 ms and more than twice the worst before the first
// fault, from when it began, so that neither a slow machine nor a load behind its schedule
// is taken for it. Of several outages the longest counts; one of all
// backends at once does not.
func (o observed) detection() map[string]float64 {
	if len(o.outages) == 0 {
		return nil
	}
	late := o.usual()
	if !slices.ContainsFunc(o.outages, func(out Outage) bool { return !o.nobodyElse(out) }) {
		return nil
	}
	v := map[string]float64{"detect_ms": 0}
	for _, out := range o.outages {
		to := o.end(out)
		if o.nobodyElse(out) {
			continue
		}
		for _, c := range o.any {
			if c.Due < out.From || c.Due >= to || !(c.Failure != "" || c.Took-c.Late > late || o.reached[c.Session]) {
				continue
			}
			v["detect_ms"] = max(v["detect_ms"], millis(c.Due-out.From))
			if to-c.Due < neverWithin && to-out.From > 2*neverWithin {
				v["detect_never"] = 1
			}
		}
	}
	return v
}

// nobodyElse tells whether all backends were broken at once: then there is nothing better to
// do than to go on trying, and no time at which that should end.
func (o observed) nobodyElse(out Outage) bool {
	broken := make(map[int]bool)
	for _, other := range o.outages {
		if other.From < o.end(out) && out.From < o.end(other) {
			broken[other.Backend] = true
		}
	}
	return len(broken) == o.backends
}

// usual is what is late, if it is more than before the first fault.
func (o observed) usual() time.Duration {
	first := o.outages[0].From
	for _, out := range o.outages {
		first = min(first, out.From)
	}
	usual := late50
	for _, c := range o.any {
		if c.Due+c.Took < first && c.Failure == "" {
			usual = max(usual, 2*(c.Took-c.Late))
		}
	}
	return usual
}

// end is when an outage ended; one that did not, with the load.
func (o observed) end(out Outage) time.Duration {
	if out.To == 0 {
		return o.length
	}
	return out.To
}

// recovery is the time from when a backend was mended to the first client that it served
// again: the longest of those outages after which there was time for it. One whose backend
// is broken again too soon does not count, if it was not reached.
func (o observed) recovery() map[string]float64 {
	v := make(map[string]float64)
	for _, out := range o.outages {
		if out.To == 0 {
			continue
		}
		first, ok := o.returned(out)
		switch {
		case ok:
			v["recover_ms"] = max(v["recover_ms"], millis(first-out.To))
		case o.brokenAgain(out) >= o.length:
			v["recover_never"] = 1
		}
	}
	return v
}

// returned is when the first client was due that the backend of an outage served after
// it; false = none was before it was broken again.
func (o observed) returned(out Outage) (time.Duration, bool) {
	until := o.brokenAgain(out)
	first := slices.IndexFunc(o.any, func(c load.Visit) bool { return c.Backend == out.Backend && c.Due >= out.To && c.Due < until })
	if first < 0 {
		return 0, false
	}
	return o.any[first].Due, true
}

// brokenAgain is when the backend of an outage is broken next, or the end of the load.
func (o observed) brokenAgain(out Outage) time.Duration {
	next := o.length
	for _, other := range o.outages {
		if other.Backend == out.Backend && other.From >= out.To {
			next = min(next, other.From)
		}
	}
	return next
}

// moved is the share of hashed clients that another backend served though theirs lived.
// Theirs is the one that served them last before the first outage; clients whose backend
// was broken at any time do not count.
func (o observed) moved() map[string]float64 {
	if len(o.outages) == 0 {
		return nil
	}
	broken := make(map[int]bool)
	first := o.length
	for _, out := range o.outages {
		broken[out.Backend] = true
		first = min(first, out.From)
	}
	home, moved := make(map[int]int), make(map[int]bool)
	for _, c := range o.hashed {
		switch {
		case c.Failure != "" || c.Backend < 0:
		case c.Due+c.Took < first:
			home[c.Source] = c.Backend
		case c.Due >= first:
			if h, ok := home[c.Source]; ok && h != c.Backend {
				moved[c.Source] = true
			}
		}
	}
	var all, gone float64
	for source, backend := range home {
		if broken[backend] {
			continue
		}
		all++
		if moved[source] {
			gone++
		}
	}
	if all == 0 {
		return nil
	}
	return map[string]float64{"moved_share": gone / all, "moved": gone, "moved_of": all}
}

// sessions counts the long ones that were stuck, cut or wrong.
func (o observed) sessions() map[string]float64 {
	if len(o.talks) == 0 {
		return nil
	}
	v := map[string]float64{"stuck": 0, "stuck_ms": 0, "lost_alive": 0, "lost_wrong": 0}
	var longest time.Duration
	for _, t := range o.talks {
		if len(t.Waits) > 0 {
			v["stuck"]++
		}
		for _, w := range t.Waits {
			longest = max(longest, w.To-w.From)
		}
		switch {
		case t.Failure == load.Wrong:
			v["lost_wrong"]++
		case o.backends == 0 && t.Failure != "" && t.Answered > 0:
			v["lost"]++
		case t.Failure != "" && t.Backend >= 0 && !o.excused(t):
			v["lost_alive"]++
		}
	}
	v["stuck_ms"] = millis(longest)
	return v
}

// excused tells whether a session that ended did so because of an outage: its backend
// ended while it was held, or was silent when the session was given up.
func (o observed) excused(t load.Talk) bool {
	return slices.ContainsFunc(o.outages, func(out Outage) bool {
		if out.Backend != t.Backend {
			return false
		}
		began, ended := t.Began-grace, t.Ended+grace
		return out.Ends && began <= out.From && out.From <= ended ||
			out.Silences && out.From <= ended && t.Ended-grace <= o.end(out)
	})
}

// imbalance is, when all backends serve again and a moment has passed, the distance between
// the shares of the busiest and the idlest backend, divided by the mean.
func (o observed) imbalance() map[string]float64 {
	from, ok := o.recovered()
	if o.backends == 0 || !ok {
		return nil
	}
	served := make([]int, o.backends)
	total := 0
	for _, c := range o.any {
		if c.Due >= from && c.Failure == "" && c.Backend >= 0 && c.Backend < o.backends {
			served[c.Backend]++
			total++
		}
	}
	if total < fewestBalanced || o.length-from < shortestBalanced {
		return nil
	}
	mean := float64(total) / float64(o.backends)
	return map[string]float64{"imbalance": float64(slices.Max(served)-slices.Min(served)) / mean}
}

// recovered is when all backends serve again and a moment has passed; false = one does not.
func (o observed) recovered() (time.Duration, bool) {
	var from time.Duration
	for _, out := range o.outages {
		first, ok := o.returned(out)
		switch {
		case out.To > 0 && ok:
			from = max(from, first+settled)
		case out.To == 0 || o.brokenAgain(out) >= o.length:
			return 0, false
		}
	}
	return from, true
}

// buckets are the clients by the time at which they were due.
func (o observed) buckets() []Bucket {
	all := make([]Bucket, max(1, (o.length+BucketLength-1)/BucketLength))
	for i := range all {
		all[i].Backends = make([]int, o.backends)
	}
	for _, c := range o.any {
		b := &all[min(max(int(c.Due/BucketLength), 0), len(all)-1)]
		if c.Failure != "" {
			b.Failed++
			continue
		}
		b.Served++
		if c.Took > late50 {
			b.Late++
		}
		if c.Backend >= 0 && c.Backend < o.backends {
			b.Backends[c.Backend]++
		}
	}
	return all
}

// talkEnds are the long sessions, in short.
func (o observed) talkEnds() []TalkEnd {
	var all []TalkEnd
	for _, t := range o.talks {
		if t.Sent == 0 && t.Failure == "" {
			continue // the load ended before it began
		}
		e := TalkEnd{Began: t.Began, Ended: t.Ended, Backend: t.Backend, Failure: string(t.Failure)}
		for _, w := range t.Waits {
			if w.To-w.From > e.Stuck {
				e.Stuck, e.StuckAt = w.To-w.From, w.From
			}
		}
		all = append(all, e)
	}
	return all
}
