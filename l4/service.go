package l4

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Service balances the connections of its listeners over the backends of its pool.
type Service struct {
	name     string
	live     atomic.Pointer[settings]
	decision func(Decision)
	ids      *atomic.Uint64
	engine   relay.Engine
	budget   *Descriptors
	born     time.Time
	own      bool // the engine is
	log      *slog.Logger
	pool     *Pool
	ctx      context.Context // ends when remaining sessions are to be killed: cancels dials
	cancel   context.CancelFunc

	active   atomic.Int64 // sessions begun
	admitted atomic.Int64 // those of them that count towards the limit
	sources  sources
	ended    [relay.NumWhy]atomic.Int64
	turned   [relay.NumWhy]throttle
	tuneErr  sync.Once

	room    waitingRoom
	pausing pausing

	stopping  chan struct{}  // closed when the listeners are: ends the pauses of Serve
	accepting sync.WaitGroup // Serve calls
	running   sync.WaitGroup // sessions, and dials that another was quicker than
	closings  sync.WaitGroup // of the sessions of backends

	counting sync.Mutex // of the payload, by one at a time

	mu        sync.Mutex // guards the rest
	closing   bool       // with stopping closed
	shut      bool       // nobody accepts any more
	listeners map[net.Listener]struct{}
	sessions  sessionList
	spare     spareSessions
}

// New makes a service. Its pool is empty; see Pool. Errors wrap ErrConfig.
func New(cfg Config) (*Service, error) {
	own := cfg.Engine == nil
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{
		name:      cfg.Name,
		engine:    cfg.Engine,
		budget:    cfg.Descriptors,
		decision:  cfg.Decision,
		ids:       cfg.IDs,
		born:      time.Now(),
		own:       own,
		log:       cfg.Log,
		stopping:  make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
	}
	s.live.Store(newSettings(cfg))
	s.room.most = cfg.MaxHeld
	s.pool = newPool(poolConfig{
		service: cfg.Name, balance: cfg.Balance, log: cfg.Log, rules: rulesOf(cfg),
		withdrawn: s.withdrawn, transition: cfg.Transition, outages: cfg.Outage, free: s.room.signal,
	}, cfg.SlowStart)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// now returns the time since the service was made: never zero, and of half the size.
func (s *Service) now() time.Duration { return max(time.Since(s.born), 1) }

// at returns the time that now returned.
func (s *Service) at(d time.Duration) time.Time { return s.born.Add(d) }

// Name returns the service's name.
func (s *Service) Name() string { return s.name }

// Pool returns the service's backends.
func (s *Service) Pool() *Pool { return s.pool }

// Serve accepts connections on ln until the service is shut down, and closes ln. It
// returns ErrServiceClosed then, and another error only if ln was closed by somebody
// else. A service may serve several listeners at a time.
func (s *Service) Serve(ln net.Listener) error {
	if !s.add(ln) {
		ln.Close()
		return ErrServiceClosed
	}
	defer s.accepting.Done()
	defer s.remove(ln)
	err := newAcceptor(s, ln).run()
	if s.isClosing() {
		return ErrServiceClosed
	}
	return fmt.Errorf("l4: service %q: %w", s.name, err)
}

func (s *Service) add(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.listeners[ln] = struct{}{}
	s.accepting.Add(1)
	return true
}

func (s *Service) remove(ln net.Listener) {
	ln.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
}

func (s *Service) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Shutdown drains the service: it closes the listeners, waits for the sessions to
// end, and when ctx is done resets those that are left. It returns how many those
// were.
func (s *Service) Shutdown(ctx context.Context) (forced int) {
	s.stopListening()
	s.resume("the service ends") // who waits for the end of a pause is served
	drained := make(chan struct{})
	go func() {
		s.running.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
		forced = s.killAll(relay.End{Who: relay.Operator, Why: relay.Drain})
		<-drained
	}
	s.stopThrottles()
	s.pool.close()
	s.cancel()
	s.closings.Wait()
	if s.own {
		s.engine.Close()
	}
	return forced
}

// Close ends the service and its sessions at once.
func (s *Service) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ctx)
}

func (s *Service) stopListening() {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.stopping)
	}
	for ln := range s.listeners {
		ln.Close()
	}
	s.mu.Unlock()
	s.accepting.Wait()
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
}

// killAll ends every session and returns how many there were.
func (s *Service) killAll(e relay.End) int {
	s.cancel()
	s.mu.Lock()
	all := slices.Collect(s.sessions.all)
	s.mu.Unlock()
	for _, sess := range all {
		sess.kill(e)
	}
	return len(all)
}
