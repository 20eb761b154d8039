package ctl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// aim finds the server of a command line.
func aim(t *testing.T, vars map[string]string, admin Admin, o options) (target, error) {
	t.Helper()
	e := &Env{Getenv: func(name string) string { return vars[name] }, AdminOf: func(path string) (Admin, error) {
		if path == "bad.yaml" {
			return Admin{}, errors.New("bad.yaml:2:1: unknown key")
		}
		return admin, nil
	}}
	o.timeout = time.Second
	return e.target(&cobra.Command{Use: "status"}, &o)
}

func TestTheServerIsWhereTheNearestSays(t *testing.T) {
	vars := map[string]string{"SLUICE_ADMIN": "10.0.0.2:1", "SLUICE_TOKEN": "of-env"}
	file := Admin{Listen: "10.0.0.3:1", Token: "of-file"}
	for _, c := range []struct {
		name                   string
		vars                   map[string]string
		o                      options
		address, source, token string
	}{
		{"flags", vars, options{admin: "10.0.0.1:1", token: "of-flag", file: "s.yaml"}, "10.0.0.1:1", "from --admin", "of-flag"},
		{"environment", vars, options{}, "10.0.0.2:1", "from SLUICE_ADMIN", "of-env"},
		{"a file, and the environment", vars, options{file: "s.yaml"}, "10.0.0.3:1", "admin.listen of s.yaml", "of-env"},
		{"a file that does not run, and the environment", vars, options{file: "s.yaml", guess: true}, "10.0.0.2:1", "from SLUICE_ADMIN", "of-env"},
		{"file", nil, options{file: "s.yaml"}, "10.0.0.3:1", "admin.listen of s.yaml", "of-file"},
		{"file and a token", nil, options{file: "s.yaml", token: "of-flag"}, "10.0.0.3:1", "admin.listen of s.yaml", "of-flag"},
		{"default", nil, options{}, "127.0.0.1:9090", "the default", ""},
		{"a file's token goes nowhere else", nil, options{admin: "10.0.0.1:1", file: "s.yaml"}, "10.0.0.1:1", "from --admin", ""},
		{"a file that does not run", nil, options{file: "bad.yaml", guess: true}, "127.0.0.1:9090", "the default", ""},
	} {
		got, err := aim(t, c.vars, file, c.o)
		if err != nil || got.address != c.address || got.source != c.source || got.token != c.token {
			t.Errorf("%s: %s, %s, token %q, %v; want %s, %s, %q", c.name, got.address, got.source, got.token, err, c.address, c.source, c.token)
		}
	}
}

func TestAddressesAreRead(t *testing.T) {
	for in, want := range map[string]target{
		"10.0.0.1:9090":           {network: "tcp", address: "10.0.0.1:9090"},
		"example.org:9090":        {network: "tcp", address: "example.org:9090"},
		"http://10.0.0.1:9090/":   {network: "tcp", address: "10.0.0.1:9090"},
		"[2001:db8::1]:9090":      {network: "tcp", address: "[2001:db8::1]:9090"},
		"[fe80::1%eth0]:9090":     {network: "tcp", address: "[fe80::1%eth0]:9090"},
		":9090":                   {network: "tcp", address: "127.0.0.1:9090"}, // a listen address of every interface
		"0.0.0.0:9090":            {network: "tcp", address: "127.0.0.1:9090"},
		"[::]:9090":               {network: "tcp", address: "[::1]:9090"},
		"unix:/run/sluice.sock":   {network: "unix", address: "/run/sluice.sock"},
		"unix:///run/sluice.sock": {network: "unix", address: "/run/sluice.sock"},
		"unix:s.sock":             {network: "unix", address: "s.sock"},
	} {
		got, err := aim(t, nil, Admin{}, options{admin: in})
		if err != nil || got.network != want.network || got.address != want.address || got.tls != nil {
			t.Errorf("%s: %s %s, TLS %v, %v", in, got.network, got.address, got.tls != nil, err)
		}
	}
	got, err := aim(t, nil, Admin{}, options{admin: "https://example.org:9443"})
	if err != nil || got.address != "example.org:9443" || got.tls == nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"nowhere", "1.2.3.4", "1.2.3.4:", "unix:", "http://a:1/path", "https://a", "ftp://a:1", "a b:1", "user@host:1", "::1:9090"} {
		if got, err := aim(t, nil, Admin{}, options{admin: bad}); !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), "from --admin") {
			t.Errorf("%s: %+v, %v", bad, got.address, err)
		}
	}
}

