package picker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// The names of the policies, as configurations spell them.
const (
	RoundRobin = "round-robin" // smooth weighted turns
	LeastConn  = "least-conn"  // least (load+1)/weight among all
	P2C        = "p2c"         // the better of two distinct random ones
	Random     = "random"      // at random, in proportion to the weights
	SourceHash = "source-hash" // consistent hash ring over the key
	Maglev     = "maglev"      // consistent lookup table over the key
	First      = "first"       // the first in the order given to New
)

// MaxWeight is the greatest [Backend.Weight].
const MaxWeight = 256

// Errors of [New], to be tested by errors.Is.
var (
	ErrUnknownPolicy = errors.New("picker: unknown policy")
	ErrNoBackends    = errors.New("picker: no backends")
	ErrDuplicateID   = errors.New("picker: duplicate backend id")
	ErrWeight        = errors.New("picker: weight outside 1 to 256")
	// ErrTooMany: the backends, or their points on the ring, do not fit into
	// the table of the policy (65,536 for maglev, 8,388,608 points for
	// source-hash).
	ErrTooMany = errors.New("picker: too many backends for the policy")
)

// Backend is one candidate as a policy sees it.
type Backend struct {
	// ID is the stable identity. Tables are pure functions of the sorted IDs
	// and the weights.
	ID string
	// Weight is the relative share, 1 to [MaxWeight]. New refuses zero and
	// negative weights: a backend that gets nothing does not belong here.
	Weight int
	// Load counts the sessions in progress. The caller owns it and keeps it
	// over rebuilds; pickers only read it. Nil means always 0.
	Load *atomic.Int64
}

// Options holds what only some policies need. The zero value is usable.
type Options struct {
	// RingPoints is the number of points on the ring for each unit of weight
	// (source-hash). Zero or negative means [RingPoints] of the weights given
	// to New. A caller whose list varies passes a number that does not vary
	// with it, otherwise keys of unchanged backends may move.
	RingPoints int
	// Cursor is the position of round-robin. The caller keeps it over
	// rebuilds, so that a rebuild does not start at the first backend again.
	// Nil means a cursor of the picker's own that starts at 0.
	Cursor *atomic.Uint64
}

// Picker chooses among a fixed list of backends. It is immutable and safe for
// concurrent use.
type Picker interface {
	// Pick returns the index, in the slice given to New, of the backend for
	// key, never one in avoid, and -1 when all are in avoid. A nil avoid
	// avoids none; indexes beyond the slice are ignored. Key is a uniform
	// hash as [Hash] gives; only source-hash and maglev look at it. Pick
	// neither allocates nor locks, and its loops are bounded.
	Pick(key uint64, avoid *Set) int

	// Digest identifies the decision function. It is equal for equal
	// policies, options and sets of IDs and weights in any order, on any
	// machine; for source-hash and maglev it covers the table itself. For
	// first, where the order is the policy, the order counts and the weights
	// do not.
	Digest() uint64
}

// Policies returns the names that [New] accepts, in the order of the
// documentation. The caller may change the slice.
func Policies() []string {
	return []string{RoundRobin, LeastConn, P2C, Random, SourceHash, Maglev, First}
}

// New builds the picker of a policy over exactly these backends. It keeps no
// reference to the slice. The errors are [ErrUnknownPolicy], [ErrNoBackends],
// [ErrWeight], [ErrDuplicateID] and [ErrTooMany].
func New(policy string, backends []Backend, opt Options) (Picker, error) {
	if !slices.Contains(Policies(), policy) {
		return nil, fmt.Errorf("%w %q", ErrUnknownPolicy, policy)
	}
	order, err := validate(backends)
	if err != nil {
		return nil, err
	}
	switch policy {
	case LeastConn:
		return newLeastConn(backends, order, randomTie), nil
	case P2C:
		return newP2C(backends, order), nil
	case Random:
		return newRandom(backends, order), nil
	case SourceHash:
		return newRing(backends, order, opt.RingPoints)
	case Maglev:
		return newMaglev(backends, order)
	case First:
		return newFirst(backends), nil
	default:
		return newRoundRobin(backends, order, opt.Cursor), nil
	}
}

// validate checks the backends and returns their indexes in the order of their
// IDs, the order in which every table and digest is built.
func validate(backends []Backend) ([]int, error) {
	if len(backends) == 0 {
		return nil, ErrNoBackends
	}
	order := make([]int, len(backends))
	for i, b := range backends {
		if b.Weight < 1 || b.Weight > MaxWeight {
			return nil, fmt.Errorf("%w: %d of %q", ErrWeight, b.Weight, b.ID)
		}
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Compare(backends[i].ID, backends[j].ID)
	})
	for k := 1; k < len(order); k++ {
		if id := backends[order[k]].ID; id == backends[order[k-1]].ID {
			return nil, fmt.Errorf("%w %q", ErrDuplicateID, id)
		}
	}
	return order, nil
}
