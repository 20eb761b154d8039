//go:build linux

package parts

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// insideEnv names the test a re-executed test binary runs in its own network namespace.
const insideEnv = "SLUICE_E2E_NETNS"

// InNetns tells whether the calling test runs in a network namespace of its own with only loopback in it. If not, it
// runs the test again in one, as a child process with env, reports its outcome as its own, and returns false.
func InNetns(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		IP(t, "link", "set", "lo", "up")
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(self, "-test.run", "^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.timeout", "90s")
	// The race detector lets a process sleep for a second at its end.
	cmd.Env = append(append(os.Environ(), insideEnv+"="+t.Name(), "GORACE=atexit_sleep_ms=0"), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = namespace()
	if err := cmd.Start(); err != nil {
		t.Fatalf("this test needs a network namespace of its own (root, or user namespaces that sysctl "+
			"kernel.unprivileged_userns_clone and user.max_user_namespaces permit): %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("in its own network namespace: %v\n%s", err, out.String())
	} else if !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("the test did not run in its namespace:\n%s", out.String())
	}
	return false
}

// namespace asks for a new network namespace, and for a new user namespace that allows it unless we are root.
func namespace() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// IP runs ip of iproute2 in the namespace of the test.
func IP(t testing.TB, args ...string) {
	t.Helper()
	if res := Command(t, Find(t, "ip", "iproute2"), args...); res.Code != 0 {
		t.Fatalf("ip %s: %s", strings.Join(args, " "), res.Stderr)
	}
}

// Sysctl sets a value under /proc/sys/net, which belongs to the namespace of the test.
func Sysctl(t testing.TB, name, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Vanish makes every packet to address disappear without a word, while routes for all others stay as they are.
func Vanish(t testing.TB, address string) {
	t.Helper()
	IP(t, "route", "add", "blackhole", address+"/32", "table", "5")
	IP(t, "rule", "add", "to", address, "lookup", "5", "pref", "1")
	IP(t, "rule", "add", "lookup", "local", "pref", "10") // before the next, or for a moment nobody is reachable
	IP(t, "rule", "del", "pref", "0")
}
