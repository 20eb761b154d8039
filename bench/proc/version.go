package proc

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// outputWithin bounds how long a program may take to tell of itself.
const outputWithin = 5 * time.Second

// Output is what a program prints, also to stderr, when run to its end; empty if it
// fails or takes longer than five seconds.
func Output(ctx context.Context, path string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, outputWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	return string(out)
}

// Version is the first line that a program prints when asked for it with args;
// "unknown" if there is none.
func Version(ctx context.Context, path string, args ...string) string {
	line, _, _ := strings.Cut(Output(ctx, path, args...), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "unknown"
	}
	return line
}
