package health

import "context"

type tcpProber struct {
	endpoint Endpoint
	direct   *direct // nil: by package net
}

// TCP returns a prober that connects, sends the preamble if there is one, and says
// goodbye. A connect that succeeds is a pass, so it proves that the kernel accepts for the
// backend, no more: a frozen process passes until its accept queue is full. It may still say
// goodbye when Probe has returned, until the next one: it is an [io.Closer], which cuts that short.
//
// The backend sees a connection without payload that ends in order. Most keep
// quiet about that. PostgreSQL before 14 logs an incomplete startup packet for each, and
// MySQL counts an aborted handshake, too many of which block the prober's address
// (max_connect_errors): probe those with their own protocol.
func TCP(t Endpoint) Prober { return tcpProber{t, newDirect(t)} }

func (p tcpProber) Probe(ctx context.Context) error {
	if p.direct != nil {
		return p.direct.probe(ctx, p.endpoint)
	}
	conn, err := p.endpoint.Dial(ctx)
	if err != nil {
		return err
	}
	goodbye(ctx, conn)
	return nil
}

// Close implements io.Closer. No Probe may be under way.
func (p tcpProber) Close() error {
	if p.direct != nil {
		p.direct.close()
	}
	return nil
}
