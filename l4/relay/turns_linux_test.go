package relay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestALoopThatHangsIsNamed(t *testing.T) {
	e, err := NewLoops(LoopsConfig{Loops: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Turns(t.Context()); err != nil {
		t.Fatal(err)
	}
	hangs := make(chan int32) // without room
	e.loops[1].post(command{do: ping, came: hangs})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = e.Turns(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 of 3 event loops do not come round, the first is number 1") {
		t.Errorf("%v", err)
	}
	<-hangs
	if err := e.Turns(t.Context()); err != nil {
		t.Errorf("it turns again: %v", err)
	}
}

func TestLoopsThatHaveEndedDoNotHang(t *testing.T) {
	e, err := NewLoops(LoopsConfig{Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := e.Turns(t.Context()); err != nil {
		t.Error(err)
	}
}
