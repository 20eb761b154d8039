//go:build linux

package e2e

import "math/rand/v2"

// misdeed is what an end of a session of the soak does wrong.
type misdeed uint8

const (
	behaves misdeed = iota // sends all it has and ends its side, reads all there is
	dawdles                // the same, slowly
	delays                 // the same, but it begins late: a client to read, a backend to send, which is after the client's end
	resets                 // in the middle of what it sends
	leaves                 // closes there, whatever it may not have read
	misdeeds
)

// plan is what both ends of one session do. The client tells it to the backend with its first bytes.
type plan struct {
	ID              int64
	Up, Down        int64 // bytes of the stream towards the backend and the client
	Client, Backend misdeed
	ClientAt        int64 // after how many bytes of Up the client commits its misdeed
	BackendAt       int64 // the same of Down
}

// newPlan draws one. Half of the ends behave.
func newPlan(r *rand.Rand, id int64) plan {
	p := plan{ID: id, Up: randomSize(r), Down: randomSize(r), Client: randomMisdeed(r), Backend: randomMisdeed(r)}
	p.ClientAt, p.BackendAt = r.Int64N(p.Up), r.Int64N(p.Down)
	return p
}

// randomSize is mostly small, sometimes bulk.
func randomSize(r *rand.Rand) int64 { return 1 + r.Int64N(1<<(1+r.IntN(22))) }

func randomMisdeed(r *rand.Rand) misdeed {
	if r.IntN(2) == 0 {
		return behaves
	}
	return misdeed(r.IntN(int(misdeeds)))
}

// ordered tells whether an end keeps to the order of the protocol, at whatever pace.
func (m misdeed) ordered() bool { return m < resets }

func (p plan) ordered() bool { return p.Client.ordered() && p.Backend.ordered() }