func TestAFileWithoutAServerIsSaid(t *testing.T) {
	for file, says := range map[string]string{
		"bad.yaml":  "use --admin, for the file cannot be used:\nbad.yaml:2:1: unknown key",
		"none.yaml": `none.yaml has no admin server: add "admin: {listen: 127.0.0.1:9090}" to it, or use --admin`,
	} {
		if _, err := aim(t, nil, Admin{}, options{file: file}); err == nil || errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := (&Env{}).adminOf("s.yaml"); err == nil {
		t.Error("a file was read")
	}
}

func TestTokensAreTextVariablesOrFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("in-a-file\r\nand more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"T": "in-a-variable"}
	for text, want := range map[string]string{"text": "text", "env:T": "in-a-variable", "file:" + path: "in-a-file", "": ""} {
		if got, err := aim(t, vars, Admin{}, options{token: text}); err != nil || got.token != want {
			t.Errorf("%s: %q, %v, want %q", text, got.token, err, want)
		}
	}
	for text, says := range map[string]string{
		"env:NONE":                      "environment variable NONE is not set, or empty",
		"file:" + path + "x":            "no such file",
		"file:" + empty:                 "is empty",
		"two words":                     "without spaces",
		"line\nbreak":                   "without spaces",
		"größe":                         "ASCII",
		strings.Repeat("x", maxToken+1): "at most 4096",
	} {
		_, err := aim(t, vars, Admin{}, options{token: text})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--token") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	vars["SLUICE_TOKEN"] = "env:NONE"
	if _, err := aim(t, vars, Admin{}, options{}); err == nil || !strings.Contains(err.Error(), "the token of SLUICE_TOKEN") {
		t.Errorf("%v", err)
	}
}

func TestCertificatesThatCannotBeReadAreSaid(t *testing.T) {
	none, empty := filepath.Join(t.TempDir(), "none"), newFile(t, "no certificate")
	for _, c := range []struct {
		o    options
		says string
	}{
		{options{ca: none}, "--ca: open"},
		{options{ca: empty}, "holds no certificate in PEM"},
		{options{cert: empty}, "--cert and --key go together"},
		{options{key: empty}, "--cert and --key go together"},
		{options{cert: empty, key: empty}, "--cert and --key"},
	} {
		if _, err := aim(t, nil, Admin{}, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestRequestsSayWhoAsksAndWhatTheyKnow(t *testing.T) {
	f := newFake()
	f.token = "secret"
	d := newDesk(t, f)
	d.vars["SLUICE_TOKEN"] = "secret"
	d.env.User = func() string { return "ann smith@desk\r\nX-Evil: 1" }
	d.run("weight", "web/b1", "1").want(t, 0, "web/b1: weight 1\n", "")
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "Content-Type": "application/json", "From": "ann_smith@desk__X-Evil:_1", "Accept": "application/json", "X-Evil": "",
	} {
		if got := f.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTheUserHasANameAndAHost(t *testing.T) {
	t.Setenv("SUDO_USER", "ann")
	if name, host, ok := strings.Cut(User(), "@"); name != "ann" || host == "" || !ok {
		t.Errorf("%q", User())
	}
	t.Setenv("SUDO_USER", "")
	if name, host, ok := strings.Cut(User(), "@"); name == "ann" || host == "" || !ok {
		t.Errorf("%q", User())
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, stream := range []any{f, strings.NewReader(""), nil} {
		if _, _, ok := Terminal(stream); ok {
			t.Errorf("%T is a terminal", stream)
		}
	}
}
