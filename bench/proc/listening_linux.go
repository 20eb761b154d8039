package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listening tells whether one of the processes has a socket that listens on a TCP port:
// one whose inode /proc/net/tcp or tcp6 shows in that state, among its descriptors.
func listening(pids []int, port int) bool {
	var sockets []string
	for _, family := range []string{"tcp", "tcp6"} {
		table, err := os.Open("/proc/self/net/" + family)
		if err != nil { // there may be no IPv6
			continue
		}
		sockets = append(sockets, listeners(table, port)...)
		_ = table.Close()
	}
	if len(sockets) == 0 {
		return false
	}
	return slices.ContainsFunc(pids, func(pid int) bool { return holdsOne(pid, sockets) })
}

// listeners finds in a table those that listen on a port, as their descriptors are
// linked. Its columns: number, local address, remote address, state (0A = listen), five
// of no interest, inode. Listeners come first; what follows may be long, and is not
// read.
func listeners(table io.Reader, port int) []string {
	var sockets []string
	lines := bufio.NewScanner(table)
	lines.Scan() // the head
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != "0A" {
			break
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseInt(hex, 16, 32); err == nil && int(n) == port {
			sockets = append(sockets, "socket:["+fields[9]+"]")
		}
	}
	return sockets
}

// holdsOne tells whether a process has one of the sockets.
func holdsOne(pid int, sockets []string) bool {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(dir + e.Name())
		return err == nil && slices.Contains(sockets, to)
	})
}
