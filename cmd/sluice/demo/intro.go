package demo

import (
	"fmt"
	"strings"
)

// intro returns what runs where, and what to try.
func intro(preferred int, b *balancer, f *fleet, c *control) []string {
	var t strings.Builder
	t.WriteString("A balancer and three backends, all on loopback and in this process:\n\n")
	place(&t, "balancer", b.address, preferred)
	for i, backend := range f.backends {
		place(&t, backend.name, backend.address, preferred+1+i)
	}
	place(&t, "control", c.address, preferred+controlOffset)
	place(&t, "page", b.page, usualAdminPort)
	t.WriteString("\nThis is the whole configuration; `sluice run -c FILE` takes the same:\n\n")
	for line := range strings.Lines(b.text) {
		t.WriteString("  " + line)
	}
	t.WriteString("\nTry in another terminal:\n\n")
	fmt.Fprintf(&t, "  while sleep 0.2; do curl -s http://%s; done\n", b.address)
	for _, try := range []struct{ what, effect string }{
		{"kill/bob", "refuses: nobody notices"},
		{"revive/bob", "back after two checks"},
		{"sick/carol", "fails its check, answers"},
		{"well/carol", ""},
	} {
		line := fmt.Sprintf("  curl -s -X POST http://%s/%-10s", c.address, try.what)
		if try.effect != "" {
			line += "  # " + try.effect
		}
		t.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	at := ""
	if b.page != loopback(usualAdminPort) {
		at = " --admin " + b.page
	}
	fmt.Fprintf(&t, "  sluice status%s --watch\n  sluice drain%s demo/alice\n", at, at)
	fmt.Fprintf(&t, "\nLook at http://%s in a browser.\n", b.page)
	t.WriteString("\nCtrl-C ends it.\n")
	return strings.Split(t.String(), "\n")
}

// place writes where something is, and that the usual port was taken if it was.
func place(t *strings.Builder, what, address string, preferred int) {
	fmt.Fprintf(t, "  %-8s  http://%s", what, address)
	if address != loopback(preferred) {
		fmt.Fprintf(t, "  (port %d is taken)", preferred)
	}
	t.WriteString("\n")
}
