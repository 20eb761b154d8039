package history

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Entry is one transition of a backend. Its JSON is what the files hold.
type Entry struct {
	Time     time.Time     `json:"time"`
	Service  string        `json:"service"`
	Backend  string        `json:"backend"`
	Address  string        `json:"address"`
	Source   string        `json:"source"` // probe, dial or admin
	From     string        `json:"from"`
	To       string        `json:"to"`
	Reason   string        `json:"reason"`
	Step     string        `json:"step,omitempty"`  // what the probe was doing
	Saw      string        `json:"saw,omitempty"`   // what the backend sent instead of what was wanted
	Errno    string        `json:"errno,omitempty"` // the system's error in words
	Took     time.Duration `json:"took_ns,omitempty"`
	Streak   int           `json:"streak,omitempty"`
	Who      string        `json:"who,omitempty"` // the person, if Source is admin
	Sessions int64         `json:"sessions"`      // the backend's at that time
	Usable   int           `json:"usable"`        // backends of the service afterwards
	Total    int           `json:"total"`
}

const (
	defaultPerBackend = 64
	defaultMaxBytes   = 8 << 20
	// mostRings bounds the backends that are remembered, those that are gone included.
	mostRings = 20_000
	// queued is for how many entries the disk may lag behind.
	queued = 4096
)

// Process is the service and the backend of entries that tell of this process: that it
// started, or stopped. Between a stop and the next start nothing was watched.
const Process = "*"

// Config is how much is kept, and where. The zero value keeps 64 entries of each backend
// in memory.
type Config struct {
	Dir        string // "" keeps nothing on disk; made if it is not there
	PerBackend int    // entries of each backend in memory; 0 = 64
	MaxBytes   int64  // of one of two files; 0 = 8 MB
	Log        *slog.Logger
}

// History keeps entries. Its methods may be called from any goroutine.
type History struct {
	cfg   Config
	store *store // nil: nothing is kept on disk

	// last is of the newest entry that was there at the start; zero = there was none.
	last time.Time

	mu    sync.Mutex
	rings map[key]*ring
}

type key struct{ service, backend string }

// ring holds the newest entries of a backend, the oldest first.
type ring struct{ entries []Entry }

// New returns a history with what the directory holds, if one is given. It never fails: a
// directory that cannot be used is said in the log, and everything stays in memory.
func New(c Config) *History {
	if c.PerBackend <= 0 {
		c.PerBackend = defaultPerBackend
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h := &History{cfg: c, rings: make(map[key]*ring)}
	if c.Dir != "" {
		h.open()
	}
	return h
}

// open takes over the directory and reads what is there.
func (h *History) open() {
	s, err := openStore(h.cfg.Dir, h.cfg.MaxBytes, h.cfg.Log)
	if err != nil {
		h.cfg.Log.Warn("history is kept in memory only", "state_dir", h.cfg.Dir, "error", err.Error())
		return
	}
	for _, name := range []string{olderFile, newerFile} {
		seen, err := readFile(h.cfg.Dir, name, 2*h.cfg.MaxBytes, func(e Entry) {
			h.keep(e)
			if e.Time.After(h.last) {
				h.last = e.Time
			}
		})
		if err != nil {
			h.cfg.Log.Warn("history cannot be read", "file", name, "error", err.Error())
		}
		if seen.passed > 0 {
			h.cfg.Log.Warn("history is too long, the end of it is read", "file", name, "passed_bytes", seen.passed)
		}
		if seen.lines > 0 {
			h.cfg.Log.Warn("history has lines that are none", "file", name, "lines", seen.lines)
		}
	}
	h.store = s
	s.start()
}

// Add keeps one more entry. It does not wait.
func (h *History) Add(e Entry) {
	h.keep(e)
	if h.store != nil {
		h.store.queue(e)
	}
}

// keep puts an entry into its ring.
func (h *History) keep(e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := key{e.Service, e.Backend}
	r := h.rings[k]
	if r == nil {
		if len(h.rings) >= mostRings {
			h.forgetOldest()
		}
		r = &ring{}
		h.rings[k] = r
	}
	if len(r.entries) == h.cfg.PerBackend {
		copy(r.entries, r.entries[1:])
		r.entries = r.entries[:len(r.entries)-1]
	}
	r.entries = append(r.entries, e)
}

// forgetOldest drops the ring that has changed least recently. With mu held.
func (h *History) forgetOldest() {
	var oldest key
	var since time.Time
	for k, r := range h.rings {
		if at := r.entries[len(r.entries)-1].Time; since.IsZero() || at.Before(since) {
			oldest, since = k, at
		}
	}
	delete(h.rings, oldest)
}

// Of returns what is kept of a backend, the oldest first.
func (h *History) Of(service, backend string) []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rings[key{service, backend}]; r != nil {
		return slices.Clone(r.entries)
	}
	return nil
}

// Around returns what is kept of a backend around a time, the oldest first: what Of
// returns, and if that does not reach so far back, what the files hold too: up to n
// entries until then, and as many after it. It reads files of some megabytes for that. An
// error is theirs, and comes with what Of returns.
func (h *History) Around(service, backend string, at time.Time, n int) ([]Entry, error) {
	kept := h.Of(service, backend)
	if h.store == nil || len(kept) < h.cfg.PerBackend || !at.Before(kept[0].Time) {
		return kept, nil // with less than a ring holds there are no others
	}
	var found []Entry
	for _, name := range []string{olderFile, newerFile} {
		_, err := readFile(h.cfg.Dir, name, 2*h.cfg.MaxBytes, func(e Entry) {
			if e.Service == service && e.Backend == backend && e.Time.Before(kept[0].Time) {
				found = window(append(found, e), at, n)
			}
		})
		if err != nil {
			return kept, err
		}
	}
	return window(append(found, kept...), at, n), nil
}

// window keeps the n newest entries until at, and the n oldest after it.
func window(all []Entry, at time.Time, n int) []Entry {
	after := slices.IndexFunc(all, func(e Entry) bool { return e.Time.After(at) })
	if after < 0 {
		after = len(all)
	}
	return all[max(after-n, 0):min(after+n, len(all))]
}

// Last is when the newest entry was made that was found at the start; zero if none was.
func (h *History) Last() time.Time { return h.last }

// Close writes what is queued, and waits for it. No Add may follow.
func (h *History) Close() {
	if h.store != nil {
		h.store.close()
	}
}
