package relay

import (
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// The load of a benchmark runs in a process of its own, so that the CPU of this one
// is the relay's. It connects twice to the address it is given, first as the client
// and then as the backend of one session, does its work, and begins again.

const (
	bulkBytes   = 256 << 20
	rounds      = 5000
	crowd       = 50 // sessions at one time
	crowdRounds = 200
)

// loads are the parts that TestMain lets the test binary play.
var loads = map[string]func(addr string){
	"bulk":    func(addr string) { sessions(addr, bulk) },
	"crowd":   crowds,
	"rounds":  func(addr string) { sessions(addr, roundTrips) },
	"session": func(addr string) { sessions(addr, oneMessage) },
}

// sessions repeats the work until the benchmark is over: its listener is gone then.
func sessions(addr string, work func(client, backend net.Conn)) {
	for {
		client, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		backend, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		work(client, backend)
		client.Close()
		backend.Close()
	}
}

func bulk(client, backend net.Conn) {
	go func() {
		up.send(client, 0, bulkBytes, 1<<20)
		client.(Conn).CloseWrite()
	}()
	buf := make([]byte, 1<<20)
	for {
		if _, err := backend.Read(buf); err != nil {
			return
		}
	}
}

func roundTrips(client, backend net.Conn) {
	there, back := make([]byte, 100), make([]byte, 100)
	for range rounds {
		client.Write(there)
		io.ReadFull(backend, back)
		backend.Write(back)
		io.ReadFull(client, there)
	}
}

// crowds is round trips of many sessions at one time.
func crowds(addr string) {
	for {
		var ends [2 * crowd]net.Conn
		for i := range ends {
			var err error
			if ends[i], err = net.Dial("tcp", addr); err != nil {
				return
			}
		}
		var wg sync.WaitGroup
		for i := 0; i < len(ends); i += 2 {
			client, backend := ends[i], ends[i+1]
			wg.Go(func() { io.Copy(backend, struct{ io.Reader }{backend}); backend.Close() })
			wg.Go(func() {
				message := make([]byte, 100)
				for range crowdRounds {
					client.Write(message)
					io.ReadFull(client, message)
				}
				client.Close()
			})
		}
		wg.Wait()
	}
}

func oneMessage(client, backend net.Conn) {
	message := make([]byte, 100)
	client.Write(message)
	io.ReadFull(backend, message)
	backend.Write(message)
	io.ReadFull(client, message)
	client.(Conn).CloseWrite()
	io.ReadFull(backend, message) // the end
}

// relay is what is measured: it relays a session and returns when that has ended.
type relay struct {
	name string
	run  func(client, backend Conn)
}

func relays(b *testing.B) []relay {
	all := []relay{{"two-io-copy", twoCopies}}
	for _, c := range engines() {
		e := c.make()
		b.Cleanup(e.Close)
		all = append(all, relay{c.name, func(client, backend Conn) {
			ended := make(owner, 1)
			e.Start(&Session{Ends: &Ends{Client: client, Backend: backend}, Owner: ended})
			<-ended
		}})
	}
	return all
}

// twoCopies is the plainest proxy there is.
func twoCopies(client, backend Conn) {
	var wg sync.WaitGroup
	one := func(dst, src Conn) {
		io.Copy(dst, src)
		dst.CloseWrite()
	}
	wg.Go(func() { one(backend, client) })
	wg.Go(func() { one(client, backend) })
	wg.Wait()
	client.Close()
	backend.Close()
}

// benchmark measures each relay under a load; amount is what one session of it moves,
// in the unit that CPU is reported for, together how many there are at one time.
func benchmark(b *testing.B, load string, together int, amount float64, unit string) {
	for _, r := range relays(b) {
		b.Run(r.name, func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			child := exec.Command(os.Args[0], ln.Addr().String())
			child.Env = append(os.Environ(), roleVariable+"="+load)
			if err := child.Start(); err != nil {
				b.Fatal(err)
			}
			defer child.Wait()
			defer child.Process.Kill()
			defer ln.Close()
			accept := func() Conn {
				c, err := ln.Accept()
				if err != nil {
					b.Fatal(err)
				}
				return c.(Conn)
			}
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				var wg sync.WaitGroup
				for range together {
					client, backend := accept(), accept()
					wg.Go(func() { r.run(client, backend) })
				}
				wg.Wait()
			}
			if used := cpuTime() - before; used > 0 {
				b.ReportMetric(used.Seconds()/float64(b.N*together)/amount, unit)
			}
		})
	}
}

func BenchmarkBulk(b *testing.B) {
	b.SetBytes(bulkBytes)
	benchmark(b, "bulk", 1, float64(bulkBytes)/(1<<30), "cpu-s/GB")
}

func BenchmarkRoundTrip(b *testing.B) { benchmark(b, "rounds", 1, rounds/1e6, "cpu-µs/round") }

func BenchmarkSession(b *testing.B) { benchmark(b, "session", 1, 1.0/1e6, "cpu-µs/session") }

func BenchmarkCrowd(b *testing.B) {
	benchmark(b, "crowd", crowd, crowdRounds/1e6, "cpu-µs/round")
}
