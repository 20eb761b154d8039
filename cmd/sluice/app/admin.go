package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/admin"
	"github.com/sluicelb/sluice/cmd/sluice/admin/page"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// adminGoodbye is for how long the admin page's answers under way may take when the process
// ends.
const adminGoodbye = time.Second

// AdminPage is the admin server of a process: page, API, metrics.
type AdminPage struct {
	server *admin.Server
	ln     net.Listener
	done   chan struct{}
}

// ServeAdmin serves the admin page, if the file has one; else it returns nil. It may come
// before Start, and tells then that the process is not ready.
func (a *App) ServeAdmin(ctx context.Context) (*AdminPage, error) {
	c, log := a.file.Admin, a.log
	if c == nil {
		return nil, nil
	}
	token, err := Secret(c.Token)
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
		Token: token, TLS: secure, Connections: adminConnections(a.budget.Limit()), Log: log,
	})
	if err != nil {
		return nil, err
	}
	ln, err := admin.Listen(ctx, c.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin: listen %s: %w", c.Listen, err)
	}
	p := &AdminPage{server: server, ln: ln, done: make(chan struct{})}
	log.Info("admin", "address", p.Address())
	go func() {
		defer close(p.done)
		if err := server.Serve(ln); !errors.Is(err, admin.ErrServerClosed) {
			log.Error("admin lost", "address", p.Address(), "error", err)
		}
	}()
	return p, nil
}

// Address is where the page is, as the file would name it.
func (p *AdminPage) Address() string { return listenAddress(p.ln.Addr()) }

// Stop ends the page; there may be none.
func (p *AdminPage) Stop() {
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
