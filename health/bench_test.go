package health

import (
	"testing"
	"time"
)

// BenchmarkDialOK is the hot path: what every session pays while nothing is wrong.
func BenchmarkDialOK(b *testing.B) {
	m, err := NewMonitor(config())
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	member := m.Add(nil, newGate())
	b.ReportAllocs()
	for b.Loop() {
		member.DialOK(time.Now())
		member.Answered()
	}
}
