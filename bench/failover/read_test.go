package failover

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluicelb/sluice/bench/fault"
)

func encode(t testing.TB, r *Result) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	r := sample(2, fault.Kill, fault.Rolling)
	indented, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"short": encode(t, r), "indented": append(indented, '\n')} {
		got, err := ReadResult(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := *r
		want.Format = Format
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: it is another", name)
		}
	}
	if r.Format != "" {
		t.Error("writing changed the result")
	}
}

func TestWhatIsNoReportIsSaid(t *testing.T) {
	whole := string(encode(t, sample(1, fault.Kill)))
	with := func(change func(*Result)) string {
		r := sample(1, fault.Kill)
		change(r)
		return string(encode(t, r))
	}
	tests := []struct{ name, text, want string }{
		{"empty", " \n", "it is empty"},
		{"no JSON", "# a comment", "it is no JSON, at byte 1"},
		{"truncated", whole[:len(whole)/2], "it is cut off after"},
		{"trailing", whole + "{}", "it is no JSON, at byte"},
		{"a list", "[1]", "cannot unmarshal array"},
		{"another object", "{}", `it has no "format": "l4bench failover 1" is expected`},
		{"another benchmark's", `{"started":"2030-01-02T03:04:05Z","samples":[]}`, "it is a report of l4bench compare"},
		{"a later version", `{"format":"l4bench failover 2"}`, `its format is "l4bench failover 2": this program reads "l4bench failover 1"`},
		{"another program's", `{"format":"x"}`, `its format is "x": "l4bench failover 1" is expected`},
		{"another type", strings.Replace(whole, `"rounds":1`, `"rounds":"1"`, 1), "rounds"},
		{"no rounds", with(func(r *Result) { r.Rounds = 0 }), "rounds 0: 1 to 20 are possible"},
		{"backends", with(func(r *Result) { r.Backends = 17 }), "backends 17: 0 to 16 are possible"},
		{"no balancer", with(func(r *Result) { r.Balancers = nil }), "0 balancers: 1 to 100 are possible"},
		{"no fault", with(func(r *Result) { r.Faults = nil }), "0 faults: 1 to 100 are possible"},
		{"a balancer twice", with(func(r *Result) { r.Balancers[1].Name = "sluice" }), `balancer "sluice": each needs a name of its own`},
		{"a fault twice", with(func(r *Result) { r.Faults = []string{"kill", "kill"} }), `fault "kill": each needs a name of its own`},
		{"an unknown balancer", with(func(r *Result) { r.Runs[1].Balancer = "x" }), `runs[1]: balancer "x" or fault "kill" is not in the report's lists`},
		{"a round", with(func(r *Result) { r.Runs[0].Round = 21 }), "runs[0]: round 21"},
		{"a length", with(func(r *Result) { r.Runs[0].Length = -1 }), "runs[0]: length_ns -1"},
		{"a value", with(func(r *Result) { r.Runs[0].Values["failed"] = -1 }), "runs[0]: value failed is -1"},
		{"an outage", with(func(r *Result) { r.Runs[0].Outages[0].Backend = 3 }), "runs[0]: outages[0]: backend 3: there are 3"},
		{"a bucket", with(func(r *Result) { r.Runs[0].Buckets[2].Served = -1 }), "runs[0]: buckets[2]: counts below 0"},
	}
	for _, tt := range tests {
		r, err := ReadResult(strings.NewReader(tt.text))
		if r != nil || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := ReadResult(iotest.ErrReader(errFull)); !errors.Is(err, errFull) || errors.Is(err, ErrFormat) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func FuzzReadResult(f *testing.F) {
	small := sample(1, fault.Kill)
	for i := range small.Runs {
		small.Runs[i].Buckets, small.Runs[i].Talks = small.Runs[i].Buckets[:3], small.Runs[i].Talks[:2]
	}
	f.Add(encode(f, small))
	f.Add([]byte(`{"format":"l4bench failover 1","rounds":1,"balancers":[{"name":"a"}],"faults":["f"],"runs":[{"balancer":"a","fault":"f","round":1,"buckets":[{}],"talks":[{"stuck_ns":9,"ended_ns":-9}]}]}`))
	f.Add([]byte(`{"samples":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadResult(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%v does not wrap ErrFormat", err)
			}
			return
		}
		if err := r.Page(Compare(r, small)).Write(io.Discard); err != nil {
			t.Errorf("page: %v", err)
		}
		if c := Compare(r, r); len(c.Changes) > 0 {
			t.Errorf("it differs from itself: %v", c.Changes)
		}
		if err := r.Table().WriteText(io.Discard, false); err != nil {
			t.Errorf("table: %v", err)
		}
		if again, err := ReadResult(bytes.NewReader(encode(t, r))); err != nil || again.Format != Format {
			t.Errorf("it cannot be read again: %v", err)
		}
	})
}
