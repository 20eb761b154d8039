package l4

import (
	"net/netip"
	"strings"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// mostAttempts bounds what is kept of one session: with hold it may be tried for long.
const mostAttempts = 16

// Attempt is a backend that was tried for a session in vain.
type Attempt struct {
	Backend string
	Error   string
	Took    time.Duration
}

// Decision is the record of a session that no backend was found for, or not at once: it was
// refused, it waited, or a backend was tried for it in vain.
type Decision struct {
	Time     time.Time // of its end
	Service  string
	Client   netip.AddrPort // invalid over a Unix socket
	Backend  string         // that it got in the end; "" = none
	End      relay.End
	Duration time.Duration
	Held     time.Duration // for which it waited
	Attempts []Attempt     // that failed: the first 16, in their order
}

// decided tells of a session that was not served at once, if somebody wants to hear.
func (sess *Session) decided(e relay.End) {
	tell, t := sess.svc.decision, sess.troubles
	delayed := t != nil && (len(t.attempts) > 0 || t.held.total > 0)
	if tell == nil || !delayed && !unserved(e.Why) {
		return
	}
	s := sess.svc
	d := Decision{
		Time: time.Now(), Service: s.name, Client: sess.client, End: e, Duration: s.now() - sess.start,
	}
	if sess.backend != nil {
		d.Backend = sess.backend.cfg.Name
	}
	if t != nil {
		d.Held, d.Attempts = t.held.total, t.attempts
	}
	tell(d)
}

// unserved tells whether a session ended so for want of a backend.
func unserved(why relay.Why) bool {
	switch why {
	case relay.ConnectFailed, relay.NoBackend, relay.BackendsFull, relay.Paused, relay.BackendDown:
		return true
	}
	return false
}

func attemptsText(all []Attempt) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.Backend + ": " + a.Error + " (" + a.Took.Round(10*time.Microsecond).String() + ")"
	}
	return strings.ReplaceAll(strings.Join(texts, ", "), "µ", "u")
}
