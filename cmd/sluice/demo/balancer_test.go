package demo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
)

func TestTheConfigurationShownIsOneOfAFile(t *testing.T) {
	backends := []*backend{{name: "alice", address: "127.0.0.1:8081"}, {name: "bob", address: "127.0.0.1:8082"}}
	file, err := config.Parse("demo.yaml", []byte(configText("127.0.0.1:8080", "127.0.0.1:9090", backends)))
	if err != nil {
		t.Fatal(err)
	}
	s := file.Services[0]
	if s.Listen[0] != "127.0.0.1:8080" || len(s.Backends) != 2 || s.Backends[1].Name != "bob" || s.Backends[1].Address != "127.0.0.1:8082" {
		t.Errorf("got %+v", s)
	}
	if c := s.Check; c.Type != "http" || c.Path != "/health" || c.Interval != 500*time.Millisecond || c.Rise != 2 || c.Fall != 2 {
		t.Errorf("check %+v", c)
	}
}

func TestTheIntroductionFitsEightyColumns(t *testing.T) {
	const far = "127.0.0.1:65535" // as long as an address gets
	f := &fleet{}
	for _, name := range names() {
		f.backends = append(f.backends, &backend{name: name, address: far})
	}
	b := &balancer{address: far, text: configText(far, far, f.backends), page: far}
	lines := intro(usualPort, b, f, &control{address: far})
	for _, l := range lines {
		if len(l) > width {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"(port 8080 is taken)", "(port 8089 is taken)", "(port 9090 is taken)", "/kill/bob", "/revive/bob", "/sick/carol", "/well/carol", "Ctrl-C"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestPortsAreTriedFromThePreferredOneToAny(t *testing.T) {
	taken := errors.New("taken")
	var tried []int
	err := firstFree(8080, func(port int) error {
		tried = append(tried, port)
		if port == 8110 {
			return nil
		}
		return taken
	})
	if want := []int{8080, 8090, 8100, 8110}; err != nil || !slices.Equal(tried, want) {
		t.Errorf("tried %v (%v), want %v", tried, err, want)
	}
	tried = nil
	err = firstFree(65520, func(port int) error {
		tried = append(tried, port)
		return taken
	})
	if want := []int{65520, 65530, 0}; err != taken || !slices.Equal(tried, want) {
		t.Errorf("tried %v (%v), want %v", tried, err, want)
	}
}

func TestChaosSparesTheFleetWhileSomebodyElseBreaksIt(t *testing.T) {
	f, _ := newTestFleet(t, 23680)
	c := newChaos(f, minEvery, 7)
	if c.victim() == "" {
		t.Error("no victim in a fleet that is well")
	}
	f.order(t.Context(), "test", verbSick, "alice")
	if name := c.victim(); name != "" {
		t.Errorf("would kill %s while alice is sick", name)
	}
}

func TestTheSeedDecidesTheVictims(t *testing.T) {
	f, _ := newTestFleet(t, 23980)
	draw := func(seed uint64) (all []string) {
		c := newChaos(f, minEvery, seed)
		for range 20 {
			all = append(all, c.victim())
		}
		return all
	}
	if a, b := draw(7), draw(7); !slices.Equal(a, b) {
		t.Errorf("seed 7 gave %v and %v", a, b)
	}
	if slices.Equal(draw(7), draw(8)) {
		t.Error("seeds 7 and 8 gave the same")
	}
}
