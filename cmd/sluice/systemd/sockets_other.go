//go:build !linux

package systemd

import "os"

// isListening leaves it to package net: where there is no systemd, nothing is passed but by hand.
func isListening(*os.File) error { return nil }
