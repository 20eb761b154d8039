package load

import (
	"context"
	"net"

	"github.com/sluicelb/sluice/bench/stream"
)

// Bulk moves data between a stream server at Addr and clients as fast as it goes.
type Bulk struct {
	Addr string
	// Streams is the number of connections, at least 1.
	Streams int
	// Upload is true from client to server, false from server to client.
	Upload bool
}

// Run moves data until ctx ends, and counts bytes in t: on download those that arrived
// at a client, on upload those that a client could write.
func (l Bulk) Run(ctx context.Context, t *Tally) {
	move := stream.Download
	if l.Upload {
		move = stream.Upload
	}
	each(l.Streams, func(int) {
		for ctx.Err() == nil {
			if err := l.once(ctx, t, move); err != nil {
				t.Fail(err)
				rest(ctx)
			}
		}
	})
}

func (l Bulk) once(ctx context.Context, t *Tally, move func(context.Context, net.Conn, func(int)) error) error {
	c, err := dial(l.Addr, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return move(ctx, c, func(n int) { t.Add(int64(n)) })
}
