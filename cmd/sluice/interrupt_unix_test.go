//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestTheFirstSignalEndsTheCommandThatWaits(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := untilInterrupted(t.Context())
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%v was not heard", sig)
		}
		stop()
	}
}
