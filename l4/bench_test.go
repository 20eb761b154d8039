package l4

import (
	"fmt"
	"io"
	"testing"

	"github.com/sluicelb/sluice/picker"
)

func BenchmarkChoose(b *testing.B) {
	for _, policy := range picker.Policies() {
		b.Run(fmt.Sprintf("%s/100", policy), func(b *testing.B) {
			p, _, _ := pool(b, policy, plain(100)...)
			b.ReportAllocs()
			for key := uint64(0); b.Loop(); key += 0x9e3779b97f4a7c15 {
				chosen, _ := p.choose(key, nil)
				chosen.give()
			}
		})
	}
}

// A session from accept to close, with a byte each way, and what it costs without a
// balancer between.
func BenchmarkSession(b *testing.B) {
	f := backend(b, echo)
	r := serve(b, Config{SessionLog: LogOff}, f.config("b"))
	for _, c := range []struct{ name, address string }{{"direct", f.address}, {"balanced", r.address}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			one := []byte("x")
			for b.Loop() {
				conn, err := dialer("").Dial("tcp", c.address)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := conn.Write(one); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, one); err != nil {
					b.Fatal(err)
				}
				abort(conn) // no TIME_WAIT: a long run would be out of ports
			}
		})
	}
	b.Cleanup(func() { r.awaitActive(0) })
}

func BenchmarkProxyHeader(b *testing.B) {
	for name, header := range map[string]string{"v1": line4, "v2": v2(proxied, tcp4, block4), "v2tlv": v2(proxied, tcp4, block4, tlv(0xea, make([]byte, 200)))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			whole := []byte(header)
			for b.Loop() {
				if _, _, err := readProxyHeader(&pieces{whole}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
