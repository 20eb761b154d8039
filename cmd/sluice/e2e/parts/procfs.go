//go:build linux

package parts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FDs counts the descriptors of a process by kind.
type FDs struct {
	Total, Sockets, Pipes int
}

// CountFDs reads /proc/PID/fd. A descriptor that is closed meanwhile is not counted.
func CountFDs(t testing.TB, pid int) FDs {
	t.Helper()
	var n FDs
	targets := fdTargets(t, pid)
	for range 50 { // one that is closed and opened again meanwhile may be missed
		again := fdTargets(t, pid)
		if slices.Equal(again, targets) {
			break
		}
		targets = again
	}
	for _, target := range targets {
		n.Total++
		switch {
		case strings.HasPrefix(target, "socket:"):
			n.Sockets++
		case strings.HasPrefix(target, "pipe:"):
			n.Pipes++
		}
	}
	return n
}

func fdTargets(t testing.TB, pid int) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}

// CPU is the processor time a process has used, user and system together, in the kernel's steps of 10 ms.
func CPU(t testing.TB, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The second field is the command in parentheses, which may contain spaces.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux port
}

// RSS is the resident memory of a process in bytes.
func RSS(t testing.TB, pid int) int { return memory(t, pid, "VmRSS:") }

// RSSAnon is the part of RSS that is no file's: heap, stacks and the runtime's own tables.
func RSSAnon(t testing.TB, pid int) int { return memory(t, pid, "RssAnon:") }

func memory(t testing.TB, pid int, key string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb << 10
		}
	}
	t.Fatalf("no %s in /proc/PID/status", key)
	return 0
}

// Socket is one TCP socket of a process.
type Socket struct {
	State         string // as ss names it: ESTAB, CLOSE-WAIT, LISTEN...
	Local, Remote netip.AddrPort
}

var tcpStates = [...]string{"", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "CLOSE",
	"CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING"}

// Sockets lists the TCP sockets that process pid holds.
func Sockets(t testing.TB, pid int) []Socket {
	t.Helper()
	mine := map[string]bool{}
	for _, target := range fdTargets(t, pid) {
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			mine[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var list []Socket
	for _, table := range []string{"tcp", "tcp6"} {
		for _, fields := range tcpTable(fmt.Sprintf("/proc/%d/net/%s", pid, table)) {
			if mine[fields[9]] {
				list = append(list, parseSocket(fields))
			}
		}
	}
	return list
}

// CountState counts the sockets of pid in one state.
func CountState(t testing.TB, pid int, state string) int {
	t.Helper()
	n := 0
	for _, s := range Sockets(t, pid) {
		if s.State == state {
			n++
		}
	}
	return n
}

// CountTo counts the sockets of pid whose other end is addr.
func CountTo(t testing.TB, pid int, addr string) int {
	t.Helper()
	n := 0
	for _, s := range Sockets(t, pid) {
		if s.Remote.String() == addr {
			n++
		}
	}
	return n
}

// Listening tells whether any process of this network namespace listens on addr, without connecting to it.
func Listening(addr string) bool {
	for _, fields := range tcpTable("/proc/self/net/tcp") {
		if s := parseSocket(fields); s.State == "LISTEN" && s.Local.String() == addr {
			return true
		}
	}
	return false
}

func tcpTable(path string) [][]string {
	b, _ := os.ReadFile(path) // a kernel without IPv6 has no tcp6
	var rows [][]string
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 9 && strings.HasSuffix(fields[0], ":") {
			rows = append(rows, fields)
		}
	}
	return rows
}

func parseSocket(fields []string) Socket {
	s := Socket{Local: procAddr(fields[1]), Remote: procAddr(fields[2])}
	if i, err := strconv.ParseUint(fields[3], 16, 8); err == nil && int(i) < len(tcpStates) {
		s.State = tcpStates[i]
	}
	return s
}

// procAddr parses an address of /proc/net/tcp: 32-bit words in the machine's byte order, then the port.
func procAddr(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	b, _ := hex.DecodeString(host)
	for i := 0; i+4 <= len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, _ := netip.AddrFromSlice(b)
	n, _ := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n))
}

// ListenOverflows is how many connections of this network namespace were dropped because an accept queue was full.
func ListenOverflows(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/net/netstat")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for i := 0; i+1 < len(lines); i++ {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j, name := range names {
			if name == "ListenOverflows" && j < len(values) {
				n, _ := strconv.Atoi(values[j])
				return n
			}
		}
	}
	t.Fatal("no ListenOverflows in /proc/net/netstat")
	return 0
}

// SS runs ss of iproute2 and returns its lines that contain every word.
func SS(t testing.TB, options string, words ...string) []string {
	t.Helper()
	res := Command(t, Find(t, "ss", "iproute2"), options)
	if res.Code != 0 {
		t.Fatalf("ss %s: %s", options, res.Stderr)
	}
	var found []string
	for line := range strings.Lines(res.Stdout) {
		if containsAll(line, words) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Threads is how many threads a process has.
func Threads(t testing.TB, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
