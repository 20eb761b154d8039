//go:build linux

package parts

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// peerEnv tells a re-executed test binary that it is a Peer: the name of its handler, a space, and its address.
const peerEnv = "SLUICE_E2E_PEER"

// Peer is a backend in a process of its own: one that can be stopped and killed, with descriptors of its own.
type Peer struct {
	*Process
	Addr string
}

// StartPeer runs the named handler of those that TestMain gives to RunPeer, at addr; on a free port if that is empty.
func StartPeer(t testing.TB, handler, addr string) *Peer {
	t.Helper()
	if addr == "" {
		addr = FreeAddr(t)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), peerEnv+"="+handler+" "+addr)
	p := &Peer{Process: startProcess(t, "peer "+handler, cmd), Addr: addr}
	Eventually(t, 2*Patience, p.Name+" listens on "+addr, func() bool { return p.Ended() || p.Output.String() != "" })
	if p.Ended() {
		t.Fatalf("%s ended at its start:\n%s", p.Name, p.Output.Last(30))
	}
	return p
}

// RunPeer is called first thing by TestMain. In a process that StartPeer started it serves, and returns true if it
// cannot; in any other it returns false. Each connection is closed when its handler returns.
func RunPeer(handlers map[string]func(net.Conn)) bool {
	name, addr, ok := strings.Cut(os.Getenv(peerEnv), " ")
	if !ok {
		return false
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return true
	}
	fmt.Println("listening") // what StartPeer waits for
	for {
		c, err := ln.Accept()
		if err != nil {
			fmt.Println(err)
			return true
		}
		go func() {
			defer c.Close()
			handlers[name](c)
		}()
	}
}
