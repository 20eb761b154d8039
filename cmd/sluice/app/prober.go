package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/mysql"
	"github.com/sluicelb/sluice/health/probe/postgres"
	"github.com/sluicelb/sluice/health/probe/redis"
	"github.com/sluicelb/sluice/l4"
)

// newProber makes the active check of a service's backend; nil where there is none.
func newProber(c config.Service, b config.Backend) (health.Prober, error) {
	endpoint := endpointOf(c, b)
	switch c.Check.Type {
	case "none":
		return nil, nil
	case "tcp":
		return health.TCP(endpoint), nil
	case "http":
		return newHTTP(c.Check, endpoint)
	case "send-expect":
		return newSendExpect(c.Check, endpoint)
	}
	return newLogin(c.Check, endpoint)
}

// newSendExpect makes a conversation.
func newSendExpect(c config.Check, endpoint health.Endpoint) (health.Prober, error) {
	secure, err := tlsOf(c)
	if err != nil {
		return nil, err
	}
	steps := c.Steps
	if len(steps) == 0 {
		steps = []config.Step{c.Step}
	}
	talk := health.SendExpect{TLS: secure}
	for _, s := range steps {
		step := health.Step{Regexp: s.Regexp}
		if step.Send, err = config.Unescape(s.Send); err != nil {
			return nil, err
		}
		if step.Expect, err = config.Unescape(s.Expect); err != nil {
			return nil, err
		}
		talk.Steps = append(talk.Steps, step)
	}
	return health.NewSendExpect(endpoint, talk)
}

// newLogin makes a probe that may log in.
func newLogin(c config.Check, endpoint health.Endpoint) (health.Prober, error) {
	secure, err := tlsOf(c)
	if err != nil {
		return nil, err
	}
	password, err := Secret(c.Password)
	if err != nil {
		return nil, fmt.Errorf("password: %w", err)
	}
	role := c.Role
	if role == "any" {
		role = ""
	}
	switch c.Type {
	case "redis":
		return redis.New(endpoint, redis.Config{User: c.User, Password: password, Role: redis.Role(role), TLS: secure})
	case "postgres":
		return postgres.New(endpoint, postgres.Config{User: c.User, Password: password, Database: c.Database, Role: postgres.Role(role), TLS: secure})
	case "mysql":
		return mysql.New(endpoint, mysql.Config{User: c.User, Password: password, Role: mysqlRole(role), TLS: secure})
	}
	return nil, fmt.Errorf("check type %q is not supported", c.Type)
}

func mysqlRole(word string) mysql.Role {
	switch word {
	case "primary":
		return mysql.Primary
	case "replica":
		return mysql.Replica
	}
	return mysql.Any
}

// conflictOf returns what is done when several backends claim to take writes; "" where no
// check asks for that.
func conflictOf(c config.Check) l4.Conflict {
	if c.Role == "master" || c.Role == "primary" {
		return l4.Conflict(c.Conflict)
	}
	return ""
}

// tlsOf returns a check's TLS, nil for none.
func tlsOf(c config.Check) (*tls.Config, error) {
	if c.TLS == nil {
		return nil, nil
	}
	return tlsConfig(*c.TLS)
}

// endpointOf returns where a backend is probed. On its own port a probe begins as a
// session does, with a PROXY header if sessions send one.
func endpointOf(c config.Service, b config.Backend) health.Endpoint {
	if path, ok := strings.CutPrefix(b.Address, "unix:"); ok {
		return health.Endpoint{Network: "unix", Address: path, Preamble: l4.ProbeHeader(sendVersion(c))}
	}
	if c.Check.Port == 0 {
		return health.Endpoint{Network: "tcp", Address: b.Address, Preamble: l4.ProbeHeader(sendVersion(c))}
	}
	host, _, err := net.SplitHostPort(b.Address)
	if err != nil { // not after the file's validation
		host = b.Address
	}
	return health.Endpoint{Network: "tcp", Address: net.JoinHostPort(host, strconv.Itoa(c.Check.Port))}
}

func newHTTP(c config.Check, endpoint health.Endpoint) (health.Prober, error) {
	h := health.HTTP{Method: c.Method, Path: c.Path, Host: c.Host}
	var err error
	if h.Status, err = health.ParseStatus(c.Status); err != nil {
		return nil, err
	}
	if h.TLS, err = tlsOf(c); err != nil {
		return nil, err
	}
	return health.NewHTTP(endpoint, h)
}

func tlsConfig(c config.TLS) (*tls.Config, error) {
	t := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: c.Insecure}
	if c.CA == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", c.CA)
	}
	return t, nil
}
