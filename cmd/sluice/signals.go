package main

import (
	"os"
	"syscall"
)

// The files signals_*.go say, for each system:
//
// handledSignals, which signals the process takes; ignored, which of them it does
// nothing about and what it says instead; reloads, whether one asks for a reload; signalName, what it is called there;
// ignoreBrokenPipes, that a reader of the log
// that goes away must not take the balancer with it.

// stops tells whether s asks the process to end.
func stops(s os.Signal) bool { return s == syscall.SIGTERM || s == os.Interrupt }
