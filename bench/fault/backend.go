package fault

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
)

// answerWithin bounds how long a backend may take for what it is told.
const answerWithin = 10 * time.Second

// backend is one that a Fleet started.
type backend struct {
	id     int
	addr   string
	worker []string
	dir    string
	clock  clock

	mu      sync.Mutex // held during an injection; guards all below
	process *proc.Process
	in, out *os.File
	lines   *bufio.Reader
	astray  error // why what it says next may be the answer to something else; nil = it is not
	fault   Fault // in force; empty = none
	periods []Period
}

// start starts its process, and returns when it has begun to listen.
func (b *backend) start(ctx context.Context) (time.Time, error) {
	in, err := newPipe()
	if err != nil {
		return time.Time{}, err
	}
	out, err := newPipe()
	if err != nil {
		in.close()
		return time.Time{}, err
	}
	args := append(b.worker[1:len(b.worker):len(b.worker)], strconv.Itoa(b.id), b.addr)
	process, err := proc.Start(proc.Command{
		Name: fmt.Sprintf("backend %d", b.id), Path: b.worker[0], Args: args, Dir: b.dir, Stdin: in.r, Stdout: out.w,
	})
	_, _ = in.r.Close(), out.w.Close() // the process has its own
	if err != nil {
		_, _ = in.w.Close(), out.r.Close()
		return time.Time{}, err
	}
	b.closePipes() // of the process before
	b.process, b.in, b.out, b.lines = process, in.w, out.r, bufio.NewReader(out.r)
	b.astray = nil
	r, err := b.reply(ctx)
	return b.clock.when(r.At), err
}

// pipe has an end to read and one to write.
type pipe struct{ r, w *os.File }

func newPipe() (pipe, error) {
	r, w, err := os.Pipe()
	return pipe{r, w}, err
}

func (p pipe) close() { _, _ = p.r.Close(), p.w.Close() }

func (b *backend) closePipes() {
	if b.in != nil {
		_, _ = b.in.Close(), b.out.Close()
	}
}

// close ends the process.
func (b *backend) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process != nil {
		b.process.Stop(0)
	}
	b.closePipes()
}

// down tells whether the process has been ended by a fault.
func (b *backend) down() bool { return b.fault == Kill || b.fault == Exit }

// unexpected is why the process has ended that was to go on.
func (b *backend) unexpected() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down() {
		return nil
	}
	return b.process.Err()
}

// ask tells the process a command and reads its reply.
func (b *backend) ask(ctx context.Context, command string) (reply, error) {
	if b.fault == Stop {
		return reply{}, errors.New("it is stopped, and answers nothing until it is mended")
	}
	if err := cmp.Or(context.Cause(ctx), b.process.Err(), b.astray); err != nil {
		return reply{}, err
	}
	if _, err := b.in.WriteString(command + "\n"); err != nil {
		return reply{}, b.lost(err)
	}
	return b.reply(ctx)
}

// reply reads what the process says next.
func (b *backend) reply(ctx context.Context) (reply, error) {
	line, err := b.line(ctx)
	if err != nil {
		b.astray = fmt.Errorf("an answer before is missing: %w", err)
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, fmt.Errorf("it said %q: %w", line, err)
	}
	if r.Error != "" {
		return reply{}, errors.New(r.Error)
	}
	return r, nil
}

// line reads a line of the process.
func (b *backend) line(ctx context.Context) ([]byte, error) {
	if err := b.out.SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = b.out.SetReadDeadline(time.Now()) })()
	line, err := b.lines.ReadBytes('\n')
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, b.lost(err)
	}
	return line, nil
}

// lost makes an error of one to speak with the process: how that ended, if it does.
func (b *backend) lost(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no answer within %v", answerWithin)
	}
	select { // it has closed its output, so it ends
	case <-b.process.Done():
		return b.process.Err()
	case <-time.After(answerWithin):
		return err
	}
}

// report asks what the process knows; nothing if a fault has ended it.
func (b *backend) report() (reply, error) {
	if b.down() {
		return reply{}, nil
	}
	return b.ask(context.Background(), reportCommand)
}

// brokenAt tells whether a session reached it while it was broken, and since when. A process
// that is stopped cannot know it is.
func (b *backend) brokenAt(s sighting) (at time.Time, ok bool) {
	came, read := b.clock.when(s.At), b.clock.when(s.Read)
	if s.Broken {
		return came, true
	}
	for _, p := range b.periods {
		if at, ok := p.holds(came, read); ok && p.Fault == Stop {
			return at, true
		}
	}
	return time.Time{}, false
}

// breakBy injects a fault.
func (b *backend) breakBy(ctx context.Context, f Fault) error {
	if b.fault != "" {
		return fmt.Errorf("already broken: %s", b.fault)
	}
	at, err := b.apply(ctx, f)
	if err != nil {
		return err
	}
	b.fault = f
	b.periods = append(b.periods, Period{Fault: f, From: at})
	return inForce(ctx, b.addr, f)
}

// apply returns since when the fault is in force.
func (b *backend) apply(ctx context.Context, f Fault) (time.Time, error) {
	if err := cmp.Or(context.Cause(ctx), b.process.Err()); err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	switch f {
	case Kill:
		b.process.Stop(0)
		return now, nil
	case Stop:
		if err := stop(b.process.Pid()); err != nil {
			return time.Time{}, err
		}
		err := awaitStopped(ctx, b.process.Pid())
		if err != nil {
			_ = cont(b.process.Pid())
		}
		return now, err
	case Exit:
		if err := terminate(b.process.Pid()); err != nil {
			return time.Time{}, err
		}
		r, err := b.reply(ctx)
		return b.clock.when(r.At), err
	}
	r, err := b.ask(ctx, breakCommand+" "+string(f))
	return b.clock.when(r.At), err
}

// mend undoes a fault.
func (b *backend) mend(ctx context.Context, f Fault) error {
	if b.fault != f {
		return fmt.Errorf("broken by %q", b.fault)
	}
	at, err := b.undo(ctx, f)
	if err != nil {
		return err
	}
	b.fault = ""
	b.periods[len(b.periods)-1].To = at
	return answers(ctx, b.addr, b.id)
}

// undo returns when the fault was undone.
func (b *backend) undo(ctx context.Context, f Fault) (time.Time, error) {
	switch f {
	case Kill, Exit:
		b.process.Stop(answerWithin) // an exit takes a moment
		return b.start(ctx)
	case Stop:
		now := time.Now()
		return now, cont(b.process.Pid())
	}
	r, err := b.ask(ctx, mendCommand)
	return b.clock.when(r.At), err
}
