package ctl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strings"
	"time"
)

// Control sequences (ECMA-48) that every terminal in use knows.
const (
	cursorHome = "\x1b[H"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
	wrapOff    = "\x1b[?7l" // DEC's private mode 7: a line that is too long is cut, and stays one line
	wrapOn     = "\x1b[?7h"
)

// fastest is how often status may ask: a person sees no more, and the server has other work.
const fastest = 100 * time.Millisecond

// watchStatus draws until the person ends it, which is no failure. A server that goes away
// meanwhile is shown as such: it may come back.
func (c *call) watchStatus(ctx context.Context, every time.Duration, name string, problems bool) error {
	switch {
	case c.json:
		return usage(c.cmd, "--watch and --json do not go together: 'sluice events --follow --json' is a stream")
	case every < fastest:
		return usage(c.cmd, "--watch: must be at least %s", fastest)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen := false
	for {
		v, err := c.fetch(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !seen, gone(err):
			return err // an address or a name that is wrong does not become right by waiting
		}
		seen = true
		if err := c.draw(c.frame(v, err, problems)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// frame is what is drawn, in the size that the terminal has by now.
func (c *call) frame(v view, failed error, problems bool) string {
	if c.out.live {
		if width, height, ok := c.env.Terminal(c.cmd.OutOrStdout()); ok {
			c.out.width, c.out.height = width, height
		}
	}
	var text bytes.Buffer
	p := *c.out
	p.w = bufio.NewWriter(&text)
	if failed == nil {
		writeStatus(&p, v, problems)
	} else {
		p.line("%s", painted{red, "no answer"})
		for l := range strings.Lines(failed.Error()) {
			p.line("%s", strings.TrimSpace(l))
		}
	}
	p.flush() // into memory, which does not fail
	return text.String()
}

// draw replaces what stands on a terminal; elsewhere frames follow each other.
func (c *call) draw(frame string) error {
	if !c.out.live {
		c.out.w.WriteString(frame + "\n")
		return c.out.flush()
	}
	// Each line is cleared as it is written, so that nothing flickers; more lines than fit
	// would scroll.
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if h := c.out.height - 1; h > 1 && len(lines) > h {
		more := len(lines) - h + 1
		lines = append(lines[:h-1:h-1], c.out.text("… %s more; --problems shows only what is out", plural(more, "line")))
	}
	c.out.w.WriteString(cursorHome + wrapOff + strings.Join(lines, clearRight+"\n") + clearRight + "\n" + clearBelow + wrapOn)
	return c.out.flush()
}

// await asks once a second until check says that it is done or the time is over; 0 = only
// an interrupt ends it. A question that fails is asked again: the server may be restarting.
func (c *call) await(ctx context.Context, within time.Duration, check func(left time.Duration) (done bool, err error)) (done bool, err error) {
	var end time.Time
	if within > 0 {
		end = time.Now().Add(within)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		left := time.Duration(0)
		if within > 0 {
			left = time.Until(end)
		}
		done, err = check(left)
		switch {
		case ctx.Err() != nil:
			return false, errInterrupted
		case done:
			return true, nil
		case errors.As(err, new(*refusal)):
			return false, err // it will not change its mind
		case within > 0 && left <= 0:
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, errInterrupted
		case <-tick.C:
		case <-endOf(left):
		}
	}
}

// endOf fires at the end of a wait that has one, if that is before the next second.
func endOf(left time.Duration) <-chan time.Time {
	if left <= 0 || left >= time.Second {
		return nil
	}
	return time.After(left)
}

// progress shows how a wait goes on: on a terminal one line that is redrawn.
func (c *call) progress(format string, args ...any) {
	if !c.errs.live {
		c.warn(format, args...)
		return
	}
	c.errs.w.WriteString("\r" + cut(c.errs.text(format, args...), max(10, c.errs.width-1)) + clearRight)
	c.errs.flush()
}

// progressed ends the line that is redrawn.
func (c *call) progressed() {
	if c.errs.live {
		c.errs.w.WriteString("\r" + clearRight)
		c.errs.flush()
	}
}
