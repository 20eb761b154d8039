package load

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

func TestLongSessionsLiveUntilTheLoadEnds(t *testing.T) {
	talks := Talkers{Speech: Numbered(), Addr: serveTalk(t), Clients: 3, FirstSession: 50, Stuck: 10 * time.Second}.Run(within(t, 300*time.Millisecond))
	slices.SortFunc(talks, func(a, b Talk) int { return int(a.Session) - int(b.Session) })
	if len(talks) != 3 {
		t.Fatalf("%+v", talks)
	}
	clients := make(map[int]bool)
	for i, s := range talks {
		clients[s.Client] = true
		if s.Session != 50+uint64(i) || s.Failure != "" || s.Backend != 3 || s.Sent == 0 || s.Answered != s.Sent || s.Waits != nil || s.Ended <= s.Began {
			t.Errorf("%+v", s)
		}
	}
	if len(clients) != 3 {
		t.Errorf("held by %v", clients)
	}
}

// answers gives each message of a session to say, with its answer.
func answers(say func(c net.Conn, number int, answer []byte)) func(net.Conn) {
	return func(c net.Conn) {
		b := make([]byte, talk.Size)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			session, number, err := talk.ParseRequest(b)
			if err != nil {
				return
			}
			say(c, int(number), talk.Answer(nil, session, number, 0))
		}
	}
}

func TestALongSessionThatFailsIsFollowedByAnother(t *testing.T) {
	write := func(c net.Conn, b []byte) { _, _ = c.Write(b) }
	for _, tt := range []struct {
		name  string
		want  Failure
		third func(c net.Conn, answer []byte) // message 2
	}{
		{"doubled", Wrong, func(c net.Conn, b []byte) { write(c, append(b, b...)) }},
		{"lost", Wrong, func(net.Conn, []byte) {}},
		{"swapped", Wrong, func(c net.Conn, b []byte) { b[1], b[2] = b[2], b[1]; write(c, b) }},
		{"cut within", Closed, func(c net.Conn, b []byte) { write(c, b[:10]); _ = c.Close() }},
		{"closed", Closed, func(c net.Conn, _ []byte) { _ = c.(*net.TCPConn).CloseWrite(); _, _ = io.Copy(io.Discard, c) }},
		{"reset", Reset, func(c net.Conn, _ []byte) { reset(c) }},
		{"another backend", Wrong, func(c net.Conn, _ []byte) { write(c, talk.Answer(nil, 0, 2, 9)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var failed atomic.Bool
			addr := serve(t, answers(func(c net.Conn, number int, b []byte) {
				if number == 2 && failed.CompareAndSwap(false, true) {
					tt.third(c, b)
					return
				}
				write(c, b)
			}))
			talks := Talkers{Speech: Numbered(), Addr: addr, Clients: 1, Stuck: 10 * time.Second}.Run(within(t, time.Second))
			if len(talks) != 2 || talks[0].Failure != tt.want || talks[0].Backend != 0 || talks[1].Failure != "" || talks[1].Session != 1 {
				t.Errorf("%+v", talks)
			}
		})
	}
}

func TestASessionThatWaitsTellsHowLong(t *testing.T) {
	var held Span
	var mu sync.Mutex
	began := time.Now()
	addr := serve(t, answers(func(c net.Conn, number int, b []byte) {
		if number == 2 {
			mu.Lock()
			held.From = time.Since(began)
			mu.Unlock()
			<-time.After(400 * time.Millisecond)
			mu.Lock()
			held.To = time.Since(began)
			mu.Unlock()
		}
		_, _ = c.Write(b)
	}))
	talks := Talkers{Speech: Numbered(), Addr: addr, Clients: 1, Stuck: 300 * time.Millisecond, Since: began}.Run(within(t, time.Second))
	mu.Lock()
	defer mu.Unlock()
	if len(talks) != 1 || talks[0].Failure != "" || len(talks[0].Waits) == 0 {
		t.Fatalf("%+v", talks)
	}
	if got := talks[0].Waits[0]; got.From > held.From || got.To < held.To {
		t.Errorf("waited %v, was held %v", got, held)
	}
}

func TestASessionIsNotGivenUpAndWhatIsMissingAtTheEndIsNoFailure(t *testing.T) {
	mute := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	ctx := within(t, 200*time.Millisecond)
	since := time.Now()
	talks := Talkers{Speech: Numbered(), Addr: serve(t, mute), Clients: 1, Stuck: 50 * time.Millisecond, Since: since}.Run(ctx)
	if len(talks) != 1 || talks[0].Failure != "" || talks[0].Backend != -1 || talks[0].Answered != 0 || len(talks[0].Waits) != 1 {
		t.Fatalf("%+v", talks)
	}
	end, _ := ctx.Deadline()
	if s := talks[0]; s.Ended != end.Sub(since) || s.Waits[0].To != s.Ended {
		t.Errorf("%+v in a load of %v", s, end.Sub(since))
	}
}

func TestMessagesThatDoNotFitAreDueAllTheSameAndArriveWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe() // holds nothing
		h := &held{Talkers: Talkers{Speech: Numbered(), Since: time.Now()}, c: near}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second-time.Millisecond)
		defer cancel()
		go func() {
			h.send(ctx)
			_ = near.Close()
		}()
		time.Sleep(time.Second)
		_, _ = io.ReadFull(far, make([]byte, 10)) // and no more for a while: within a message
		time.Sleep(time.Second)
		synctest.Wait()
		if h.talk.Sent != 41 {
			t.Errorf("%d messages were due in 2 s", h.talk.Sent)
		}
		b := append(talk.Request(nil, 0, 0)[:10], make([]byte, talk.Size-10)...)
		_, err := io.ReadFull(far, b[10:])
		for next := uint32(0); err == nil; next++ {
			if _, number, wrong := talk.ParseRequest(b); wrong != nil || number != next {
				t.Fatalf("%d: %v", next, wrong)
			}
			_, err = io.ReadFull(far, b)
		}
		if err != io.EOF || h.talk.Sent != 60 || h.sent[59] != 59*TalkEvery {
			t.Errorf("%v, %d messages", err, h.talk.Sent)
		}
	})
}

