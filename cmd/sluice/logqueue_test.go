package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a reader of the log that takes nothing while it is shut.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

func TestASlowReaderOfTheLogCostsRecordsAndNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		q := newLogQueue(g, func(n int64) { fmt.Fprintf(&g.Buffer, "dropped %d\n", n) })
		const extra = 100
		began := time.Now()
		fmt.Fprintln(q, "record first")
		synctest.Wait() // the goroutine holds the first one
		for range logQueueLen + extra {
			fmt.Fprintln(q, "record")
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("writing waited for %v", waited)
		}
		close(g.open)
		q.Close(lastWords)
		got := g.String()
		if n := strings.Count(got, "record"); n != logQueueLen+1 {
			t.Errorf("%d records arrived, want %d", n, logQueueLen+1)
		}
		if !strings.HasPrefix(got, "record first\ndropped 100\nrecord\n") {
			t.Errorf("the loss is not reported where it happened: %.60q", got)
		}
	})
}

func TestAReaderThatIsStuckDoesNotHoldTheEndUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		q := newLogQueue(g, func(int64) {})
		fmt.Fprintln(q, "record")
		began := time.Now()
		q.Close(lastWords)
		if waited := time.Since(began); waited != lastWords {
			t.Errorf("the end came after %v, want %v", waited, lastWords)
		}
		close(g.open) // so that the goroutine ends with the test
	})
}
