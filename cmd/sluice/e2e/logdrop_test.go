//go:build linux

package e2e

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// A log that nobody reads holds no session up; what it lost is told when it is read again. Serial: it offers load.
func TestDroppedLogRecordsAreCountedAndTold(t *testing.T) {
	b := parts.Serve(t, parts.Greet("b1"))
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: adminKey + service(noCheck, b.Addr)})
	admin, addr := s.Admin(t), s.Addr(t, "s")
	paused := make(chan func(), 1)
	go func() { paused <- s.PauseLog(t) }()
	var release func()
	parts.Eventually(t, parts.Patience, "nobody reads the log", func() bool {
		_ = dialGreeted(t, addr).Close() // leaves a record, which may be the last one that is read
		select {
		case release = <-paused:
			return true
		default:
			return false
		}
	})
	for range 60 { // the queue has room for 8192 records
		each(t, 200, func(int) error { return exchangeAnew(addr) })
		if admin.Metrics().Value("sluice_log_records_dropped_total") > 0 {
			break
		}
	}
	dropped := admin.Metrics().Value("sluice_log_records_dropped_total")
	if dropped == 0 {
		t.Error("no record was dropped, or the metric does not tell")
	}
	parts.Echoes(t, dialGreeted(t, addr), "sessions go on")
	release()
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "log records dropped"})
	if r.Get("records") == "0" {
		t.Errorf("the record tells no number: %s", r.Raw)
	}
	after := s.Log.Len()
	if err := exchangeAnew(addr); err != nil {
		t.Error(err)
	}
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", After: after})
	t.Logf("%v records dropped: %s", dropped, r.Raw)
}
