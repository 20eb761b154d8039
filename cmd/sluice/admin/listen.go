package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"github.com/sluicelb/sluice/l4"
)

const unixPrefix = "unix:"

// socketMode lets nobody but the user of the process connect.
const socketMode = 0o600

// Listen opens a listener for Serve on host:port or unix:PATH. A socket's file has the mode
// 0600; until it is set, which is right after the bind, the umask decides. A socket that
// nobody serves any more is replaced; one that is served is an error.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := l4.Listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("admin: listen on %s: %w", address, err)
	}
	path, unix := strings.CutPrefix(address, unixPrefix)
	if !unix || runtime.GOOS == "windows" { // where the folder's rights count, and modes mean nothing
		return ln, nil
	}
	if err := os.Chmod(path, socketMode); err != nil {
		ln.Close()
		return nil, fmt.Errorf("admin: listen on %s: %w", address, err)
	}
	return ln, nil
}

// Guards is what keeps strangers from an admin server.
type Guards struct {
	Token    bool // clients need one
	TLS      bool // the server has a certificate
	ClientCA bool // clients need a certificate; with TLS
}

// Check returns an error if others than this machine's users can reach address, host:port
// or unix:PATH, and nothing keeps them out.
func (g Guards) Check(address string) error {
	switch {
	case g.ClientCA && !g.TLS:
		return errors.New("admin: a client CA needs a certificate of the server too")
	case g.Token || g.ClientCA || onlyLocal(address):
		return nil
	case g.TLS:
		return fmt.Errorf("admin: %s can be reached from elsewhere, and TLS alone keeps nobody out: set a token or a client CA", address)
	}
	return fmt.Errorf("admin: %s can be reached from elsewhere: set a token, or TLS with a client CA, or listen on 127.0.0.1 or unix:PATH", address)
}

// onlyLocal tells whether nobody can reach address from another machine. A name other than
// localhost is taken for one that can be.
func onlyLocal(address string) bool {
	if strings.HasPrefix(address, unixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	return err == nil && (isLocalhost(host) || isLoopback(host))
}

// isLocalhost tells whether host is the one name that browsers and systems keep to
// themselves.
func isLocalhost(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// isLoopback takes no short forms of IPv4 addresses: what they mean depends on who reads them.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// addressOf is a as Listen takes it.
func addressOf(a net.Addr) string {
	if _, unix := a.(*net.UnixAddr); unix {
		return unixPrefix + a.String()
	}
	return a.String()
}
