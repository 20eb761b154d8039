package picker

import (
	"fmt"
	"net/netip"
	"testing"
)

func BenchmarkPick(b *testing.B) {
	keys := clientKeys(1024)
	for _, policy := range Policies() {
		for _, n := range []int{3, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				p := mustNew(b, policy, equal(n), Options{})
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for k := 0; pb.Next(); k++ {
						if p.Pick(keys[k&1023], nil) < 0 {
							b.Error("none picked")
						}
					}
				})
			})
		}
	}
}

// The second try of a session: one backend is avoided.
func BenchmarkPickAgain(b *testing.B) {
	keys := clientKeys(1024)
	for _, policy := range Policies() {
		b.Run(fmt.Sprintf("%s/100", policy), func(b *testing.B) {
			p := mustNew(b, policy, equal(100), Options{})
			avoid := NewSet(100)
			b.ReportAllocs()
			for k := 0; b.Loop(); k++ {
				key := keys[k&1023]
				avoid.Reset()
				avoid.Add(p.Pick(key, nil))
				p.Pick(key, avoid)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, policy := range Policies() {
		for _, n := range []int{100, 1000} {
			backends := equal(n)
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					mustNew(b, policy, backends, Options{})
				}
			})
		}
	}
}

// Weights that share no divisor make the longest tables.
func BenchmarkBuildMixed(b *testing.B) {
	backends := mixed(1000, MaxWeight)
	for _, policy := range []string{RoundRobin, Random, SourceHash, Maglev} {
		b.Run(fmt.Sprintf("%s/1000", policy), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustNew(b, policy, backends, Options{})
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	addr := netip.MustParseAddr("10.1.2.3")
	b.ReportAllocs()
	for b.Loop() {
		Hash(addr)
	}
}
