//go:build unix

package app

import "syscall"

// descriptorLimit returns how many descriptors the process may hold; 0 = unknown.
// The runtime has lifted the soft limit to the hard one.
func descriptorLimit() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), 1<<30))
}
