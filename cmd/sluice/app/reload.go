package app

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// reloads is what has become of them; guarded by the App's state.
type reloads struct {
	applied, refused int64
	at               time.Time
	err              string
}

func (r reloads) view() api.Reload {
	return api.Reload{Count: r.applied, Refused: r.refused, Time: r.at, Error: r.err}
}

// Plan implements api.Control.
func (a *App) Plan(name string, src []byte) (api.Plan, error) {
	file, err := a.Parse(name, src)
	if err != nil {
		return api.Plan{}, asConfigFault(err)
	}
	return a.changes(file), nil
}

// changes is Diff from the configuration in force, and with it which checks would read other
// secrets than those that they have: the file says no more than where these are.
func (a *App) changes(file config.File) api.Plan {
	plan := Diff(a.inForce(), file)
	for _, s := range a.current() {
		to := serviceOf(file, s.name)
		if to == nil || checksDiffer(s.cfg, *to) || s.secrets == secretsOf(to.Check) {
			continue
		}
		plan.Changes = append(plan.Changes, api.Change{
			Service: s.name, Action: "change", Key: "check",
			Note: "what it reads from outside of the file (a password, or a CA) is not what it was: its probes begin anew",
		})
	}
	return plan
}

// inForce returns the configuration in force. Nobody changes what its lists hold.
func (a *App) inForce() config.File {
	a.state.RLock()
	defer a.state.RUnlock()
	return a.file
}

// asConfigFault is what is wrong with a file, one line for each fault.
func asConfigFault(err error) error {
	var faults config.Faults
	f := api.Fault{Code: api.CodeConfig, Message: err.Error()}
	if errors.As(err, &faults) {
		f.Faults = strings.Split(strings.TrimSpace(err.Error()), "\n")
		f.Message = fmt.Sprintf("the file is wrong in %d places; nothing has changed", len(f.Faults))
		if len(f.Faults) == 1 {
			f.Message = "the file is wrong in one place; nothing has changed"
		}
	}
	return &api.ControlError{Fault: f}
}

// Reload implements api.Control: it reads the file that the App was started with and makes
// it so. Whatever is wrong with it, nothing has changed then.
func (a *App) Reload(m api.Mark) (plan api.Plan, err error) {
	err = a.change(m, func() (err error) {
		plan, err = a.reload(m)
		return err
	})
	if err != nil {
		a.reloadRefused(m, err)
		return api.Plan{}, err
	}
	return plan, nil
}

func (a *App) reload(m api.Mark) (api.Plan, error) {
	if a.Path == "" {
		return api.Plan{}, refusal(api.CodeConflict, "there is no file to read again: the process was started from flags")
	}
	file, err := a.Load(a.Path)
	if err != nil {
		return api.Plan{}, asConfigFault(err)
	}
	plan := a.changes(file)
	if err := a.apply(m, file); err != nil {
		return api.Plan{}, err
	}
	plan.Applied = true
	a.write(func() {
		a.reloads.applied++
		a.reloads.at, a.reloads.err = time.Now(), ""
	})
	a.log.Info("reloaded", "file", a.Path, "changes", summary(plan), "revision", a.revision.Load()+1, "who", m.Who)
	a.events.add(Event{Kind: "reload", Text: summary(plan), Who: m.Who})
	return plan, nil
}

// reloadRefused notes why, with every fault of the file.
func (a *App) reloadRefused(m api.Mark, err error) {
	why := strings.Join(append([]string{err.Error()}, api.AsFault(err).Faults...), "; ")
	a.write(func() {
		a.reloads.refused++
		a.reloads.at, a.reloads.err = time.Now(), why
	})
	a.log.Warn("reload refused", "file", a.Path, "error", why, "who", m.Who)
	a.events.add(Event{Kind: "reload", Text: "refused: " + firstFault(err), Who: m.Who})
}

// firstFault is an error on one line: of a file, the first thing that is wrong, with its place.
func firstFault(err error) string {
	switch faults := api.AsFault(err).Faults; len(faults) {
	case 0:
		return err.Error()
	case 1:
		return faults[0]
	default:
		return fmt.Sprintf("%s (and %d more)", faults[0], len(faults)-1)
	}
}
