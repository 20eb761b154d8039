package app

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
)

// late is a listener that could not be opened, perhaps because one that is to be closed
// still has its port.
type late struct {
	e   *edit
	at  *listening // in e.listening, without a listener yet
	err error
}

// openListeners opens those that are new. An address that another service gives up is shared
// with it until that closes it: no client is refused.
func (r *reload) openListeners() error {
	for _, e := range r.edits {
		times := map[string]int{}
		for _, address := range e.cfg.Listen {
			old := e.s.slot(address, times[address])
			times[address]++
			if old != nil && !e.reopens() {
				e.listening = append(e.listening, old...)
				continue
			}
			r.openOne(e, address, old)
		}
	}
	for _, l := range r.late {
		if len(r.inTheWay(l.at.address)) == 0 {
			return notOpened(l.e, l.at.address, l.err)
		}
	}
	return nil
}

func notOpened(e *edit, address string, err error) error {
	return refusal(api.CodeConfig, "service %q: listen %s: %s", e.cfg.Name, address, plain(err))
}

// reopens tells whether a service's listeners are to be opened again, since clients inherit
// what has changed from them.
func (e *edit) reopens() bool {
	was, is := e.s.cfg.Timeouts, e.cfg.Timeouts
	return !e.fresh && (was.User != is.User || was.Keepalive != is.Keepalive)
}

// openOne opens a listener in the place of old, if there was one there.
func (r *reload) openOne(e *edit, address string, old []*listening) {
	from := r.given(address)
	if len(old) > 0 {
		from = old[0]
	}
	all, err := r.open(context.Background(), address, from)
	if err != nil {
		at := newListening(address, nil)
		e.listening = append(e.listening, at)
		r.late = append(r.late, late{e, at, err})
		return
	}
	if from != nil {
		r.lent = append(r.lent, from)
	}
	for _, ln := range all {
		l := newListening(address, ln)
		e.listening, e.opened = append(e.listening, l), append(e.opened, l)
	}
}

// given returns a listener that its service does not want any more and that has the address,
// as written or as the system knows it; nil if there is none. Where the system is to choose
// the port, each service has its own.
func (r *reload) given(address string) *listening {
	if strings.HasSuffix(address, ":0") {
		return nil
	}
	for _, s := range r.services {
		c := serviceOf(r.file, s.name)
		for _, l := range s.listening {
			wanted := c != nil && slices.Contains(c.Listen, l.address)
			if !wanted && (l.address == address || listenAddress(l.ln.Addr()) == address) {
				return l
			}
		}
	}
	return nil
}

// inTheWay returns the listeners to be closed that have the port of an address. Sockets that
// were passed are not among them: closing ours does not free the port.
func (r *reload) inTheWay(address string) (all []*listening) {
	port := tcpPort(address)
	for _, s := range r.services {
		for _, l := range s.listening {
			stays := slices.ContainsFunc(r.edits, func(e *edit) bool { return slices.Contains(e.listening, l) })
			passed := strings.HasPrefix(l.address, passedPrefix)
			if port != "" && !stays && !passed && !slices.Contains(r.lent, l) && l.ln.Addr().Network() != "unix" && tcpPort(l.ln.Addr().String()) == port {
				all = append(all, l)
			}
		}
	}
	return all
}

// tcpPort returns the port of host:port; "" for what has none of its own.
func tcpPort(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" || strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, passedPrefix) {
		return ""
	}
	return port
}

// openLate closes what stands in the way of listeners and opens them. Clients are refused in
// between.
func (r *reload) openLate() error {
	for _, l := range r.late {
		for _, old := range r.inTheWay(l.at.address) {
			if !old.closed.Load() {
				old.close()
				<-old.done
				r.shut = append(r.shut, old)
			}
		}
		ln, err := l4.Listen(context.Background(), l.at.address)
		if err != nil {
			return notOpened(l.e, l.at.address, err)
		}
		l.at.ln = ln
		l.e.opened = append(l.e.opened, l.at)
	}
	return nil
}

// reopen brings back listeners that were closed for others which could not be opened.
func (r *reload) reopen() {
	for _, s := range r.services {
		for i, l := range s.listening {
			if !slices.Contains(r.shut, l) {
				continue
			}
			ln, err := l4.Listen(context.Background(), l.ln.Addr().String())
			if err != nil {
				r.lose(s, l, err)
				continue
			}
			again := newListening(l.address, ln)
			r.write(func() {
				s.listening = slices.Clone(s.listening)
				s.listening[i] = again
			})
			r.serve(s, again)
		}
	}
}
