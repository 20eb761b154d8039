package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// options returns what a unit that is printed sets, by "Section.Key", in order.
func options(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	status, text, stderr := command(t, args...)
	if status != exitDone || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	list, err := unit.DeserializeOptions(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, o := range list {
		at := o.Section + "." + o.Name
		all[at] = append(all[at], o.Value)
	}
	return all
}

func TestTheServiceUnitTakesAwayWhatSluiceDoesNotNeed(t *testing.T) {
	got := options(t, "unit")
	for at, want := range map[string]string{
		"Unit.StartLimitIntervalSec":      "0",
		"Service.Type":                    "notify",
		"Service.ExecReload":              "/bin/kill -HUP $MAINPID",
		"Service.Restart":                 "always",
		"Service.DynamicUser":             "yes",
		"Service.AmbientCapabilities":     "CAP_NET_BIND_SERVICE",
		"Service.CapabilityBoundingSet":   "CAP_NET_BIND_SERVICE",
		"Service.NoNewPrivileges":         "yes",
		"Service.ProtectSystem":           "strict",
		"Service.ProtectHome":             "yes",
		"Service.PrivateDevices":          "yes",
		"Service.StateDirectory":          "sluice",
		"Service.RuntimeDirectory":        "sluice",
		"Service.MemoryDenyWriteExecute":  "yes",
		"Service.RestrictNamespaces":      "yes",
		"Service.RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX AF_NETLINK",
		"Service.SystemCallFilter":        "@system-service, ~@privileged @resources",
		"Service.SystemCallArchitectures": "native",
		"Service.LimitNOFILE":             "1048576",
		"Install.WantedBy":                "multi-user.target",
	} {
		if value := strings.Join(got[at], ", "); value != want {
			t.Errorf("%s=%s, want %s", at, value, want)
		}
	}
	for at, why := range map[string]string{
		"Service.PrivateUsers":             "it takes the right to low ports away",
		"Service.ProcSubset":               "net.core.somaxconn is out of sight then, and the queues of listeners short",
		"Service.RestartPreventExitStatus": "a panic of Go exits with 2, as a wrong command line does",
	} {
		if got[at] != nil {
			t.Errorf("%s is set: %s", at, why)
		}
	}
}

func TestTheServiceUnitWaitsLongerThanADrain(t *testing.T) {
	file, err := config.Parse("f", []byte(oneService))
	if err != nil {
		t.Fatal(err)
	}
	got := options(t, "unit")
	for at, least := range map[string]time.Duration{
		"Service.TimeoutStopSec": file.ShutdownDelay + file.ShutdownTimeout + 10*time.Second,
		"Service.WatchdogSec":    10 * time.Second,
	} {
		if d, err := time.ParseDuration(strings.Join(got[at], "")); err != nil || d < least {
			t.Errorf("%s=%v, want at least %v; %v", at, got[at], least, err)
		}
	}
}

// understood reports a command line, sluice's own path first, that sluice would refuse.
func understood(t *testing.T, line []string) {
	t.Helper()
	if len(line) < 2 || line[0] != "/usr/local/bin/sluice" {
		t.Errorf("%q: not a command of sluice", line)
		return
	}
	cmd, rest, err := newRoot().Find(line[1:])
	if err == nil && cmd.DisableFlagParsing {
		rest = nil // a command for later reads none
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || !cmd.Runnable() || cmd.Name() == "sluice" {
		t.Errorf("%q: command %q, %v", line, cmd.Name(), err)
		return
	}
	if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "/etc/sluice/sluice.yaml" {
		t.Errorf("%q: file %q", line, f.Value)
	}
	if args := cmd.Flags().Args(); len(args) > 0 {
		t.Errorf("%q: arguments %q", line, args)
	}
}

func TestTheServiceUnitsCommandIsUnderstood(t *testing.T) {
	for _, line := range options(t, "unit")["Service.ExecStart"] {
		understood(t, strings.Fields(line))
	}
}

func TestTheSocketUnitPassesASocketThatTheFileCanName(t *testing.T) {
	got := options(t, "unit", "--socket")
	for at, want := range map[string]string{"Socket.ListenStream": "80", "Socket.NoDelay": "yes", "Install.WantedBy": "sockets.target"} {
		if value := strings.Join(got[at], ", "); value != want {
			t.Errorf("%s=%s, want %s", at, value, want)
		}
	}
	if got["Socket.Accept"] != nil {
		t.Error("Accept= would start a sluice for each client")
	}
	name := strings.Join(got["Socket.FileDescriptorName"], "")
	path := writeFile(t, strings.Replace(oneService, "127.0.0.1:0", "fd:"+name, 1))
	if status, _, stderr := command(t, "check", "-c", path); status != exitDone {
		t.Errorf("fd:%s: %s", name, stderr)
	}
}

// instructions returns the arguments of a Containerfile's instructions after its last FROM, by name.
func instructions(t *testing.T, text string) map[string][]string {
	t.Helper()
	text = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "FROM" {
			all = map[string][]string{}
		}
		all[name] = append(all[name], rest)
	}
	return all
}

// execForm reads ["a", "b"].
func execForm(t *testing.T, text string) (line []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Errorf("%s would need a shell: %v", text, err)
	}
	return line
}

func TestTheContainerHasNoShellAndNoRoot(t *testing.T) {
	status, text, stderr := command(t, "container")
	if status != exitDone || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	got := instructions(t, text)
	if from := got["FROM"]; !slices.Equal(from, []string{"scratch"}) {
		t.Errorf("the last stage is from %v", from)
	}
	if user := strings.Join(got["USER"], ""); !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		t.Errorf("user %q: a number is wanted, for there is no /etc/passwd, and not 0", user)
	}
	if got["RUN"] != nil {
		t.Error("RUN needs a shell")
	}
	if !strings.Contains(text, "CGO_ENABLED=0 go build") {
		t.Error("the file is not static")
	}
}

func TestTheContainersCommandsAreUnderstood(t *testing.T) {
	_, text, _ := command(t, "container")
	got := instructions(t, text)
	entry, cmd, health := strings.Join(got["ENTRYPOINT"], ""), strings.Join(got["CMD"], ""), strings.Join(got["HEALTHCHECK"], "")
	understood(t, append(execForm(t, entry), execForm(t, cmd)...))
	_, health, _ = strings.Cut(health, "CMD ")
	understood(t, execForm(t, health))
}

// The image is built with the release of Go that the module asks for.
func TestTheContainerIsBuiltWithTheModulesGo(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(moduleRoot(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	_, text, _ := command(t, "container")
	if want := "/golang:" + string(release[1]) + " AS build\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

func TestUnitAndContainerTakeNoArguments(t *testing.T) {
	for _, name := range []string{"unit", "container"} {
		if status, stdout, stderr := command(t, name, "x"); status != exitUsage || stdout != "" || !strings.Contains(stderr, `takes no argument "x"`) {
			t.Errorf("%s x: status %d, %s%s", name, status, stdout, stderr)
		}
	}
}
