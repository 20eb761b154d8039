//go:build !unix

package main

import "os"

func handledSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func ignored(os.Signal) (msg, reason string) { return "", "" }

func reloads(os.Signal) bool { return false }

func ignoreBrokenPipes() {}

func signalName(s os.Signal) string { return s.String() }
