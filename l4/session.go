package l4

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// atOnce is how soon after the hand-over an end counts as "at once".
const atOnce = 100 * time.Millisecond

// Session is the record of one client's connection, from accept to end.
type Session struct {
	relay relay.Session
	svc   *Service
	id    uint64
	cfg   *settings // in force when it began

	client   netip.AddrPort  // set with mu held; whom the session is for: the PROXY header's source or the peer; invalid over Unix sockets
	local    *netip.AddrPort // the address the client connected to; nil if no backend is to be told
	admitted bool            // counts towards the limit of connections
	sourced  bool            // counts towards the limit by source
	attempts int
	start    time.Duration // times are the service's, see Service.now
	dialled  time.Duration // when the last dial began

	backend *Backend // reserved or connected; nil between
	serving          // connected
	*troubles

	following, previous *Session // in the service's list
	listed              bool     // it is in there

	mu      sync.Mutex    // guards the rest, so that a kill meets each session either before or after a hand-over
	relayed time.Duration // when the relay took over; zero until then
	handed  bool          // the engine has it
	flight  aloft         // of a session whose first words are kept
	killed  relay.End
	waits   bool // for a backend
}

// troubles are what most sessions have none of.
type troubles struct {
	tried     []*Backend // those that failed, since it last waited
	withdrawn []*Backend // those of them that failed by no fault of theirs
	attempts  []Attempt  // the first that failed
	last      string     // what went wrong in words: the last failed dial, or the PROXY header
	name      string     // of the last backend that failed
	held      held
	pending   relay.Dialling // of backend, under way
	hedged    int            // dials to another backend while one was silent
	spoken    bool           // the client has said something, and it is kept
	heard     []hearing      // who got the client's first words, and ended the session
	replayed  int            // times that the client's first words went to another backend
}

// failed returns the backends that failed.
func (sess *Session) failed() []*Backend {
	if sess.troubles == nil {
		return nil
	}
	return sess.troubles.tried
}

// trouble returns the session's troubles.
func (sess *Session) trouble() *troubles {
	if sess.troubles == nil {
		sess.troubles = &troubles{}
	}
	return sess.troubles
}

// note keeps what went wrong.
func (sess *Session) note(what string) { sess.trouble().last = what }

// failedWith keeps what went wrong with a backend, and since when it was tried.
func (sess *Session) failedWith(b *Backend, what string, began time.Duration) {
	t := sess.trouble()
	t.tried, t.name, t.last = append(t.tried, b), b.cfg.Name, b.cfg.Name+": "+what
	if len(t.attempts) < mostAttempts {
		t.attempts = append(t.attempts, Attempt{b.cfg.Name, what, sess.svc.now() - began})
	}
}

// begin makes the record of an accepted connection, for which descriptors have been
// reserved. It returns false when the service has closed its listeners; before, a client that
// was accepted is one that nobody else will serve.
func (s *Service) begin(c relay.Arrival, conn relay.Conn) (*Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, false
	}
	sess := s.spare.take()
	sess.svc, sess.start, sess.client = s, s.now(), c.Peer()
	sess.cfg = s.cfg()
	sess.relay.Limits, sess.relay.Owner = &sess.cfg.Limits, sess
	if conn != nil {
		sess.relay.Ends = &relay.Ends{Client: conn}
	}
	if sess.cfg.Proxy.Send != 0 {
		local := c.Local()
		sess.local = &local
	}
	sess.id = s.ids.Add(1)
	s.sessions.add(sess)
	s.active.Add(1)
	s.running.Add(1)
	return sess, true
}

// kill ends the session wherever it is in its life; false if that was done before. Its
// record is not used again, since the engine may still be about to look at it.
func (sess *Session) kill(e relay.End) bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.killNow(e)
}

// killNow is kill with mu held.
func (sess *Session) killNow(e relay.End) bool {
	first := sess.killed.Why == relay.Running
	if first {
		sess.killed = e
	}
	if sess.handed {
		sess.svc.engine.Kill(&sess.relay, e)
		return first
	}
	if sess.relay.Ends != nil {
		abort(sess.relay.Client) // wakes whoever reads from it
		if sess.relay.Backend != nil {
			abort(sess.relay.Backend)
		}
	}
	return first
}

// wasKilled tells whether somebody has asked for the session's end.
func (sess *Session) wasKilled() bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.killed.Why != relay.Running
}

// handOver gives the connected session to the engine; the zero End if that was done.
func (sess *Session) handOver() relay.End {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.killed.Why != relay.Running {
		return sess.killed
	}
	sess.handed = true
	sess.relayed = sess.svc.now()
	sess.svc.engine.Start(&sess.relay)
	return relay.End{}
}

// turnAway ends a session that never reached the engine.
func (sess *Session) turnAway(e relay.End) {
	sess.mu.Lock()
	if sess.killed.Why != relay.Running {
		e = sess.killed
	}
	sess.mu.Unlock()
	abort(sess.relay.Client)
	if sess.relay.Backend != nil {
		abort(sess.relay.Backend)
	}
	if t := sess.troubles; t != nil && t.pending != nil {
		t.pending.Abandon()
	}
	sess.finish(e)
}

// RelayEnded implements relay.Owner.
func (sess *Session) RelayEnded(e relay.End) {
	switch b := sess.backend; {
	case sess.relayed == 0: // it was not
		if b != nil {
			b.failed[dialCancelled].Add(1)
		}
	case sess.relay.Moved(relay.ToClient) > 0:
		b.hear().Answered()
	case sess.endedAtOnce(e):
		b.hear().EndedAtOnce()
	}
	sess.finish(e)
}

