package admin

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// How long a client may take. Whoever is slower is either gone or not well-meaning: all of
// it is small, and most of it comes from the same machine.
const (
	headerTimeout = 5 * time.Second  // for a TLS handshake, and again for the header of a request
	bodyTimeout   = 10 * time.Second // for its body, from the end of the header
	answerTimeout = 30 * time.Second // from the end of the header to that of the answer; streams have none
	idleTimeout   = time.Minute      // between two requests
	lingerTimeout = time.Second      // for the rest of a body that is refused
)

// How much a client may take.
const (
	maxHeader      = 16 << 10
	maxLinger      = 16 << 20 // bytes of a body that is refused
	maxStreams     = 16       // of events, at one time
	maxPlans       = 2        // at one time: each holds a whole file
	maxConnections = 64       // unless Config says otherwise
)

// ErrServerClosed is what Serve returns after Shutdown or Close.
var ErrServerClosed = errors.New("admin: server closed")

// Config is what a Server needs.
type Config struct {
	Control api.Control

	// Metrics serves /metrics, Page everything outside of /api, /metrics, /healthz and
	// /readyz. Page is served to anybody, so it has to be static. nil = 404.
	Metrics http.Handler
	Page    http.Handler

	// PageToken is what Page sends as X-Sluice-Page with a change. "" = no change from a
	// browser is accepted.
	PageToken string

	// Token is what clients send as Authorization: Bearer. "" = none is needed.
	Token string

	// TLS holds the certificate. nil = plain HTTP. With ClientCAs, clients have to show a
	// certificate of one of them.
	TLS *tls.Config

	// Connections is how many are open at one time; 0 = 64. One more is accepted and waits.
	Connections int

	Log *slog.Logger // nil = discarded
}

// withDefaults returns a validated copy. The caller's TLS configuration is cloned, since
// net/http writes into it.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Control == nil:
		return c, errors.New("admin: Control is required")
	case c.Connections < 0:
		return c, fmt.Errorf("admin: Connections is %d; want 0 (%d) or more", c.Connections, maxConnections)
	case c.Connections == 0:
		c.Connections = maxConnections
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
		if c.TLS.ClientCAs != nil {
			c.TLS.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	return c, nil
}

// guards is what c has of what Guards.Check asks for.
func (c Config) guards() Guards {
	return Guards{Token: c.Token != "", TLS: c.TLS != nil, ClientCA: c.TLS != nil && c.TLS.ClientCAs != nil}
}

// Server is the admin server. Its life is that of an http.Server.
type Server struct {
	cfg     Config
	guards  Guards
	token   [sha256.Size]byte // of cfg.Token, so that comparing tells nothing of its length
	page    [sha256.Size]byte // of cfg.PageToken
	cross   *http.CrossOriginProtection
	mux     *http.ServeMux
	http    *http.Server
	room    *room
	streams chan struct{} // holds one for each that is open
	plans   chan struct{}

	stop     sync.Once
	stopping chan struct{} // closed when streams are to end

	mu       sync.Mutex
	closed   bool // no handler starts any more
	handlers sync.WaitGroup
}

// New makes a server that serves nothing yet.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, guards: cfg.guards(),
		token: sha256.Sum256([]byte(cfg.Token)), page: sha256.Sum256([]byte(cfg.PageToken)),
		cross:    http.NewCrossOriginProtection(),
		room:     newRoom(cfg.Connections),
		streams:  make(chan struct{}, min(maxStreams, max(1, cfg.Connections/2))), // leave room for questions
		plans:    make(chan struct{}, maxPlans),
		stopping: make(chan struct{}),
	}
	s.mux = s.routes()
	s.http = &http.Server{
		Handler:                      http.HandlerFunc(s.serveHTTP),
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    cfg.TLS,
		ReadHeaderTimeout:            headerTimeout,
		WriteTimeout:                 answerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader,
		ConnState:                    s.room.state,
		ConnContext:                  withConn,
		Protocols:                    new(http.Protocols),
		// Failed handshakes and the like: anybody can cause as many as they like.
		ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	s.http.Protocols.SetHTTP1(true) // a connection is one request at a time: the room counts on it
	return s, nil
}

// Serve serves ln until Shutdown or Close, then returns ErrServerClosed; it closes ln. It
// refuses one that Guards.Check would.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.guards.Check(addressOf(ln.Addr())); err != nil {
		ln.Close()
		return err
	}
	// TLS goes on top of the room, so that handshakes have their place in it too.
	g := s.room.gate(ln)
	serve := s.http.Serve
	if s.cfg.TLS != nil {
		serve = func(ln net.Listener) error { return s.http.ServeTLS(ln, "", "") }
	}
	err := serve(g)
	// The room may close before net/http knows that it is to stop.
	if errors.Is(err, http.ErrServerClosed) || closed(s.stopping) {
		return ErrServerClosed
	}
	return fmt.Errorf("admin: %w", err)
}

// Shutdown closes the listeners, ends the streams, and waits for the requests that are
// under way until ctx is done. Serve returns at once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.endStreams()
	s.room.shut()
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// Close closes everything, and waits for the calls of Control that are under way: so no
// method of Control may call it.
func (s *Server) Close() error {
	// First, so that no handler is added while they are waited for.
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.endStreams()
	s.room.shut()
	err := s.http.Close()
	s.handlers.Wait()
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// endStreams ends what would keep a shutdown waiting for ever.
func (s *Server) endStreams() { s.stop.Do(func() { close(s.stopping) }) }

// enter counts a handler, unless Close has been called or its connection was taken away.
func (s *Server) enter(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || evicted(r) {
		return false
	}
	s.handlers.Add(1)
	return true
}
