package relay

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// leaveDialling gives the owner the session's dial, which is not answered yet, then the
// client.
func (l *loop) leaveDialling(slot int32) {
	r := l.record(slot)
	leg := &r.legs[ToBackend]
	epollControl(l.epoll, unix.EPOLL_CTL_DEL, leg.fd, nil)
	l.owner(slot).opener().Silent(&dialling{fd: leg.fd, port: r.port, tcp: leg.tcp})
	leg.fd = none
	l.leave(slot)
}

// dialling is a connecting socket.
type dialling struct {
	fd   int32
	port uint16
	tcp  bool
}

// Abandon implements Dialling.
func (d *dialling) Abandon() { closeNow(d.fd, true) }

// Wait implements Dialling. Package os's poller waits: package net's would have to know
// the peer's address already.
func (d *dialling) Wait(ctx context.Context) (Conn, error) {
	f := os.NewFile(uintptr(d.fd), "backend")
	defer f.Close()
	if err := d.connected(ctx, f); err != nil {
		resetLinger(d.fd)
		return nil, err
	}
	own, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		resetLinger(d.fd)
		return nil, err
	}
	return connOf(int32(own))
}

// connected waits for the dial's end.
func (d *dialling) connected(ctx context.Context, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { f.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var peer rawAddress
	failed := raw.Write(func(uintptr) (done bool) {
		err = descriptor{int(d.fd), d.tcp}.pendingError()
		return err != nil || peerOf(d.fd, &peer) == 0
	})
	switch {
	case errors.Is(failed, os.ErrDeadlineExceeded):
		return context.Cause(ctx)
	case failed != nil:
		return failed
	case err == nil && d.tcp && metItself(d.fd, d.port):
		return ErrSelf
	}
	return err
}
