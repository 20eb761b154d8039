package demo

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4"
)

const serviceName = "demo"

// balancer is what the demo is about.
type balancer struct {
	app     *app.App
	served  *app.AdminPage
	page    string // its address
	service *l4.Service
	address string
	text    string        // its whole configuration
	timeout time.Duration // of a drain
}

// startBalancer starts the balancer on the preferred port or the next best.
func startBalancer(ctx context.Context, port int, backends []*backend, log *slog.Logger) (b *balancer, err error) {
	err = firstFree(port, func(port int) (err error) {
		b, err = startBalancerOn(ctx, loopback(port), backends, log)
		return err
	})
	return b, err
}

func startBalancerOn(ctx context.Context, address string, backends []*backend, log *slog.Logger) (*balancer, error) {
	page, err := freeNear(usualAdminPort)
	if err != nil {
		return nil, err
	}
	text := configText(address, page, backends)
	file, err := config.Parse("demo.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	a, err := app.New(file, app.Options{Log: log})
	if err != nil {
		return nil, err
	}
	if err := a.Start(ctx); err != nil {
		return nil, err
	}
	served, err := a.ServeAdmin(ctx)
	if err != nil {
		a.Discard()
		return nil, err
	}
	return &balancer{
		app: a, served: served, page: served.Address(), service: a.L4(serviceName), address: a.Addresses(serviceName)[0],
		text: text, timeout: file.ShutdownTimeout,
	}, nil
}

// configText returns the balancer's file. Failed sessions are not logged: all backends
// killed and a busy client would flood the display, which counts them anyway.
func configText(address, page string, backends []*backend) string {
	var t strings.Builder
	fmt.Fprintf(&t, `admin: {listen: %s}
log: {sessions: off}
shutdown_timeout: 5s
services:
  - name: %s
    listen: %s
    balance: round-robin
    check: {type: http, path: /health, interval: 500ms, fall: 2, rise: 2}
    backends:
`, page, serviceName, address)
	for _, b := range backends {
		fmt.Fprintf(&t, "      - {name: %s, address: %s}\n", b.name, b.address)
	}
	return t.String()
}

// drain ends the balancer.
func (b *balancer) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	b.app.Drain(ctx, nil)
	b.served.Stop()
}
