package main

import (
	"encoding/json"
	"io"

	"github.com/sluicelb/sluice/bench/failover"
)

func (f *failoverFlags) show(r, old *failover.Result, stdout, stderr io.Writer) error {
	for _, run := range r.Runs {
		b, _ := json.Marshal(run.Values)
		io.WriteString(stdout, run.Balancer+" "+run.Fault+" "+string(b)+" "+run.Error+"\n")
	}
	return nil
}
