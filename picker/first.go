package picker

// first takes the first backend in the given order that is not avoided: one
// active backend with stand-bys behind it.
type first struct {
	n      int
	digest uint64
}

func newFirst(backends []Backend) *first {
	d := newDigester(First)
	for _, b := range backends {
		d.text(b.ID)
	}
	return &first{n: len(backends), digest: d.sum()}
}

func (p *first) Pick(_ uint64, avoid *Set) int {
	if avoid.free(p.n) == 0 {
		return -1
	}
	return avoid.nthFree(0)
}

func (p *first) Digest() uint64 { return p.digest }
