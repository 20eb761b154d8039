package mysql

import (
	"net"
	"sync"
	"time"
)

// keptFor is how long a connection is waited on, whatever the kernels say of it: one that
// the server has lost must not keep a backend down that greets others. One handshake in so
// long, counted against this host, blocks nobody for hours.
const keptFor = 5 * time.Minute

// keptAlive has the kernel notice within seconds that the server's machine is gone, or that
// its address is another's now: nothing is sent meanwhile, so nothing else would show it.
var keptAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}

// kept is the connection of a probe whose time was over before the server had greeted. A
// frozen server finds it when it goes on, and the probe that waits on it logs in; each one
// given up instead would be a handshake error of this host to the server.
type kept struct {
	mu   sync.Mutex
	conn net.Conn // nil: none
	made time.Time
}

// put keeps conn. It does not if that is too old, or if there is another one.
func (k *kept) put(conn net.Conn, made time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil || time.Since(made) > keptFor {
		return false
	}
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetKeepAliveConfig(keptAlive) // without it keptFor has to do
	}
	k.conn, k.made = conn, made
	return true
}

// take returns the connection that is kept, and since when it is there; nil if there is none.
func (k *kept) take() (net.Conn, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	conn := k.conn
	k.conn = nil
	return conn, k.made
}
