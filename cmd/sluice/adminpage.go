package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/admin"
	"github.com/sluicelb/sluice/cmd/sluice/admin/page"
	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// adminGoodbye is for how long the admin page's answers under way may take when the process
// ends.
const adminGoodbye = time.Second

// adminPage is the admin server of a process.
type adminPage struct {
	server *admin.Server
	ln     net.Listener
	done   chan struct{}
}

// startAdmin serves the admin page, if the file has one; else it returns nil.
func startAdmin(ctx context.Context, c *config.Admin, a *app.App, connections int, log *slog.Logger) (*adminPage, error) {
	if c == nil {
		return nil, nil
	}
	token, err := app.Secret(c.Token)
	if err != nil {
		return nil, fmt.Errorf("admin: token: %w", err)
	}
	secure, err := adminTLS(c.TLS)
	if err != nil {
		return nil, fmt.Errorf("admin: tls: %w", err)
	}
	pageToken := rand.Text()
	server, err := admin.New(admin.Config{
		Control: a, Metrics: a.Metrics().Handler(), Page: page.Handler(pageToken), PageToken: pageToken,
		Token: token, TLS: secure, Connections: connections, Log: log,
	})
	if err != nil {
		return nil, err
	}
	ln, err := admin.Listen(ctx, c.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin: listen %s: %w", c.Listen, err)
	}
	p := &adminPage{server: server, ln: ln, done: make(chan struct{})}
	log.Info("admin", "address", p.address())
	go func() {
		defer close(p.done)
		if err := server.Serve(ln); !errors.Is(err, admin.ErrServerClosed) {
			log.Error("admin lost", "address", p.address(), "error", err)
		}
	}()
	return p, nil
}

// address is where the page is, as the file would name it.
func (p *adminPage) address() string {
	if p.ln.Addr().Network() == "unix" {
		return "unix:" + p.ln.Addr().String()
	}
	return p.ln.Addr().String()
}

// stop ends the page; nil has none.
func (p *adminPage) stop() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminGoodbye)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		p.server.Close()
	}
	<-p.done
}

// adminTLS reads the certificate of the page, nil for none.
func adminTLS(c *config.AdminTLS) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, err
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.ClientCA == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return nil, err
	}
	t.ClientCAs, t.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !t.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", c.ClientCA)
	}
	return t, nil
}
