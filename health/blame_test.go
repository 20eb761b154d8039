package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// failsWith is a prober whose probes end with what the letters stand for, one after the
// other, and then with the last one for ever.
func failsWith(letters string, errs map[byte]error) *script {
	return &script{result: func(n int) error { return errs[letters[min(n, len(letters))-1]] }}
}

var kinds = map[byte]error{
	'.': nil,
	'a': &Failure{Step: "redis auth", Err: errors.New("wrong password"), Unsure: true},
	'A': &Failure{Step: "redis auth", Err: errors.New("wrong password")},
	'b': &Failure{Step: "connect", Err: errors.New("connection refused")},
	'c': &Failure{Step: "redis ping", Err: errors.New("connection refused")},
	'n': fmt.Errorf("connect: %w", ErrNoVerdict),
}

func TestAnotherReasonWhileDownIsToldOnceItHasSettled(t *testing.T) {
	const down, again = "redis auth: wrong password (first probe)", "connect: connection refused (3 of 3 failed)"
	for _, tt := range []struct {
		name, results string
		want          []string // reasons, in order
	}{
		{"the same for ever", "aaaaaaaaaaaa", []string{down}},
		{"another", "abbb", []string{down, again}},
		{"another, for too short", "abba", []string{down}},
		{"another, and it stays", "abbbbbbbbbbbb", []string{down, again}},
		{"there and back", "abbbaaa", []string{down, again, "redis auth: wrong password (3 of 3 failed)"}},
		{"taking turns", "abababababababa", []string{down}},
		{"two others that take turns", "abcbcbcbcbcba", []string{down}},
		{"another step is another", "abbbccc", []string{down, again, "redis ping: connection refused (3 of 3 failed)"}},
		{"as grave with the same words", "aAAA", []string{down, "redis auth: wrong password (3 of 3 failed)"}},
		{"a pass between", "abb.bba", []string{down}},
		{"a pass, and then in a row", "ab.bbb", []string{down, again}},
		{"a probe that was none", "abbnb", []string{down, again}},
		{"up again and down", "abb..bbba", []string{down, "2 probes in a row passed", again}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, p := newGate(), failsWith(tt.results, kinds)
				m := newMonitor(t, config())
				m.Add(p, g)
				for len(p.began()) < len(tt.results) {
					pass(100 * time.Millisecond)
				}
				m.Close()
				if len(g.causes) != len(tt.want) {
					t.Fatalf("told %q, want %q", g.told(), tt.want)
				}
				for i, c := range g.causes {
					if c.Reason != tt.want[i] {
						t.Errorf("told %q, want %q", c.Reason, tt.want[i])
					}
				}
			})
		})
	}
}

func TestTheCauseOfAnotherReasonIsThatOfTheDecidingProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := newGate(), failsWith("aaabbb", kinds)
		newMonitor(t, config()).Add(p, g)
		pass(time.Minute)
		if len(g.causes) != 2 {
			t.Fatalf("told %q", g.told())
		}
		first, second := g.causes[0], g.causes[1]
		if !first.Unsure || second.Unsure {
			t.Errorf("unsure %v, then %v; want it of the first alone", first.Unsure, second.Unsure)
		}
		if second.Streak != 3 || second.Evidence.Step != "connect" || second.Source != SourceProbe {
			t.Errorf("the second cause is %+v", second)
		}
	})
}

func TestAMemberThatResumesDownTellsItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := newGate(), failsWith("b", kinds)
		newMonitor(t, config()).Resume(p, g, Down)
		pass(time.Minute)
		g.expect(t, g.causes[0].At.Sub(g.born).String()+" down: connect: connection refused (3 of 3 failed)")
	})
}

func TestNumbersAreNoOtherReason(t *testing.T) {
	fail := func(text string) error { return &Failure{Step: "s", Err: errors.New(text)} }
	web := func(code int) error { return &Failure{Step: "http", Err: wrongStatus{code, "200-399"}} }
	for _, tt := range []struct {
		a, b error
		same bool
	}{
		{fail("no answer within 1s"), fail("no answer within 1.5s"), true},
		{fail("certificate expired: 2026-01-02T03:04:05Z is after"), fail("certificate expired: 2026-01-02T03:04:07Z is after"), true},
		{fail("from 10.0.0.1:4711"), fail("from 10.0.0.1:4712"), true},
		{fail("process 12 of 7"), fail("process 13 of 7"), true},
		{fail("too many connections (1040)"), fail("access denied (1045)"), false},
		{fail("no answer"), fail("refused"), false},
		{fail("x"), &Failure{Step: "t", Err: errors.New("x")}, false},
		{fail("x"), &Failure{Step: "s", Err: errors.New("x"), Unsure: true}, false},
		{web(503), web(503), true},
		{web(503), web(404), false},
		{errors.New("plain"), errors.New("plain"), true},
	} {
		if same := reasonOf(tt.a) == reasonOf(tt.b); same != tt.same {
			t.Errorf("%v and %v: the same is %v", tt.a, tt.b, same)
		}
	}
}

// keeper is a prober that keeps something.
type keeper struct {
	proberFunc
	closed chan string
}

func (k keeper) Close() error { k.closed <- "closed"; return nil }

func TestAProberThatKeepsSomethingIsClosedAfterItsLastProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan string, 2)
		k := keeper{func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second) // slow to notice
			events <- "probed"
			return ctx.Err()
		}, events}
		b := newMonitor(t, config()).Add(k, newGate())
		synctest.Wait()
		b.Stop()
		b.Stop()
		if len(events) != 2 || <-events != "probed" || <-events != "closed" {
			t.Error("Stop returned before the prober was closed, or it was closed in a probe")
		}
	})
}
