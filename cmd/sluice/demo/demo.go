package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	redrawEvery = 500 * time.Millisecond
	lineEvery   = 5 * time.Second // where nothing can be redrawn
)

// demo is one Run.
type demo struct {
	opt      Options
	screen   *screen
	fleet    *fleet
	balancer *balancer
	client   *client
	chaos    *chaos // nil without
}

// Run runs the demo until ctx or its duration ends, which is no error. Errors wrap
// ErrOptions, or ErrFailed if it was to be chaos and a request failed, or say what could
// not be started.
func Run(ctx context.Context, opt Options, stdout io.Writer) error {
	opt, err := opt.withDefaults()
	if err != nil {
		return err
	}
	if opt.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opt.Duration)
		defer cancel()
	}
	d := &demo{opt: opt, screen: &screen{live: opt.Live, color: opt.Color, w: stdout}}
	d.fleet, err = newFleet(opt.Port, d.say)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer d.fleet.close()
	if err := d.serve(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return d.sum()
}

// serve starts the balancer and what asks for things, and ends them in reverse order
// once ctx is done.
func (d *demo) serve(ctx context.Context) (err error) {
	log := slog.New(logHandler{screen: d.screen})
	if d.balancer, err = startBalancer(ctx, d.opt.Port, d.fleet.backends, log); err != nil {
		return fmt.Errorf("balancer: %w", err)
	}
	defer d.balancer.drain()
	control, err := newControl(d.opt.Port, d.fleet)
	if err != nil {
		return err
	}
	defer control.close()
	d.screen.begin(intro(d.opt.Port, d.balancer, d.fleet, control))

	d.client = newClient(d.balancer.address, d.fleet.calm.RLocker())
	if d.opt.Chaos {
		d.chaos = newChaos(d.fleet, d.opt.Every, d.opt.Seed)
	}
	var running sync.WaitGroup
	running.Go(func() { d.client.run(ctx, d.opt.Rate) })
	running.Go(func() { d.show(ctx) })
	if d.chaos != nil {
		running.Go(func() { d.chaos.run(ctx) })
	}
	running.Wait()
	return nil
}

// say prints what was done to a backend.
func (d *demo) say(by, what string) {
	d.screen.event(time.Now(), by, what)
}

// show keeps the display up to date until ctx ends, and takes it away.
func (d *demo) show(ctx context.Context) {
	defer d.screen.draw(nil)
	var recent recent
	line := time.Now().Add(lineEvery)
	for first := true; first || pause(ctx, redrawEvery); first = false {
		p := d.picture(&recent)
		d.screen.draw(p.draw(d.opt.Color))
		if now := time.Now(); !d.opt.Live && now.After(line) {
			line = now.Add(lineEvery)
			d.screen.event(now, "so far", p.line())
		}
	}
}

// picture takes all numbers before anything is drawn: the balancer logs, through the
// screen, with its own locks held.
func (d *demo) picture(r *recent) picture {
	now, stats := time.Now(), d.balancer.service.Backends()
	shares := r.add(stats)
	p := picture{tally: d.client.soFar()}
	for _, b := range stats {
		p.rows = append(p.rows, rowOf(b, shares[b.Name], now))
	}
	if d.chaos != nil {
		p.chaos = d.chaos.String()
	}
	return p
}

// sum prints the end result and turns failures into the error of a chaos run.
func (d *demo) sum() error {
	t := d.client.soFar()
	by := make([]string, 0, len(t.by))
	for _, name := range names() {
		by = append(by, fmt.Sprintf("%s %d", name, t.by[name]))
	}
	d.screen.print("", t.String(), "answered by "+strings.Join(by, ", "))
	if d.chaos == nil {
		return nil
	}
	d.screen.print(d.chaos.String())
	if t.failed == 0 {
		return nil
	}
	lines := make([]string, 0, len(t.failures))
	for _, f := range t.failures {
		lines = append(lines, "  "+f.String())
	}
	return fmt.Errorf("%w: %d of %d\n%s", ErrFailed, t.failed, t.sent, strings.Join(lines, "\n"))
}
