package ctl

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const page = "../docs/commands.md"

// sections returns the parts of the page by their headings.
func sections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(text), "\n## ") {
		heading, rest, _ := strings.Cut(part, "\n")
		parts[heading] = rest
	}
	return parts
}

// flagInHelp finds a flag and its letter.
var flagInHelp = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z-]+)`)

func TestThePageHasEveryCommandAndFlagAndNoOther(t *testing.T) {
	parts := sections(t)
	common := parts["Common flags"]
	known := map[string]bool{}
	for _, cmd := range Commands(Env{}) {
		heading := "sluice " + cmd.Name()
		text, ok := parts[heading]
		known[heading] = true
		if !ok {
			t.Errorf("%s has no section %q", page, heading)
			continue
		}
		if !strings.Contains(text, "\n$ "+heading) {
			t.Errorf("%s: %s has no example", page, heading)
		}
		flags := flagInHelp.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1)
		if len(flags) < 7 {
			t.Errorf("%s: only %q found", heading, flags)
		}
		for _, f := range flags {
			letter, name := f[1], f[2]
			if !strings.Contains(text+common, "--"+name) || letter != "" && !strings.Contains(text+common, "`-"+letter+"`") {
				t.Errorf("%s: %s says nothing of --%s, or of its letter", page, heading, name)
			}
		}
	}
	for heading := range parts {
		if strings.HasPrefix(heading, "sluice ") && !known[heading] {
			t.Errorf("%s: there is no %s", page, heading)
		}
	}
}

// shown is the server of the page's examples.
func shown() *fake {
	f := newFake()
	f.drains = 1
	f.killed, f.wasPaused = 3, true
	f.removed = api.Removed{Sessions: 2, Within: api.Duration(30 * time.Second)}
	f.events = happened()
	f.sessions = api.Sessions{Total: 7, Sessions: []api.Session{
		{ID: "web/1", Client: "10.1.2.3:40000", Backend: "b1", Phase: "relaying", Age: api.Duration(26 * time.Hour), BytesToBackend: 1234, BytesToClient: 1_234_567_890},
		{ID: "web/8213", Client: "[2001:db8::7]:51234", Backend: "b2", Phase: "relaying", Age: api.Duration(7 * time.Minute), BytesToBackend: 880, BytesToClient: 51_300},
	}}
	f.failures = []api.Failure{{Time: ago(4 * time.Minute), Service: "web", Client: "10.1.2.3:40512", Backend: "b1", Who: "client", Why: "eof", Duration: api.Duration(42 * time.Second),
		Attempts: []api.Attempt{{Backend: "b2", Error: "connection refused", Took: api.Duration(400 * time.Microsecond)}}}}
	f.story = story()
	f.story.Service, f.story.Backend, f.story.Address = "web", "b1", "10.0.0.1:80"
	f.pick = api.Pick{Service: "web", Source: "10.1.2.3", Balance: "maglev", Choice: "b1", Certain: true, Why: "its slot of the table is b1's", Key: "9f3c5d7a", Digest: "77aa01b2",
		Candidates: []api.Candidate{{Backend: "b1", Tier: 1, Health: "up", Weight: 1, Sessions: 5}},
		Excluded:   []api.Excluded{{Backend: "b2", Reason: "down: http: status 503, want 200-399"}}}
	f.plan = changes(false)
	return f
}

// transcript runs the commands of a block of the page, each with a server of its own, and
// returns it as it should be.
func transcript(t *testing.T, block string) string {
	var got strings.Builder
	for line := range strings.Lines(block) {
		words, isCommand := strings.CutPrefix(strings.TrimSpace(line), "$ sluice ")
		if !isCommand {
			continue
		}
		f := shown()
		if strings.HasPrefix(words, "reload") {
			f.plan = changes(true)
		}
		inBubble(t, f, func(t *testing.T, d *desk) {
			r := d.run(strings.Fields(strings.ReplaceAll(words, "new.yaml", filepath.Join("testdata", "new.yaml")))...)
			got.WriteString("$ sluice " + words + "\n" + r.stdout + r.stderr)
		})
	}
	return got.String()
}

func TestTheExamplesOfThePageAreWhatIsPrinted(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```console\n")[1:]
	if len(blocks) < 15 {
		t.Fatalf("only %d examples", len(blocks))
	}
	for _, b := range blocks {
		block, _, _ := strings.Cut(b, "```")
		if got := transcript(t, block); got != block {
			t.Errorf("the page says:\n%s\nit prints:\n%s", block, got)
		}
	}
}
