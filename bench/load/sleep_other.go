//go:build !linux

package load

import "time"

// Sleep is time.Sleep, where nothing finer is at hand.
func Sleep(d time.Duration) { time.Sleep(d) }
