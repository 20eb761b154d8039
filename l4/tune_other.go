//go:build !linux

package l4

import (
	"net"
	"time"
)

// setUserTimeout has no equivalent here; keepalive still finds a dead peer that owes
// no answer.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
