package health

import "context"

type tcpProber struct{ endpoint Endpoint }

// TCP returns a prober that connects, sends the preamble if there is one, and says
// goodbye. A connect that succeeds is a pass, so it proves that the kernel accepts for the
// backend, no more: a frozen process passes until its accept queue is full.
//
// The backend sees a connection without payload that ends in order. Most keep
// quiet about that. PostgreSQL before 14 logs an incomplete startup packet for each, and
// MySQL counts an aborted handshake, too many of which block the prober's address
// (max_connect_errors): probe those with their own protocol.
func TCP(t Endpoint) Prober { return tcpProber{t} }

func (p tcpProber) Probe(ctx context.Context) error {
	conn, err := p.endpoint.Dial(ctx)
	if err != nil {
		return err
	}
	goodbye(ctx, conn)
	return nil
}
