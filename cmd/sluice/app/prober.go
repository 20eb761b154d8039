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
	}
	return nil, fmt.Errorf("check type %q is not supported", c.Check.Type)
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
	if c.TLS != nil {
		if h.TLS, err = tlsConfig(*c.TLS); err != nil {
			return nil, err
		}
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
