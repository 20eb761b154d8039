package app

import (
	"fmt"
	"net"
	"slices"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health/probe/mysql"
	"github.com/sluicelb/sluice/l4"
)

// Advice returns what an operator should know of a file that is right: the warnings of its
// services, each with the service's name, and which secrets cannot be read by this process.
func Advice(f config.File) (all []string) {
	if f.Admin != nil {
		if _, err := Secret(f.Admin.Token); err != nil {
			all = append(all, fmt.Sprintf("admin.token: %v", err))
		}
	}
	for _, s := range f.Services {
		warnings := Warnings(s)
		if _, err := Secret(s.Check.Password); err != nil {
			warnings = append(warnings, fmt.Sprintf("check.password: %v", err))
		}
		for _, w := range warnings {
			all = append(all, fmt.Sprintf("service %q: %s", s.Name, w))
		}
	}
	return all
}

// mysqlPort is where MySQL listens unless it was told otherwise.
const mysqlPort = "3306"

// Warnings returns what an operator should know of a service before it has run for a day.
func Warnings(c config.Service) (all []string) {
	for _, w := range []struct {
		is   bool
		what string
	}{
		{conflictOf(c.Check) != "" && c.OnDown == string(l4.OnDownKeep),
			"sessions on a node that is not the " + c.Check.Role + " any more stay on it; write on_down: close"},
		{c.Check.Type == "mysql" && mysql.Warning(mysql.Config{User: c.Check.User}) != "", mysql.Warning(mysql.Config{User: c.Check.User})},
		{c.Check.Type == "tcp" && probesMySQL(c),
			"a tcp check of port 3306 breaks off MySQL's handshakes: the server counts them against max_connect_errors and may then block this address; write type: mysql with a user"},
		{c.OnDown == string(l4.OnDownClose) && c.Check.Type == "none", "on_down: close does nothing without an active check"},
		{c.CloseOver > 0 && c.OnDown != string(l4.OnDownClose), "close_over does nothing without on_down: close"},
		{c.SlowStart > 0 && c.Balance == "first", "slow_start does nothing with balance: first, which knows no weights"},
		{c.Connect.HedgeAfter > 0 && c.Connect.Timeout > 0 && c.Connect.HedgeAfter >= c.Connect.Timeout,
			"connect.hedge_after is not below connect.timeout: no second dial ever begins"},
		{c.Connect.HedgeAfter > 0 && c.Connect.Attempts == 1, "connect.attempts: 1 leaves no second backend for hedge_after to dial"},
	} {
		if w.is {
			all = append(all, w.what)
		}
	}
	return all
}

// probesMySQL tells whether a backend is probed where MySQL listens.
func probesMySQL(c config.Service) bool {
	return slices.ContainsFunc(c.Backends, func(b config.Backend) bool {
		_, port, err := net.SplitHostPort(endpointOf(c, b).Address)
		return err == nil && port == mysqlPort
	})
}
