package app

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/picker"
)

// hashedFile is one service that chooses by the client's hash.
func hashedFile(balance string, backends ...string) string {
	return "services: [{name: a, listen: '127.0.0.1:0', check: {type: none}, balance: " + balance + ", backends: [" + strings.Join(backends, ", ") + "]}]"
}

// peers are that many backends; more follows each.
func peers(n int, more string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("{address: '127.0.0.1:%d', name: b%d%s}", i+1, i, more))
	}
	return all
}

func movedOf(t *testing.T, from, to string) api.Moved {
	t.Helper()
	p := diff(t, from, to)
	switch len(p.Moved) {
	case 0:
		return api.Moved{}
	case 1:
		return p.Moved[0]
	}
	t.Fatalf("%+v", p.Moved)
	return api.Moved{}
}

func near(got, want, within float64) bool { return math.Abs(got-want) <= within }

func TestABackendThatGoesMovesItsShareAndNothingElse(t *testing.T) {
	five := peers(5, "")
	ring := movedOf(t, hashedFile("source-hash", five...), hashedFile("source-hash", five[:4]...))
	if ring.Share != ring.Needed || !near(ring.Share, 0.2, 0.05) || ring.Service != "a" || ring.Balance != "source-hash" {
		t.Errorf("ring: %+v", ring)
	}
	maglev := movedOf(t, hashedFile("maglev", five...), hashedFile("maglev", five[:4]...))
	if !near(maglev.Needed, 0.2, 0.01) || maglev.Share < maglev.Needed || maglev.Share > 0.25 {
		t.Errorf("maglev: %+v", maglev)
	}
}

func TestABackendThatComesTakesItsShareAndNobodyHadTo(t *testing.T) {
	five := peers(5, "")
	for _, balance := range []string{"source-hash", "maglev"} {
		if m := movedOf(t, hashedFile(balance, five[:4]...), hashedFile(balance, five...)); m.Needed != 0 || !near(m.Share, 0.2, 0.06) {
			t.Errorf("%s: %+v", balance, m)
		}
	}
}

func TestWeightsMoveTheirDifference(t *testing.T) {
	two := peers(2, ", weight: 10")
	for _, balance := range []string{"source-hash", "maglev"} {
		heavy := []string{two[0], strings.Replace(two[1], "10}", "30}", 1)}
		if m := movedOf(t, hashedFile(balance, two...), hashedFile(balance, heavy...)); m.Needed != 0 || !near(m.Share, 0.25, 0.06) {
			t.Errorf("%s: %+v", balance, m)
		}
		none := []string{two[0], strings.Replace(two[1], "10}", "0}", 1)}
		if m := movedOf(t, hashedFile(balance, two...), hashedFile(balance, none...)); m.Needed != m.Share || !near(m.Share, 0.5, 0.06) {
			t.Errorf("%s, weight 0: %+v", balance, m)
		}
		if m := movedOf(t, hashedFile(balance, none...), hashedFile(balance, peers(2, ", weight: 0")...)); m.Needed != 1 || m.Share != 1 {
			t.Errorf("%s, all of weight 0: %+v", balance, m)
		}
	}
}

func TestTheOrderOfTheFileMovesNobody(t *testing.T) {
	five := peers(5, "")
	turned := append(append([]string{}, five[2:]...), five[:2]...)
	for _, balance := range []string{"source-hash", "maglev"} {
		if m := movedOf(t, hashedFile(balance, five...), hashedFile(balance, turned...)); m != (api.Moved{}) {
			t.Errorf("%s: %+v", balance, m)
		}
	}
}

func TestBackupsMoveNobodyUntilTheyAreFirst(t *testing.T) {
	three := peers(3, "")
	backup := strings.Replace(peers(4, "")[3], "}", ", priority: 1}", 1)
	if m := movedOf(t, hashedFile("maglev", three...), hashedFile("maglev", append(three, backup)...)); m != (api.Moved{}) {
		t.Errorf("%+v", m)
	}
	if m := movedOf(t, hashedFile("maglev", three[0], backup), hashedFile("maglev", backup)); m.Share != 1 || m.Needed != 1 {
		t.Errorf("%+v", m)
	}
}

func TestOnlyHashedServicesHaveAShare(t *testing.T) {
	five := peers(5, "")
	if p := diff(t, hashedFile("round-robin", five...), hashedFile("round-robin", five[:4]...)); len(p.Moved) != 0 {
		t.Errorf("%+v", p.Moved)
	}
	if m := movedOf(t, hashedFile("source-hash", five...), hashedFile("maglev", five...)); m.Needed != 0 || !near(m.Share, 0.8, 0.05) {
		t.Errorf("another policy: %+v", m)
	}
}

// What a plan says is what the data path does with the same clients.
func TestAPlansSharesAreThoseOfTheRealPicks(t *testing.T) {
	five := peers(5, ", weight: 3")
	for _, balance := range []string{"source-hash", "maglev"} {
		from, to := hashedFile(balance, five...), hashedFile(balance, five[1:]...)
		r := run(t, from)
		const clients = 150 // each costs a table
		before := make([]string, clients)
		for i := range before {
			before[i] = r.L4("a").Choose(sampleAddress(uint32(i))).Backend
		}
		table, names := tableOf(config.Service(parse(t, from).Services[0]))
		for i := range before {
			if want := names[table.Pick(picker.Hash(sampleAddress(uint32(i))), nil)]; want != before[i] {
				t.Fatalf("%s: client %d is at %s, the plan says %s", balance, i, before[i], want)
			}
		}
		plan := r.becomes(to)
		moves := 0
		for i, was := range before {
			if r.L4("a").Choose(sampleAddress(uint32(i))).Backend != was {
				moves++
			}
		}
		if got := float64(moves) / clients; !near(got, plan.Moved[0].Share, 0.12) {
			t.Errorf("%s: %v moved, the plan said %v", balance, got, plan.Moved[0].Share)
		}
	}
}

func TestSampledClientsDiffer(t *testing.T) {
	seen := map[netip.Addr]bool{}
	ten := netip.MustParsePrefix("10.0.0.0/8")
	for i := range uint32(movedSample) {
		a := sampleAddress(i)
		if seen[a] || !ten.Contains(a) {
			t.Fatalf("client %d: %s", i, a)
		}
		seen[a] = true
	}
}
