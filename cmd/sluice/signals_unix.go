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
	if s == syscall.SIGUSR2 {
		return "signal ignored", "replacing the running binary is not supported yet"
	}
	return "", ""
}

func reloads(s os.Signal) bool { return s == syscall.SIGHUP }

func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }

func signalName(s os.Signal) string {
	for name, known := range map[string]os.Signal{
		"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGUSR2": syscall.SIGUSR2,
	} {
		if s == known {
			return name
		}
	}
	return s.String()
}
