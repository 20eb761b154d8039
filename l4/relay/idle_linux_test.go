package relay

import (
	"runtime"
	"testing"
)

const idleSessions = 1000

// BenchmarkIdle reports what sessions hold that have moved a message each way and are
// silent since: memory of heap and stacks beyond what package net holds for the
// connections that are given to an engine, which counts as held unless it is let go.
func BenchmarkIdle(b *testing.B) {
	for _, c := range engines() {
		b.Run(c.name, func(b *testing.B) {
			var perSession float64
			for b.Loop() {
				perSession = idleBytes(b, c)
			}
			b.ReportMetric(perSession, "B/session")
		})
	}
}

// idleBytes is the memory of a session, less that of its test's far ends.
func idleBytes(b *testing.B, c engineCase) float64 {
	e := c.make()
	defer e.Close()
	ended := make(owner, idleSessions)
	far := make([][2]Conn, idleSessions)
	near := make([]*Session, idleSessions)
	rest := inUse()
	for i := range near {
		var client, backend Conn
		client, far[i][0] = pair(b, "tcp")
		backend, far[i][1] = pair(b, "tcp")
		near[i] = &Session{Ends: &Ends{Client: client, Backend: backend}, Owner: ended}
	}
	connections := inUse() - rest
	for i, s := range near {
		e.Start(s)
		for d, f := range []flow{up, down} {
			if err := f.send(far[i][d], 0, 100, 100); err != nil {
				b.Fatal(err)
			}
			if err := f.expect(far[i][1-d], 0, 100); err != nil {
				b.Fatal(err)
			}
		}
	}
	// Half of the connections' memory is the far ends'.
	held := float64(inUse()-rest) - float64(connections)/2
	for _, ends := range far {
		ends[0].Close()
		ends[1].Close()
	}
	e.Wait()
	return held / idleSessions
}

// inUse returns the bytes of heap and stacks in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
