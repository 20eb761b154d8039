package ratelimit

import (
	"fmt"
	"testing"
)

func BenchmarkAllow(b *testing.B) {
	for _, sources := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("known/%d", sources), func(b *testing.B) {
			l := New(10, 0, 0) // most are over their rate
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Allow(addr(i % sources))
			}
		})
	}
	b.Run("flood", func(b *testing.B) {
		l := New(10, 0, 0)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			l.Allow(addr(i))
		}
	})
}
