//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// It logs how long small requests take beside bulk, and asserts no time: that is for a quiet machine to compare.
// Serial: it is load.
func TestSmallRequestsAreAnsweredBesideEightBulkStreams(t *testing.T) {
	for _, engine := range []string{loops, "portable"} {
		t.Run(engine, func(t *testing.T) {
			const streams, clients, requests = 8, 4, 250
			// Everybody but the clients that are timed is in another process, for the scheduler of this one would
			// let them wait for bulk as well.
			small, source, sink := parts.StartPeer(t, "echo", ""), parts.StartPeer(t, "pour", ""), parts.StartPeer(t, "pull", "")
			s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), Engine: engine, YAML: service(noCheck, source.Addr) +
				"  - {name: small, listen: \"127.0.0.1:0\", check: {type: none}, backends: [\"" + small.Addr + "\"]}\n"})
			alone := smallRequests(t, s.Addr(t, "small"), clients, requests)

			var moved [streams]atomic.Int64
			var reading sync.WaitGroup
			var conns []net.Conn
			for i := range moved {
				c := parts.Dial(t, sink.Addr)
				_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
				parts.Write(t, c, s.Addr(t, "s")+"\n")
				conns = append(conns, c)
				reading.Go(func() { count(t, c, &moved[i]) })
			}
			for i := range moved {
				bytesMove(t, fmt.Sprintf("stream %d", i), &moved[i])
			}
			begin, before := time.Now(), loadAll(moved[:])
			beside := smallRequests(t, s.Addr(t, "small"), clients, requests)
			took, after := time.Since(begin), loadAll(moved[:])
			t.Logf("%s: 99th percentile of %d small requests %v, beside %d bulk streams of %.2f GB/s together %v (median %v, was %v)",
				engine, len(beside), percentile(alone, 99), streams, float64(after-before)/1e9/took.Seconds(),
				percentile(beside, 99), percentile(beside, 50), percentile(alone, 50))
			for i := range moved { // each still moves
				bytesMove(t, fmt.Sprintf("stream %d", i), &moved[i])
			}
			for _, c := range conns {
				_ = c.Close()
			}
			reading.Wait()
		})
	}
}

// pull is told an address, reads the stream from there, and reports each megabyte by a byte. Anything that is wrong
// with the stream ends the report.
func pull(c net.Conn) {
	addr, err := parts.Name(c)
	if err != nil {
		return
	}
	stream, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer stream.Close()
	k, reported := newChecker(stream, streamPiece), int64(0)
	for err == nil {
		if _, err = k.read(); err != nil {
			return
		}
		for ; reported < k.total>>20 && err == nil; reported++ {
			_, err = c.Write([]byte("m"))
		}
	}
}

// count adds up what pull reports until c is closed.
func count(t *testing.T, c net.Conn, moved *atomic.Int64) {
	buf := make([]byte, 100)
	for {
		n, err := c.Read(buf)
		moved.Add(int64(n) << 20)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.Errorf("a bulk stream: %v", err)
			return
		}
	}
}

func loadAll(list []atomic.Int64) int64 {
	sum := int64(0)
	for i := range list {
		sum += list[i].Load()
	}
	return sum
}

// smallRequests makes n requests of 100 bytes on each of so many sessions at once, one after the other. It returns how
// long they took, in order of size.
func smallRequests(t *testing.T, addr string, sessions, n int) []time.Duration {
	t.Helper()
	took := make([][]time.Duration, sessions)
	each(t, sessions, func(i int) error {
		c, err := parts.TryDial("", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		for r := range n {
			begin := time.Now()
			if err := ask(c, fmt.Sprintf("%0100d", r)); err != nil {
				return fmt.Errorf("request %d of session %d: %w", r, i, err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
		return nil
	})
	all := slices.Concat(took...)
	slices.Sort(all)
	return all
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100].Round(time.Microsecond)
}
