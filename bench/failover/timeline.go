package failover

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/report"
)

// mostColumns is how many pieces of time a chart shows; longer runs are shown in longer ones.
const mostColumns = 240

// timeline draws a run. most is the count that fills the height.
func (run Run) timeline(backends, most int) report.Timeline {
	merged := run.merged()
	failed, worst := run.Values["failed"], run.Values["worst_ms"]
	t := report.Timeline{
		Title: run.Balancer, Text: fmt.Sprintf("%s failed, worst %s", report.Number(failed), delay(worst)),
		Bad: failed > 0, Bucket: run.step().Seconds(), Most: most,
	}
	if run.Error != "" {
		t.Text, t.Bad = "not measured: "+run.Error, true
	}
	for _, b := range merged {
		t.Counts = append(t.Counts, report.Count{Served: b.Served, Late: b.Late, Failed: b.Failed})
	}
	for i := range backends {
		t.Bands = append(t.Bands, run.band(i, merged))
	}
	run.addTalks(&t)
	return t
}

// join is how many buckets one piece of a chart shows.
func (run Run) join() int { return max((len(run.Buckets)+mostColumns-1)/mostColumns, 1) }

// step is the time of one piece.
func (run Run) step() time.Duration { return time.Duration(run.join()) * BucketLength }

// merged are the buckets, as many together as one piece of a chart shows.
func (run Run) merged() []Bucket {
	var all []Bucket
	for part := range slices.Chunk(run.Buckets, run.join()) {
		var sum Bucket
		for _, b := range part {
			sum.Served, sum.Late, sum.Failed = sum.Served+b.Served, sum.Late+b.Late, sum.Failed+b.Failed
			for len(sum.Backends) < len(b.Backends) {
				sum.Backends = append(sum.Backends, 0)
			}
			for i, n := range b.Backends {
				sum.Backends[i] += n
			}
		}
		all = append(all, sum)
	}
	return all
}

// band is what the i-th backend served, and when it was broken.
func (run Run) band(i int, merged []Bucket) report.Band {
	band := report.Band{Name: fmt.Sprintf("b%d", i+1)}
	for _, b := range merged {
		n := 0
		if i < len(b.Backends) {
			n = b.Backends[i]
		}
		band.Served = append(band.Served, n)
	}
	for _, out := range run.Outages {
		if out.Backend != i {
			continue
		}
		to := out.To
		if to == 0 {
			to = run.Length
		}
		band.Broken = append(band.Broken, report.Period{From: out.From.Seconds(), To: to.Seconds()})
	}
	return band
}

// addTalks draws what became of the long sessions.
func (run Run) addTalks(t *report.Timeline) {
	if len(run.Talks) == 0 || len(t.Counts) == 0 {
		return
	}
	held := make([]int, len(t.Counts))
	t.Stuck, t.Ended = make([]int, len(t.Counts)), make([]int, len(t.Counts))
	ended := 0
	for _, e := range run.Talks {
		run.count(held, e.Began, e.Ended)
		if e.Stuck > 0 {
			run.count(t.Stuck, e.StuckAt, e.StuckAt+e.Stuck)
		}
		if e.Failure != "" {
			run.count(t.Ended, e.Ended, e.Ended)
			ended++
		}
	}
	t.Held = max(slices.Max(held), 1)
	t.HeldText = run.talkText(ended)
}

// count adds one to each piece of time that from and to lie in or around.
func (run Run) count(all []int, from, to time.Duration) {
	last := len(all) - 1
	first := min(max(int(from/run.step()), 0), last)
	for i := first; i <= min(max(int(to/run.step()), first), last); i++ {
		all[i]++
	}
}

// talkText says in words what became of the long sessions.
func (run Run) talkText(ended int) string {
	stuck, longest := run.Values["stuck"], run.Values["stuck_ms"]
	text := fmt.Sprintf("long: %d ended", ended)
	if alive := run.Values["lost_alive"]; alive > 0 {
		text += fmt.Sprintf(" (%.0f alive)", alive)
	}
	if stuck > 0 {
		return text + fmt.Sprintf(", %.0f stuck up to %.1f s", stuck, longest/1000)
	}
	return text + ", none stuck"
}

// runs are those of a balancer and a fault, from good to bad: by failed, then by worst
// delay; those that were not measured last.
func (r *Result) runs(balancer, fault string) []Run {
	var all []Run
	for _, run := range r.Runs {
		if run.Balancer == balancer && run.Fault == fault {
			all = append(all, run)
		}
	}
	slices.SortStableFunc(all, func(a, b Run) int {
		if (a.Error == "") != (b.Error == "") {
			return cmp.Compare(len(a.Error), len(b.Error))
		}
		return cmp.Or(cmp.Compare(a.Values["failed"], b.Values["failed"]), cmp.Compare(a.Values["worst_ms"], b.Values["worst_ms"]))
	})
	return all
}

// middle is the index of the median run; those that were not measured do not count if
// there are others.
func middle(runs []Run) int {
	measured := slices.IndexFunc(runs, func(run Run) bool { return run.Error != "" })
	if measured <= 0 {
		measured = len(runs)
	}
	return (measured - 1) / 2
}

// timelines are the charts of a fault: of each balancer the median run, and then the
// others, in rows of one of each from good to bad.
func (r *Result) timelines(fault string) (median, rest []report.Timeline) {
	most := r.most(fault)
	var rows [mostRounds][]report.Timeline
	for _, name := range r.names() {
		runs := r.runs(name, fault)
		mid, row := middle(runs), 0
		for i, run := range runs {
			t := run.timeline(r.Backends, most*run.join())
			if i == mid {
				median = append(median, t)
				continue
			}
			t.Title = fmt.Sprintf("%s, round %d", name, run.Round)
			rows[row%len(rows)] = append(rows[row%len(rows)], t)
			row++
		}
	}
	return median, slices.Concat(rows[:]...)
}

// most is what fills the height of the charts of a fault: the greatest count, but not
// more than one and a half of the rate.
func (r *Result) most(fault string) int {
	most := 1
	for _, run := range r.Runs {
		if run.Fault != fault {
			continue
		}
		for _, b := range run.Buckets {
			most = max(most, b.Served+b.Failed)
		}
	}
	if usual := 1.5 * r.Rate * BucketLength.Seconds(); usual > 1 {
		most = min(most, int(math.Ceil(usual)))
	}
	return most
}