func TestSpeechesTellTheRightAnswerFromEveryOther(t *testing.T) {
	for name, tt := range map[string]struct {
		speech Speech
		answer func(request []byte) []byte // what a right server sends
	}{
		"echo":  {Echoed(), func(request []byte) []byte { return request }},
		"redis": {RedisEcho(), func(request []byte) []byte { return request[len("*2\r\n$4\r\nECHO\r\n"):] }},
		"numbered": {Numbered(), func(request []byte) []byte {
			session, number, err := talk.ParseRequest(request)
			if err != nil {
				t.Fatal(err)
			}
			return talk.Answer(nil, session, number, 2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			answer := tt.answer(tt.speech.Request(nil, 7, 4294967295))
			if len(answer) != tt.speech.Size {
				t.Fatalf("%d bytes, not %d", len(answer), tt.speech.Size)
			}
			if _, err := tt.speech.Check(answer, 7, 4294967295); err != nil {
				t.Error(err)
			}
			for _, other := range []struct {
				session uint64
				number  uint32
			}{{7, 0}, {8, 4294967295}} {
				if _, err := tt.speech.Check(answer, other.session, other.number); !errors.Is(err, talk.ErrWrong) {
					t.Errorf("taken for %v: %v", other, err)
				}
			}
			for i := range answer {
				answer[i] ^= 1
				if _, err := tt.speech.Check(answer, 7, 4294967295); !errors.Is(err, talk.ErrWrong) {
					t.Errorf("byte %d changed: %v", i, err)
				}
				answer[i] ^= 1
			}
		})
	}
}
