package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// quietGrace is how long a connection may say nothing before it has to give way to a
// new one. It covers a handshake from far away.
const quietGrace = 250 * time.Millisecond

// stuckGrace is how long a write to a connection may take before it has to give way likewise:
// its client does not read what it asked for.
const stuckGrace = time.Second

// room bounds the connections of a server. When it is full, a new one takes the place
// of one that has been quiet for long, or to which a write has been stuck: so that clients
// which say nothing, or not all that they announced, or do not read, keep nobody out. If there
// is none, the new one waits; those after it wait in the system's queue.
type room struct {
	max int

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool          // nobody enters any more
	changed chan struct{} // closed and replaced when a place may have become free
}

func newRoom(size int) *room {
	return &room{max: size, conns: make(map[*conn]struct{}), changed: make(chan struct{})}
}

// conn is a connection in the room.
type conn struct {
	net.Conn
	room *room

	// Held by room.mu.
	quiet   time.Time // since when the client's next word is awaited; zero = a request is served
	writing time.Time // since when a write has been under way; zero = none is
	evicted bool
}

// Write tells the room for how long it takes.
func (c *conn) Write(b []byte) (int, error) {
	c.room.writes(c, time.Now())
	defer c.room.writes(c, time.Time{})
	return c.Conn.Write(b)
}

// Close frees the place when the descriptor is free.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.room.leave(c)
	return err
}

// CloseWrite lets net/http end a connection so that the peer can still read the answer.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// enter waits for a place and takes it; false if done or the room was closed before.
func (m *room) enter(c *conn, done <-chan struct{}) bool {
	for {
		wait, changed, result := m.try(c)
		if result != later {
			return result == entered
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-done:
		}
		timer.Stop()
		if closed(done) {
			return false
		}
	}
}

// closed tells whether c is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What came of a try.
type tried int

const (
	entered tried = iota
	later         // after wait, or when changed is closed
	never
)

// try takes a place for c. If there is none, it makes one for the next try, or tells when
// that is worth it.
func (m *room) try(c *conn) (wait time.Duration, changed <-chan struct{}, result tried) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closing:
		return 0, nil, never
	case len(m.conns) < m.max:
		c.quiet = time.Now()
		m.conns[c] = struct{}{}
		return 0, nil, entered
	}
	victim, due := m.idlest()
	if victim == nil {
		return stuckGrace, m.changed, later // a write may get stuck meanwhile
	}
	if wait = time.Until(due); wait <= 0 {
		victim.evicted = true
		delete(m.conns, victim)
		victim.Conn.Close() // does not wait; the one that reads from it sees an error
	}
	return max(wait, 0), m.changed, later
}

// idlest returns the connection that has to give way first, and when; nil if each has a
// request under way and no write.
func (m *room) idlest() (c *conn, due time.Time) {
	for other := range m.conns {
		at := other.quiet.Add(quietGrace)
		switch {
		case !other.writing.IsZero():
			at = other.writing.Add(stuckGrace)
		case other.quiet.IsZero():
			continue
		}
		if c == nil || at.Before(due) {
			c, due = other, at
		}
	}
	return c, due
}

// writes notes since when a write to c has been under way; zero = it is over.
func (m *room) writes(c *conn, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.writing = since
}

// leave gives a place back. One that was evicted has none any more.
func (m *room) leave(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
	m.wake()
}

// wake lets those that wait try again; all of them, as more than one place may be free.
func (m *room) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// state is the http.Server's ConnState: a connection is quiet until the header of a
// request has been read, and after its answer. While its body is read, the handler says so.
func (m *room) state(nc net.Conn, st http.ConnState) {
	c := connOf(nc)
	if c == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch st {
	case http.StateActive:
		c.quiet = time.Time{}
	case http.StateIdle:
		c.quiet = time.Now()
		m.wake()
	}
}

// shut closes the quiet ones, so that a shutdown need not wait for them, and lets nobody in.
func (m *room) shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	m.wake()
	for c := range m.conns {
		if !c.quiet.IsZero() {
			c.evicted = true
			delete(m.conns, c)
			c.Conn.Close()
		}
	}
}

// connOf returns the room's part of a connection of the http.Server.
func connOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(nc))
}

// connIn returns the connection that r came by; nil outside of a server.
func connIn(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// evicted tells whether the request's connection was closed just as its header came: its
// answer cannot be delivered, so nothing should be done.
func evicted(r *http.Request) bool {
	c := connIn(r)
	if c == nil {
		return false
	}
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.evicted
}

// gate is a listener into the room.
type gate struct {
	net.Listener
	room *room
	stop sync.Once
	done chan struct{}
}

func (m *room) gate(ln net.Listener) *gate {
	return &gate{Listener: ln, room: m, done: make(chan struct{})}
}

// Accept returns the next connection that has found a place.
func (g *gate) Accept() (net.Conn, error) {
	nc, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, room: g.room}
	if !g.room.enter(c, g.done) {
		nc.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close ends an Accept that waits for a place too.
func (g *gate) Close() error {
	g.stop.Do(func() { close(g.done) })
	return g.Listener.Close()
}
