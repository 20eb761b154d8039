package ctl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// defaultAdmin is where the server is looked for if nobody says.
	defaultAdmin = "127.0.0.1:9090"
	// defaultTimeout bounds one request. A person is waiting.
	defaultTimeout = 10 * time.Second
	// maxToken is more than any token has, in bytes.
	maxToken = 4 << 10
)

// options are the flags that all commands have.
type options struct {
	admin, token, file string
	ca, cert, key      string
	timeout            time.Duration
	json               bool
	guess              bool // the file of -c is not the one that runs, and may be wrong
}

// register adds the flags. They stand on each command and not on the root: run and check have
// others of the same name.
func (o *options) register(cmd *cobra.Command, withJSON bool) {
	f := cmd.Flags()
	f.StringVar(&o.admin, "admin", "", "`ADDR` of the admin server: host:port, unix:PATH or https://host:port\n(default admin.listen of -c FILE, else $SLUICE_ADMIN, else "+defaultAdmin+")")
	f.StringVar(&o.token, "token", "", "its `TOKEN`: the text, env:NAME or file:PATH (default $SLUICE_TOKEN, else that of -c FILE)")
	f.StringVarP(&o.file, "config", "c", "", "the configuration `FILE` of the running sluice, to find it by")
	f.StringVar(&o.ca, "ca", "", "PEM `FILE` of who signed its certificate (default the system's)")
	f.StringVar(&o.cert, "cert", "", "PEM `FILE` of a certificate to show it")
	f.StringVar(&o.key, "key", "", "PEM `FILE` of that certificate's key")
	f.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long one request may take, as a `TIME`")
	if withJSON {
		f.BoolVar(&o.json, "json", false, "print what the server says, as JSON")
	}
}

// target is where the server is, and how that is known.
type target struct {
	network, address string // to dial
	shown            string // the address as it was given
	source           string // who gave it, in words
	token            string
	tokenSource      string
	tls              *tls.Config // nil: plain
}

// target finds the server, without a packet sent.
func (e *Env) target(cmd *cobra.Command, o *options) (target, error) {
	if o.timeout <= 0 {
		return target{}, usage(cmd, "--timeout: must be above 0")
	}
	t, token, err := e.locate(o)
	if err != nil {
		return target{}, err
	}
	if err := t.parse(t.shown); err != nil {
		return target{}, UsageError{err, cmd.CommandPath()}
	}
	if err := t.addTLS(o); err != nil {
		return target{}, err
	}
	t.token, err = e.secret(token)
	if err != nil {
		return target{}, fmt.Errorf("the token of %s: %w", t.tokenSource, err)
	}
	return t, nil
}

// locate finds the address and the token, as they are written. The token of a file goes to
// the address of that file only.
func (e *Env) locate(o *options) (t target, token string, err error) {
	fromFile := ""
	switch env := e.Getenv("SLUICE_ADMIN"); {
	case o.admin != "":
		t.shown, t.source = o.admin, "from --admin"
	case env != "" && (o.file == "" || o.guess): // a flag beats the environment
		t.shown, t.source = env, "from SLUICE_ADMIN"
	case o.file != "":
		admin, err := e.adminOf(o.file)
		switch {
		case err == nil:
			t.shown, t.source, fromFile = admin.Listen, "admin.listen of "+o.file, admin.Token
		case o.guess:
			t.shown, t.source = defaultAdmin, "the default"
		default:
			return t, "", err
		}
	default:
		t.shown, t.source = defaultAdmin, "the default"
	}
	// An address by hand and a token of a file would send the token to whoever is there.
	switch env := e.Getenv("SLUICE_TOKEN"); {
	case o.token != "":
		t.tokenSource, token = "--token", o.token
	case env != "":
		t.tokenSource, token = "SLUICE_TOKEN", env
	default:
		t.tokenSource, token = "admin.token of "+o.file, fromFile
	}
	return t, token, nil
}

// adminOf reads the file of -c. One that is wrong is no dead end: the server may well run with
// the one before it, so the way round is said.
func (e *Env) adminOf(path string) (Admin, error) {
	if e.AdminOf == nil {
		return Admin{}, errors.New("-c: no file can be read here; use --admin")
	}
	admin, err := e.AdminOf(path)
	switch {
	case err != nil:
		return Admin{}, fmt.Errorf("where is the admin server? use --admin, for the file cannot be used:\n%w", err)
	case admin.Listen == "":
		return Admin{}, fmt.Errorf("%s has no admin server: add \"admin: {listen: %s}\" to it, or use --admin", path, defaultAdmin)
	}
	return admin, nil
}

// parse reads host:port, unix:PATH, https://host:port.
func (t *target) parse(s string) error {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		t.network, t.address = "unix", strings.TrimPrefix(path, "//") // unix:///run/x is usual elsewhere
		if t.address == "" {
			return fmt.Errorf("%q (%s): the path is missing", s, t.source)
		}
		return nil
	}
	// A URL is what is copied from a browser; what it may have beyond an address has no meaning.
	rest, secure := strings.CutPrefix(s, "https://")
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "http://"), "/")
	host, port, err := net.SplitHostPort(rest)
	if err != nil || port == "" || strings.ContainsAny(rest, "/?#@ ") {
		return fmt.Errorf("%q (%s) is not an address: write host:port, unix:PATH or https://host:port", s, t.source)
	}
	if secure {
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.network, t.address = "tcp", net.JoinHostPort(reachable(host), port)
	return nil
}

// reachable turns a host that stands for every address of a machine into this one.
func reachable(host string) string {
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return "127.0.0.1"
	case err == nil && ip.IsUnspecified() && ip.Is4():
		return "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		return "::1"
	}
	return host
}

// addTLS reads certificates. Who gives one wants TLS, whether https:// stands there or not.
func (t *target) addTLS(o *options) error {
	if o.ca == "" && o.cert == "" && o.key == "" {
		return nil
	}
	if t.tls == nil { // without it a token would go over the wire for all to read
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return fmt.Errorf("--ca: %w", err)
		}
		t.tls.RootCAs = x509.NewCertPool()
		if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--ca: %s holds no certificate in PEM", o.ca)
		}
	}
	if o.cert == "" && o.key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return fmt.Errorf("--cert and --key go together: %w", err)
	}
	t.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// secret returns what a token's text stands for.
func (e *Env) secret(text string) (string, error) {
	token := text
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		if token = e.Getenv(name); token == "" {
			return "", fmt.Errorf("environment variable %s is not set, or empty", name)
		}
	} else if path, ok := strings.CutPrefix(text, "file:"); ok {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		token, _, _ = strings.Cut(string(data), "\n")
		if token = strings.TrimSuffix(token, "\r"); token == "" {
			return "", fmt.Errorf("the first line of %s is empty", path)
		}
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("a token is at most 4096 printable ASCII characters without spaces")
	}
	return token, nil
}
