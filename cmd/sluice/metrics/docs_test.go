package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a line of the page's tables of metrics.
type row struct {
	kind   string
	labels []string
}

func TestThePageKnowsEveryMetricAndNoOther(t *testing.T) {
	rows := tables(page(t))
	gathered, err := full().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gathered {
		if !strings.HasPrefix(f.GetName(), "sluice_") {
			continue
		}
		r, ok := rows[f.GetName()]
		if !ok {
			t.Errorf("%s is not on the page", f.GetName())
			continue
		}
		delete(rows, f.GetName())
		if kind := strings.ToLower(f.GetType().String()); r.kind != kind {
			t.Errorf("%s is a %s, the page says %s", f.GetName(), kind, r.kind)
		}
		var names []string
		for _, l := range f.Metric[0].Label {
			names = append(names, l.GetName())
		}
		if !slices.Equal(names, r.labels) {
			t.Errorf("%s has the labels %v, the page says %v", f.GetName(), names, r.labels)
		}
	}
	for name := range rows {
		t.Errorf("%s is on the page only", name)
	}
}

func TestAlertsNameMetricsThatExist(t *testing.T) {
	known := make(map[string]bool)
	for _, f := range families() {
		known[f.name] = true
	}
	_, alerts, ok := strings.Cut(page(t), "\n## Alerts\n")
	used := regexp.MustCompile(`\bsluice_[a-z_]+`).FindAllString(alerts, -1)
	if !ok || len(used) < 8 {
		t.Fatalf("alerts use only %v", used)
	}
	for _, name := range used {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !known[base] {
			t.Errorf("an alert uses %s", name)
		}
	}
}

func TestThePageExplainsEveryReasonOfARefusal(t *testing.T) {
	text := page(t)
	for reason := range refusals() {
		if !strings.Contains(text, "`"+reason+"`") {
			t.Errorf("%s is not explained", reason)
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// tables returns the rows | `name` | kind | labels | meaning |.
func tables(text string) map[string]row {
	rows := make(map[string]row)
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !strings.HasPrefix(cells[0], " `sluice_") {
			continue
		}
		r := row{kind: strings.TrimSpace(cells[1])}
		for _, l := range strings.Split(cells[2], ",") {
			if l = strings.Trim(l, " `"); l != "" {
				r.labels = append(r.labels, l)
			}
		}
		rows[strings.Trim(cells[0], " `")] = r
	}
	return rows
}