// endedAtOnce tells whether the backend ended the session as soon as it had it. An end in
// order after bytes of the client does not count: what a client sends may deserve it.
func (sess *Session) endedAtOnce(e relay.End) bool {
	return e.Who == relay.Backend && (e.Why == relay.Reset || sess.relay.Moved(relay.ToBackend) == 0) &&
		sess.relay.FirstEnd().Sub(sess.svc.at(sess.relayed)) < atOnce
}

// finish gives back everything the session held, counts it and logs it. It is the
// last act of every session that began.
func (sess *Session) finish(e relay.End) {
	s := sess.svc
	s.mu.Lock()
	s.sessions.remove(sess)
	if sess.backend != nil {
		sess.backend.add(&sess.relay)
	}
	s.ended[e.Why].Add(1)
	s.mu.Unlock()

	if sess.backend != nil {
		s.giveBack(sess.backend)
	}
	if sess.admitted {
		s.admitted.Add(-1)
	}
	if sess.sourced {
		s.sources.leave(sourceOf(sess.client.Addr()))
	}
	s.active.Add(-1)
	s.budget.give(perSession)
	sess.log(e)
	sess.decided(e)
	if sess.relay.Ends == nil && !sess.wasKilled() { // else an engine may look at it still
		s.mu.Lock()
		if !s.closing { // else killAll may be about to kill it
			s.spare.give(sess)
		}
		s.mu.Unlock()
	}
	s.running.Done()
}

// log writes the session's line, if the configuration wants it.
func (sess *Session) log(e relay.End) {
	s := sess.svc
	switch {
	case e.Why == relay.Descriptors:
		if s.turned[e.Why].pass(s.sayShedding) {
			s.sayShedding(1)
		}
		return
	case sess.cfg.SessionLog == LogOff, sess.cfg.SessionLog == LogErrors && e.Why == relay.EOF:
		return
	case sess.cfg.SessionLog == LogErrors && sess.attempts == 0:
		if !s.turned[e.Why].pass(func(n int64) { s.sayTurnedAway(e, n) }) {
			return
		}
	}
	ctx := context.Background()
	if s.log.Enabled(ctx, slog.LevelInfo) {
		s.log.LogAttrs(ctx, slog.LevelInfo, "session", sess.attrs(e)...)
	}
}

// attrs are the fields of the session's line.
func (sess *Session) attrs(e relay.End) []slog.Attr {
	duration := strings.Replace((sess.svc.now() - sess.start).Round(time.Microsecond).String(), "µ", "u", 1)
	attrs := []slog.Attr{
		slog.String("service", sess.svc.name), slog.String("client", sess.clientName()),
		slog.String("backend", sess.backendName()), slog.Int("attempts", sess.attempts),
		slog.String("duration", duration),
		slog.Int64("bytes_to_backend", sess.relay.Moved(relay.ToBackend)),
		slog.Int64("bytes_to_client", sess.relay.Moved(relay.ToClient)),
		slog.Group("end", slog.String("who", e.Who.String()), slog.String("why", e.Why.String())),
	}
	if t := sess.troubles; t != nil {
		attrs = append(attrs, t.attrs()...)
	}
	return attrs
}

// attrs are what a session's line says of troubles there were.
func (t *troubles) attrs() (attrs []slog.Attr) {
	if t.held.total > 0 {
		attrs = append(attrs, slog.String("held", t.held.total.Round(time.Millisecond).String()))
	}
	if t.hedged > 0 {
		attrs = append(attrs, slog.Int("hedged", t.hedged))
	}
	if t.replayed > 0 {
		attrs = append(attrs, slog.Int("replayed", t.replayed))
	}
	if t.last != "" {
		attrs = append(attrs, slog.String("error", t.last))
	}
	if len(t.attempts) > 1 { // else it is the error
		attrs = append(attrs, slog.String("tried", attemptsText(t.attempts)))
	}
	return attrs
}

// sayTurnedAway logs how many clients were turned away for one reason, beyond the one
// that was logged by itself.
func (s *Service) sayTurnedAway(e relay.End, n int64) {
	s.log.LogAttrs(context.Background(), slog.LevelWarn, "clients turned away", slog.String("service", s.name),
		slog.Group("end", slog.String("who", e.Who.String()), slog.String("why", e.Why.String())),
		slog.Int64("clients", n))
}

// sayShedding logs that n clients were closed for want of descriptors.
func (s *Service) sayShedding(n int64) {
	s.log.LogAttrs(context.Background(), slog.LevelWarn, "shedding clients", slog.String("service", s.name),
		slog.String("reason", "descriptor limit"), slog.Int("limit", s.budget.Limit()),
		slog.Int64("sessions", s.active.Load()), slog.Int64("clients", n))
}

// stopThrottles reports what they hold back.
func (s *Service) stopThrottles() {
	for why := range s.turned {
		s.turned[why].stop(func(n int64) {
			if relay.Why(why) == relay.Descriptors {
				s.sayShedding(n)
				return
			}
			s.sayTurnedAway(relay.End{Who: relay.Sluice, Why: relay.Why(why)}, n)
		})
	}
}

func (sess *Session) clientName() string {
	if sess.client.IsValid() {
		return sess.client.String()
	}
	return "unix"
}

// backendName names the session's backend, or the last one it tried.
func (sess *Session) backendName() string {
	switch {
	case sess.backend != nil:
		return sess.backend.cfg.Name
	case sess.troubles != nil:
		return sess.troubles.name
	}
	return ""
}
