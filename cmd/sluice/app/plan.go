package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// Diff returns what makes one configuration another, and which share of the clients that
// are chosen for by their hash would move.
func Diff(from, to config.File) api.Plan {
	p := api.Plan{Changes: []api.Change{}}
	for _, d := range config.ProcessDifferences(from, to) {
		c := api.Change{Action: "change", Key: d.Key, From: d.From, To: d.To}
		if !live(d.Key) {
			c.Note = "takes effect at the next start"
		}
		p.Changes = append(p.Changes, c)
	}
	for _, old := range from.Services {
		if serviceOf(to, old.Name) == nil {
			p.Changes = append(p.Changes, api.Change{
				Service: old.Name, Action: "remove", From: strings.Join(old.Listen, ", "), Note: drainNote(old.DrainTimeout.String()),
			})
		}
	}
	for _, s := range to.Services {
		old := serviceOf(from, s.Name)
		if old == nil {
			p.Changes = append(p.Changes, api.Change{Service: s.Name, Action: "add", To: strings.Join(s.Listen, ", ")})
			continue
		}
		p.Changes = append(p.Changes, serviceChanges(*old, s)...)
		if m, hashed := moved(*old, s); hashed {
			p.Moved = append(p.Moved, m)
		}
	}
	return p
}

// live tells whether a key outside of services can be changed without a start.
func live(key string) bool {
	return slices.Contains([]string{"log.level", "log.sessions", "shutdown_timeout", "shutdown_delay"}, key)
}

func drainNote(within string) string {
	if within == "0s" {
		return "its sessions go on until they end"
	}
	return "its sessions have " + within + " to end"
}

func serviceOf(f config.File, name string) *config.Service {
	i := slices.IndexFunc(f.Services, func(s config.Service) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Services[i]
}

func serviceChanges(old, s config.Service) (all []api.Change) {
	add := func(c api.Change) {
		c.Service = s.Name
		all = append(all, c)
	}
	for _, d := range config.Differences(old, s) {
		add(api.Change{Action: "change", Key: d.Key, From: d.From, To: d.To, Note: keyNote(d.Key)})
	}
	listenChanges(old, s, add)
	memberChanges(old, s, add)
	return all
}

// listenChanges compares where two services listen; port 0 may be there more than once.
func listenChanges(old, s config.Service, add func(api.Change)) {
	gone, fresh := without(old.Listen, s.Listen), without(s.Listen, old.Listen)
	for _, l := range gone {
		add(api.Change{Action: "remove", Key: "listen", From: l})
	}
	for _, l := range fresh {
		c := api.Change{Action: "add", Key: "listen", To: l}
		if p := tcpPort(l); p != "" && slices.ContainsFunc(gone, func(g string) bool { return tcpPort(g) == p }) {
			c.Note = "the port is the one of a listener that goes: clients may be refused for a moment"
		}
		add(c)
	}
}

// without returns what a has and b has not, each as often as a has more of it.
func without(a, b []string) (rest []string) {
	left := map[string]int{}
	for _, x := range b {
		left[x]++
	}
	for _, x := range a {
		if left[x]--; left[x] < 0 {
			rest = append(rest, x)
		}
	}
	return rest
}

func memberChanges(old, s config.Service, add func(api.Change)) {
	before, after := backendsOf(old), backendsOf(s)
	for _, b := range old.Backends {
		if after[b.Name] == nil {
			add(api.Change{Backend: b.Name, Action: "remove", From: b.Address, Note: drainNote(s.DrainTimeout.String())})
		}
	}
	for _, b := range s.Backends {
		if was := before[b.Name]; was == nil {
			add(api.Change{Backend: b.Name, Action: "add", To: b.Address})
		} else {
			for _, c := range backendChanges(*was, b) {
				add(c)
			}
		}
	}
	if from, to := common(old, after), common(s, before); !slices.Equal(from, to) {
		add(api.Change{Action: "change", Key: "backends", From: strings.Join(from, ", "), To: strings.Join(to, ", "), Note: "another order"})
	}
}

// keyNote tells what is not plain of a key's change.
func keyNote(key string) string {
	switch {
	case strings.HasPrefix(key, "check.") || strings.HasPrefix(key, "passive."):
		return "probes begin anew; the states stay until they say otherwise"
	case key == "proxy_protocol.send":
		return "for new sessions; probes begin anew"
	case key == "on_down", key == "close_over", key == "slow_start", key == "drain_timeout":
		return ""
	}
	return "for new sessions"
}

// backendsOf returns a service's backends by name.
func backendsOf(s config.Service) map[string]*config.Backend {
	all := make(map[string]*config.Backend, len(s.Backends))
	for i := range s.Backends {
		all[s.Backends[i].Name] = &s.Backends[i]
	}
	return all
}

func backendChanges(was, b config.Backend) (all []api.Change) {
	for _, k := range []struct {
		key, from, to, note string
	}{
		{"address", was.Address, b.Address, "another backend of the same name: counters and state begin anew"},
		{"weight", strconv.Itoa(was.Weight), strconv.Itoa(b.Weight), ""},
		{"priority", strconv.Itoa(was.Priority), strconv.Itoa(b.Priority), ""},
		{"max_connections", strconv.Itoa(was.MaxConnections), strconv.Itoa(b.MaxConnections), ""},
	} {
		if k.from != k.to {
			all = append(all, api.Change{Backend: b.Name, Action: "change", Key: k.key, From: k.from, To: k.to, Note: k.note})
		}
	}
	return all
}

// common returns the names of a service's backends that the others have too, in its order.
func common(s config.Service, others map[string]*config.Backend) (names []string) {
	for _, b := range s.Backends {
		if others[b.Name] != nil {
			names = append(names, b.Name)
		}
	}
	return names
}

// summary is a plan in a few words, for the log.
func summary(p api.Plan) string {
	counts := map[string]int{}
	for _, c := range p.Changes {
		what := "keys"
		switch {
		case c.Backend != "" && c.Key == "":
			what = "backends"
		case c.Backend == "" && c.Key == "":
			what = "services"
		case c.Key == "listen":
			what = "listeners"
		}
		counts[c.Action+" "+what]++
	}
	if len(counts) == 0 {
		return "nothing changed"
	}
	var parts []string
	for what, n := range counts {
		action, things, _ := strings.Cut(what, " ")
		parts = append(parts, fmt.Sprintf("%s %d %s", action, n, things))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
