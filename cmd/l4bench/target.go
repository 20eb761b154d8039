package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/bench/load"
)

// resolveWithin bounds the look-up of a target's name.
const resolveWithin = 5 * time.Second

// targetFlags name a running system.
type targetFlags struct {
	addr     string
	protocol string
	path     string
	owned    bool
}

// errTarget means that a target cannot or must not be loaded.
var errTarget = errors.New("bad target")

// protocols are the names that --protocol knows, and what each exchanges.
func protocols() []string { return []string{"http", "redis", "echo", "connect"} }

// resolve returns the target as an address, so that every client goes to the same, and
// refuses one that is not on this machine unless its owner says so.
func (f targetFlags) resolve(ctx context.Context) (string, error) {
	host, port, err := net.SplitHostPort(f.addr)
	if err != nil {
		return "", fmt.Errorf("%w: --target %q: it must be HOST:PORT, as 127.0.0.1:6379 or [::1]:6379", errTarget, f.addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%w: --target %q: port %q: it must be a number from 1 to 65535", errTarget, f.addr, port)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", fmt.Errorf("--target %q: %w", f.addr, err)
	}
	addr := addrs[0].Unmap()
	if !addr.IsLoopback() && !f.owned {
		return "", fmt.Errorf("%w: --target %q is %v, which is not this machine's loopback: load can harm whoever answers there; "+
			"if it is yours, add --i-own-this-target", errTarget, f.addr, addr)
	}
	return net.JoinHostPort(addr.String(), port), nil
}

// exchange is what is done on a connection.
func (f targetFlags) exchange() (load.Protocol, error) {
	if f.protocol != "http" && f.path != "/" {
		return load.Protocol{}, fmt.Errorf("%w: --path is for --protocol http only", errTarget)
	}
	switch f.protocol {
	case "redis":
		return load.Redis(), nil
	case "http":
		if !strings.HasPrefix(f.path, "/") || strings.ContainsAny(f.path, " \r\n") {
			return load.Protocol{}, fmt.Errorf("%w: --path %q: it must begin with / and have no spaces", errTarget, f.path)
		}
		return load.Page(f.addr, f.path), nil
	case "echo":
		return load.Echo(), nil
	case "connect":
		return load.Connect(), nil
	}
	return load.Protocol{}, fmt.Errorf("%w: --protocol %q: known are %s", errTarget, f.protocol, strings.Join(protocols(), ", "))
}

// speech is what long sessions say; the zero value for protocols that have no messages which
// could be numbered.
func (f targetFlags) speech() load.Speech {
	switch f.protocol {
	case "redis":
		return load.RedisEcho()
	case "echo":
		return load.Echoed()
	}
	return load.Speech{}
}

// add adds the flags that name a target.
func (f *targetFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "target", "", "`HOST:PORT` of a running system")
	flags.StringVar(&f.protocol, "protocol", "connect", "what to say there: "+strings.Join(protocols(), ", "))
	flags.StringVar(&f.path, "path", "/", "what to ask for with --protocol http")
	flags.BoolVar(&f.owned, "i-own-this-target", false, "allow a target that is not on loopback")
}
