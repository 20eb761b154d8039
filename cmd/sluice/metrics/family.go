package metrics

import (
	dto "github.com/prometheus/client_model/go"
)

// family is a metric's name and how its samples come out of a snapshot.
type family struct {
	name, help string
	kind       dto.MetricType
	emit       func(s *snapshot, out *samples)
}

// samples collects the metrics of one family after another.
type samples struct {
	kind dto.MetricType
	all  []*dto.Metric
	room []sample // for the next ones
}

// sample is a metric with what it points to, in one piece of memory.
type sample struct {
	metric  dto.Metric
	counter dto.Counter
	gauge   dto.Gauge
	value   float64
}

// roomLen is how many samples are made at one time.
const roomLen = 64

// next returns a new sample, with labels that are sorted by name.
func (o *samples) next(labels []*dto.LabelPair) *sample {
	if len(o.room) == 0 {
		o.room = make([]sample, roomLen)
	}
	s := &o.room[0]
	o.room = o.room[1:]
	s.metric.Label = labels
	o.all = append(o.all, &s.metric)
	return s
}

// add adds a value of a counter or a gauge.
func (o *samples) add(v float64, labels ...*dto.LabelPair) {
	s := o.next(labels)
	s.value = v
	if o.kind == dto.MetricType_COUNTER {
		s.counter.Value, s.metric.Counter = &s.value, &s.counter
	} else {
		s.gauge.Value, s.metric.Gauge = &s.value, &s.gauge
	}
}

// durations adds a histogram; nil is left out.
func (o *samples) durations(h *Histogram, labels ...*dto.LabelPair) {
	if h != nil {
		h.write(&o.next(labels).metric)
	}
}

// counter, gauge and histogram make families of each kind.
func counter(name, help string, emit func(*snapshot, *samples)) family {
	return family{name, help, dto.MetricType_COUNTER, emit}
}

func gauge(name, help string, emit func(*snapshot, *samples)) family {
	return family{name, help, dto.MetricType_GAUGE, emit}
}

func histogram(name, help string, emit func(*snapshot, *samples)) family {
	return family{name, help, dto.MetricType_HISTOGRAM, emit}
}

// process is one value of the process.
func process(f func(s *snapshot) float64) func(*snapshot, *samples) {
	return func(s *snapshot, out *samples) { out.add(f(s)) }
}

// eachService is one value of every service.
func eachService(f func(*service) float64) func(*snapshot, *samples) {
	return func(s *snapshot, out *samples) {
		for _, svc := range s.services {
			out.add(f(svc), svc.label)
		}
	}
}

// eachBackend is one value of every backend, those that leave included: their sessions
// go on.
func eachBackend(f func(*backend) float64) func(*snapshot, *samples) {
	return func(s *snapshot, out *samples) {
		for b := range s.backends {
			out.add(f(b), b.labels...)
		}
	}
}

// eachStaying is one value of every backend but those that leave, which have sessions
// but no state: nobody is to be woken for them.
func eachStaying(f func(*backend) float64) func(*snapshot, *samples) {
	return func(s *snapshot, out *samples) {
		for b := range s.backends {
			if !b.Leaving {
				out.add(f(b), b.labels...)
			}
		}
	}
}

func truth(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
