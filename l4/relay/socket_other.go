//go:build !linux

package relay

import "io"

func dead(Conn) bool                                  { return false }
func pendingError(Conn) bool                          { return false }
func unacknowledged(Conn) (n int, known bool)         { return 0, false }
func acknowledged(Conn) uint64                        { return 0 }
func splicer(dst, src Conn) (_ io.ReaderFrom, _ bool) { return nil, false }
