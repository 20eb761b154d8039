//go:build !linux

package relay

import (
	"io"
	"time"
)

func dead(Conn) bool                                  { return false }
func orderly(Conn) (sent, known bool)                 { return false, false }
func pendingError(Conn) error                         { return nil }
func unacknowledged(Conn) (n int, known bool)         { return 0, false }
func windowOf(Conn) (w window, known bool)            { return window{}, false }
func setUserTimeout(Conn, time.Duration) error        { return nil }
func splicer(dst, src Conn) (_ io.ReaderFrom, _ bool) { return nil, false }
