package talk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	for _, m := range []struct {
		session uint64
		number  uint32
		backend int
	}{{0, 0, 0}, {1, 2, 3}, {math.MaxUint64, math.MaxUint32, 1000}} {
		before := []byte("before")
		request := Request(before, m.session, m.number)
		if !bytes.HasPrefix(request, before) || len(request) != len(before)+Size {
			t.Fatalf("%+v: not appended: %q", m, request)
		}
		session, number, err := ParseRequest(request[len(before):])
		if session != m.session || number != m.number || err != nil {
			t.Errorf("%+v: request %d of %d, %v", m, number, session, err)
		}
		answer := Answer(before, m.session, m.number, m.backend)
		backend, err := ParseAnswer(answer[len(before):], m.session, m.number)
		if backend != m.backend || err != nil {
			t.Errorf("%+v: answer of %d, %v", m, backend, err)
		}
	}
}

func TestAnAnswerThatDoesNotBelongIsSaid(t *testing.T) {
	tests := []struct {
		name string
		b    []byte
		says string
	}{
		{"of another session", Answer(nil, 8, 5, 1), "5 of session 8, 5 of session 7 belongs here"},
		{"lost before it", Answer(nil, 7, 6, 1), "6 of session 7, 5 of session 7"},
		{"doubled", Answer(nil, 7, 4, 1), "4 of session 7, 5 of session 7"},
		{"a request", Request(nil, 7, 5), "a request"},
		{"nothing", nil, "0 bytes, a message has 64"},
		{"cut", Answer(nil, 7, 5, 1)[:63], "63 bytes"},
		{"two", append(Answer(nil, 7, 5, 1), Answer(nil, 7, 6, 1)...), "128 bytes"},
		{"another protocol", bytes.Repeat([]byte("HTTP/1.1"), 8), `"HTTP"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseAnswer(tt.b, 7, 5)
			if !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

func TestAnAnswerIsNoRequest(t *testing.T) {
	if _, _, err := ParseRequest(Answer(nil, 7, 5, 3)); !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "backend 3") {
		t.Errorf("%v", err)
	}
}

func TestTheFillingIsOneAndHasNoPeriod(t *testing.T) {
	used := filling[:sumAt-fillingAt] // panics if it is too short
	for shift := 1; shift < len(used)/2; shift++ {
		if used[shift:] == used[:len(used)-shift] {
			t.Errorf("shifted by %d it is the same", shift)
		}
	}
	b := Request(nil, 1, 1)
	b[fillingAt], b[fillingAt+1] = b[fillingAt+1], b[fillingAt]
	b = binary.BigEndian.AppendUint32(b[:sumAt], castagnoli(b[:sumAt]))
	if _, _, err := ParseRequest(b); !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "filling") {
		t.Errorf("swapped bytes: %v", err)
	}
}

func FuzzAChangedByteIsNoticed(f *testing.F) {
	f.Add(uint64(0), uint32(0), uint16(0), byte(0), byte(1))
	f.Add(uint64(7), uint32(5), uint16(2), byte(19), byte(3))
	f.Add(uint64(math.MaxUint64), uint32(1), uint16(9), byte(63), byte(255))
	f.Fuzz(func(t *testing.T, session uint64, number uint32, backend uint16, at, change byte) {
		request, answer := Request(nil, session, number), Answer(nil, session, number, int(backend))
		request[at%Size] ^= change
		answer[at%Size] ^= change
		if _, _, err := ParseRequest(request); (err == nil) != (change == 0) || err != nil && !errors.Is(err, ErrWrong) {
			t.Errorf("request: %v", err)
		}
		if _, err := ParseAnswer(answer, session, number); (err == nil) != (change == 0) || err != nil && !errors.Is(err, ErrWrong) {
			t.Errorf("answer: %v", err)
		}
	})
}

func FuzzWhatIsReadIsWhatWasWritten(f *testing.F) {
	f.Add(Request(nil, 1, 2))
	f.Add(Answer(nil, 1, 2, 3))
	f.Add([]byte("talk"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if session, number, err := ParseRequest(b); err == nil && !bytes.Equal(b, Request(nil, session, number)) {
			t.Errorf("request %d of %d from %x", number, session, b)
		}
		if backend, err := ParseAnswer(b, 1, 2); err == nil && !bytes.Equal(b, Answer(nil, 1, 2, backend)) {
			t.Errorf("answer of %d from %x", backend, b)
		}
	})
}
