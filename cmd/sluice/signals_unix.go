//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

func handledSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR2}
}

func ignored(s os.Signal) (msg, reason string) {
	switch s {
	case syscall.SIGHUP:
		return "reload refused", "reloading is not supported yet: restart instead"
	case syscall.SIGUSR2:
		return "signal ignored", "replacing the running binary is not supported yet"
	}
	return "", ""
}

func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
