package l4

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// Conflict says what is done while several backends claim to be the one that takes
// writes.
type Conflict string

// The choices. Without one every backend that its probes call up is used.
const (
	ConflictNone  Conflict = "none"  // none of those that claim it is used
	ConflictKeep  Conflict = "keep"  // the one that is used stays; if none was, the first
	ConflictFirst Conflict = "first" // the first of them in the order of the pool is
)

// elect returns which of the backends that claim the writer's place has it, by index;
// -1 is none. holder had it before.
func (c Conflict) elect(claims []bool, holder int) int {
	first, n := -1, 0
	for i, claimed := range claims {
		if !claimed {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	switch {
	case n > 1 && c == ConflictNone:
		return -1
	case n > 1 && c == ConflictKeep && holder >= 0 && claims[holder]:
		return holder
	}
	return first
}

// writers is the state of a pool with one writer; guarded by the pool's mutex.
type writers struct {
	pending bool     // nobody is elected before all have been heard
	holder  *Backend // nil: none
	said    string   // the claims of the conflict that was logged last; "" = there is none
}

// elect gives the writer's place to one of the backends that are up, and to no other.
// With mu held.
func (p *Pool) elect() {
	if p.conflict == "" {
		p.disband()
		return
	}
	claims, holder := p.claims(), -1
	for i, b := range p.backends {
		if b == p.holder {
			holder = i
		}
	}
	p.holder = nil
	// Who answers sooner is no better for it: all are heard before the first election.
	p.pending = holder < 0 && p.unheardOf()
	if i := p.conflict.elect(claims, holder); i >= 0 && !p.pending {
		p.holder = p.backends[i]
	}
	for i, b := range p.backends {
		b.outvoted = b != p.holder
		b.conflicting = b.outvoted && claims[i] && !p.pending
		b.pending = claims[i] && p.pending
	}
	p.sayConflict()
}

// disband is for a pool in which any number of backends may be used.
func (p *Pool) disband() {
	if p.holder == nil && p.said == "" && !slices.ContainsFunc(p.backends, func(b *Backend) bool { return b.outvoted }) {
		return
	}
	p.writers = writers{}
	for _, b := range p.backends {
		b.outvoted, b.conflicting, b.pending = false, false, false
	}
}

// unheardOf tells whether there is a backend whose first probe has not ended, and will.
func (p *Pool) unheardOf() bool {
	return slices.ContainsFunc(p.backends, func(b *Backend) bool { return b.health == Unknown && b.admin != Maint })
}

// claims tells which backends claim the writer's place. One that is to get no sessions has
// no use for it while another one claims it, unless no two may.
func (p *Pool) claims() []bool {
	wanted := p.conflict != ConflictNone && slices.ContainsFunc(p.backends, func(b *Backend) bool { return b.health == Up && b.wanted() })
	claims := make([]bool, len(p.backends))
	for i, b := range p.backends {
		claims[i] = b.health == Up && (b.wanted() || !wanted)
	}
	return claims
}

// sayConflict logs that several backends claim to be the writer, and when that is over.
func (p *Pool) sayConflict() {
	var claims []string
	for _, b := range p.backends {
		if b.health == Up {
			claims = append(claims, b.cfg.Name)
		}
	}
	serving := ""
	if p.holder != nil {
		serving = p.holder.cfg.Name
	}
	now := ""
	if len(claims) > 1 && !p.pending {
		now = strings.Join(claims, ", ")
	}
	if now == p.said {
		return
	}
	p.said = now
	level, msg := slog.LevelWarn, "several writers"
	if now == "" {
		level, msg = slog.LevelInfo, "one writer again"
		if serving == "" {
			msg = "no writer"
		}
	}
	p.log.LogAttrs(context.Background(), level, msg, slog.String("service", p.service),
		slog.String("claims", strings.Join(claims, ", ")), slog.String("serving", serving), slog.String("conflict", string(p.conflict)))
}

// reasonConflict words why a backend that is up is not used.
func (p *Pool) reasonConflict() string {
	if p.holder == nil {
		return "claims to be the writer, as another does: neither is used (conflict: none)"
	}
	return "claims to be the writer, but " + p.holder.cfg.Name + " is (conflict: " + string(p.conflict) + ")"
}
