package health

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// direct probes one address without package net: a socket that is asked whether it is
// connected, and left alone until its peer has had time to end too. Most probes of backends
// nearby need neither the poller nor a goroutine to be woken, which cost as much as the
// connection itself.
type direct struct {
	addr netip.AddrPort

	mu  sync.Mutex
	bye farewell
}

// newDirect returns nil for an endpoint that needs package net: a name, a zone, a socket that
// is not TCP's, or a system where there is no such way.
func newDirect(t Endpoint) *direct {
	if !haveDirect || len(t.Preamble) > 0 {
		return nil
	}
	switch addr, err := netip.ParseAddrPort(t.Address); {
	case err != nil, addr.Addr().Zone() != "", addr.Port() == 0, addr.Addr().IsUnspecified():
		return nil
	case t.Network == "tcp", t.Network == "tcp4" && addr.Addr().Is4(), t.Network == "tcp6" && addr.Addr().Is6() && !addr.Addr().Is4In6():
		return &direct{addr: netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), bye: farewell{fd: -1}}
	}
	return nil
}

// A connection that says goodbye is looked at after firstLook, and then after twice the time,
// always together with others: of backends nearby it is over by the first look, so that no
// descriptor is held for long.
const (
	firstLook = time.Millisecond
	lookBeat  = 2 * time.Millisecond
)

// farewell is the connection of the newest probe, while it says goodbye.
type farewell struct {
	fd    int // of none: -1
	left  int // bytes that may still be read
	began time.Time
	delay time.Duration
	look  *time.Timer // made with the first
}

// leave says goodbye as the function of that name does, while nobody waits for it.
func (d *direct) leave(fd int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.part()
	b := &d.bye
	b.fd, b.left, b.began, b.delay = fd, goodbyeBytes, time.Now(), firstLook
	if b.look == nil {
		b.look = time.AfterFunc(onBeat(b.delay, lookBeat), d.look)
		return
	}
	b.look.Reset(onBeat(b.delay, lookBeat))
}

// look ends a farewell if the peer has ended too or had its time, or looks again later.
func (d *direct) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &d.bye
	if b.fd < 0 {
		return // it was ended just now
	}
	if take(b.fd, &b.left) || time.Since(b.began) >= goodbyeTime {
		d.part()
		return
	}
	b.delay = min(2*b.delay, goodbyeTime/2)
	b.look.Reset(onBeat(b.delay, lookBeat))
}

// part ends the farewell that there is: the next probe's is to come, so that a backend that
// never ends costs one socket, or nobody is left to probe. With mu held.
func (d *direct) part() {
	if d.bye.fd >= 0 {
		d.bye.look.Stop()
		closeFD(d.bye.fd)
		d.bye.fd = -1
	}
}

// close ends the farewell that there is.
func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.part()
}

// probe connects and leaves. Its errors are those of [Endpoint.Dial].
func (d *direct) probe(ctx context.Context, t Endpoint) error {
	if err := ctx.Err(); err != nil {
		return &Failure{Step: "connect", Err: t.dialReason(ctx, err)}
	}
	fd, err := d.connect(ctx)
	switch {
	case err == errItself: //nolint:errorlint // it is that very value
		return err
	case err != nil:
		return &Failure{Step: "connect", Err: t.dialReason(ctx, err)}
	}
	if endStream(fd) {
		d.leave(fd)
	}
	return nil
}
