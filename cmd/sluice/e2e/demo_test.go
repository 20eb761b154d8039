//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestDemoServesItsPageToCommandsAndBrowsers(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	lines := follow(t, binary(t), "demo", "--duration", "5s")
	page := regexp.MustCompile(`page +http://(\S+)`)
	var addr string
	for end := time.After(parts.Patience); addr == ""; {
		select {
		case line := <-lines:
			if m := page.FindStringSubmatch(line); m != nil {
				addr = m[1]
			}
		case <-end:
			t.Fatal("the demo does not say where its page is")
		}
	}
	admin := parts.NewAdmin(t, binary(t), addr)
	out := admin.MustCtl("status", "demo")
	for _, name := range []string{"alice", "bob", "carol"} {
		if !strings.Contains(out, name) {
			t.Errorf("status does not show %s:\n%s", name, out)
		}
	}
	if status, html := admin.Get("/"); status != 200 || !strings.Contains(html, "<html") {
		t.Errorf("the page: %d, %.100s", status, html)
	}
	admin.MustCtl("drain", "demo/alice")
	for range lines { // until it ends by itself
	}
	elapsed(t, "the demo", begin, 5*time.Second, 15*time.Second)
}
