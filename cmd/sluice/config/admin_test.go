package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const openToAll = `can be reached from other machines; `

func TestAnAdminPageIsOpenOnlyToWhoIsKnown(t *testing.T) {
	const pair = "cert: testdata/cert.pem, key: testdata/key.pem"
	const advice = "set token, or tls with client_ca, or listen on 127.0.0.1 or unix:PATH"
	for _, c := range []struct{ admin, fault string }{
		{`listen: "127.0.0.1:9090"`, ""},
		{`listen: "127.8.8.8:9090", token: ""`, ""},
		{`listen: "[::1]:0"`, ""},
		{`listen: "[::ffff:127.0.0.1]:9"`, ""},
		{`listen: "localhost:9"`, ""},
		{`listen: "LOCALHOST:9"`, ""},
		{`listen: "unix:/run/sluice/admin.sock"`, ""},
		{`listen: ":9090", token: "env:T"`, ""},
		{`listen: ":9090", token: "file:/etc/sluice/token"`, ""},
		{`listen: "10.0.0.1:9090", tls: {` + pair + `, client_ca: testdata/ca.pem}`, ""},
		{`listen: "10.0.0.1:9090", token: "env:T", tls: {` + pair + `}`, ""},
		{`listen: "127.0.0.1:9090", tls: {` + pair + `}`, ""},
		{`listen: ":9090"`, `f:1:17: listen: ":9090" ` + openToAll + advice},
		{`listen: ":0"`, `f:1:17: listen: ":0" ` + openToAll + advice},
		{`listen: "0.0.0.0:9090", token: ""`, `f:1:17: listen: "0.0.0.0:9090" ` + openToAll + advice},
		{`listen: "[::]:9090"`, `f:1:17: listen: "[::]:9090" ` + openToAll + advice},
		{`listen: "192.0.2.1:9090"`, `f:1:17: listen: "192.0.2.1:9090" ` + openToAll + advice},
		{`listen: "127.0.0.1.example:9090"`, `f:1:17: listen: "127.0.0.1.example:9090" ` + openToAll + advice},
		{`listen: "10.0.0.1:9090", tls: {` + pair + `}`,
			`f:1:17: listen: "10.0.0.1:9090" ` + openToAll + `tls alone lets everybody in; set token or tls.client_ca, or listen on 127.0.0.1 or unix:PATH`},
		{`token: "env:T"`, `f:1:8: listen: required; write host:port or unix:PATH`},
		{`listen: ""`, `f:1:17: listen: "" is not an address; write HOST:PORT, [IPV6]:PORT or unix:/PATH`},
		{`listen: "fd:80"`, `f:1:17: listen: "fd:80" is for services; write host:port or unix:PATH`},
		{`listen: "unix:"`, `f:1:17: listen: unix: has no path; write unix:/PATH`},
		{`listen: ["127.0.0.1:9"]`, `f:1:17: listen: must be text, not a list`},
		{`listen: "127.0.0.1:9", token: secret`, `f:1:39: token: a token does not stand in the file; write env:NAME or file:PATH`},
		{`listen: "127.0.0.1:9", token: "env:"`, `f:1:39: token: a token does not stand in the file; write env:NAME or file:PATH`},
		{`listen: "127.0.0.1:9", tokn: "env:T"`, `f:1:32: unknown key "tokn"; allowed: listen, token, tls (did you mean "token"?)`},
	} {
		src := "admin: {" + c.admin + "}\nservices: [" + one + "}]"
		f, err := Parse("f", []byte(src))
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", c.admin, err)
		case c.fault != "" && (err == nil || err.Error() != c.fault):
			t.Errorf("%s:\ngot  %v\nwant %s", c.admin, err, c.fault)
		case err == nil:
			roundTrip(t, f)
		}
	}
}

func TestTheAdminPagesFilesAreLookedAt(t *testing.T) {
	encrypted := filepath.Join(t.TempDir(), "encrypted.pem")
	if err := os.WriteFile(encrypted, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const notTheKey = `key: is not the key of cert; it must be a PEM file with the private key of the first certificate there, not encrypted`
	for _, c := range []struct{ tls, want string }{
		{"", "cert: required; write the path of a PEM file\nkey: required; write the path of a PEM file"},
		{"cert: , key: ", "cert: no value; it is required\nkey: no value; it is required"},
		{"cert: testdata/cert.pem", "key: required; write the path of a PEM file"},
		{"cert: testdata/none.pem, key: testdata", `cert: "testdata/none.pem" cannot be read: no such file or directory
key: "testdata" is not a regular file`},
		{"cert: testdata/contract.yaml, key: testdata/key.pem", "cert: has no certificate; it must be a PEM file with at least one"},
		{"cert: testdata/key.pem, key: testdata/cert.pem", "cert: has no certificate; it must be a PEM file with at least one"},
		{"cert: testdata/ca.pem, key: testdata/key.pem", notTheKey},
		{"cert: testdata/cert.pem, key: testdata/contract.yaml", notTheKey},
		{"cert: testdata/cert.pem, key: " + encrypted, notTheKey},
		{"cert: testdata/cert.pem, key: testdata/key.pem, client_ca: testdata/key.pem", "client_ca: has no certificate; it must be a PEM file with at least one"},
		{"cert: testdata/cert.pem, key: testdata/key.pem, client_ca: [a]", "client_ca: must be text, not a list"},
		{"cert: testdata/cert.pem, key: testdata/key.pem, ca: x", `unknown key "ca"; allowed: cert, key, client_ca`},
		{"cert: testdata/cert.pem, key: testdata/key.pem, client_ca: testdata/ca.pem", ""},
	} {
		_, err := Parse("f", []byte("admin: {listen: '127.0.0.1:9', tls: {"+c.tls+"}}\nservices: ["+one+"}]"))
		if got := messages(err); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.tls, got, c.want)
		}
	}
}

func TestAServiceCannotHaveTheAdminPagesAddress(t *testing.T) {
	for _, c := range []struct{ admin, listen, want string }{
		{"127.0.0.1:9", "127.0.0.1:9", `listen: "127.0.0.1:9" is listened on twice; the first is at line 1`},
		{"127.0.0.1:9", ":9", `listen: ":9" takes every IPv6 and IPv4 address, also "127.0.0.1:9" of line 1; use another port, or only one of them`},
		{"unix:/x", "unix:/x", `listen: "unix:/x" is listened on twice; the first is at line 1`},
		{"127.0.0.1:0", "127.0.0.1:0", ""},
		{"127.0.0.1:9", "127.0.0.1:10", ""},
	} {
		_, err := Parse("f", []byte("admin: {listen: '"+c.admin+"'}\nservices: [{name: a, listen: '"+c.listen+"', backends: [b:1]}]"))
		if got := messages(err); got != c.want {
			t.Errorf("admin %s, service %s:\ngot  %s\nwant %s", c.admin, c.listen, got, c.want)
		}
	}
}

// messages returns the faults without their places.
func messages(err error) string {
	faults, _ := err.(Faults)
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.Message
	}
	return strings.Join(lines, "\n")
}
