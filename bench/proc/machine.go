package proc

import (
	"os"
	"runtime"
	"strings"
)

// Machine is what the numbers of a benchmark were measured on. Its tags are those of JSON reports.
type Machine struct {
	System string `json:"system"` // linux/amd64
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"` // of the clients
}

// ThisMachine reads it.
func ThisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "model name")
		line, _, _ := strings.Cut(rest, "\n")
		m.CPU = strings.TrimSpace(strings.TrimLeft(line, "\t: "))
	}
	return m
}
