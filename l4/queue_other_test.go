//go:build !linux

package l4

// queueLimit is the longest queue of clients that every system allows.
func queueLimit() int { return 100 }
