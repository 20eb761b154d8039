package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
)

// ErrMissing means that a server's program is not installed.
var ErrMissing = errors.New("backend: not found")

// stopWithin is how long a backend may take to stop before it is killed.
const stopWithin = 3 * time.Second

// Backend is a server that runs.
type Backend struct {
	*proc.Process
	// Version is what the program says of itself.
	Version string
	// Addrs are where it listens, host:port; all are the same server.
	Addrs []string
}

// Close stops it. Closing twice is allowed.
func (b *Backend) Close() { b.Stop(stopWithin) }

// Redis starts a redis-server that keeps nothing, with its files below dir. An error
// may wrap ErrMissing. The caller must call Close.
func Redis(ctx context.Context, dir string) (*Backend, error) {
	path, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	version, _, _ := strings.Cut(proc.Version(ctx, path, "--version"), " sha=") // builds are of no interest
	return start(ctx, version, func(port int) (proc.Command, error) {
		return proc.Command{Name: "redis-server", Path: path, Dir: dir, Args: []string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir,
		}}, nil
	})
}

// Stream starts the embedded server: worker is a command line that runs
// stream.Serve on the address that is added to it.
func Stream(ctx context.Context, worker []string) (*Backend, error) {
	return start(ctx, "embedded stream server", func(port int) (proc.Command, error) {
		args := append(worker[1:len(worker):len(worker)], proc.Loopback(port))
		return proc.Command{Name: "stream server", Path: worker[0], Args: args}, nil
	})
}

// httpAddrs is on how many addresses of one port nginx listens.
const httpAddrs = 8

// HTTPPath is what HTTP serves HTTPBody under.
const HTTPPath = "/small"

// HTTPBody is the content of that file.
func HTTPBody() []byte { return []byte(strings.Repeat("sluice ", 37)[:256]) }

// HTTP starts an nginx that serves one small file, with its files below dir. An error
// may wrap ErrMissing. The caller must call Close.
func HTTP(ctx context.Context, dir string) (*Backend, error) {
	path, err := find("nginx")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, HTTPPath), HTTPBody(), 0o600); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nginx.conf")
	b, err := start(ctx, proc.Version(ctx, path, "-v"), func(port int) (proc.Command, error) {
		return proc.Command{
			Name: "nginx (http)", Path: path, Dir: dir, Args: []string{"-p", dir, "-c", config, "-e", "stderr"}, Parent: true,
		}, os.WriteFile(config, []byte(httpText(dir, port)), 0o600)
	})
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(b.Addrs[0], ":")
	for i := 2; i <= httpAddrs; i++ {
		b.Addrs = append(b.Addrs, fmt.Sprintf("127.0.0.%d:%s", i, port))
	}
	return b, nil
}

func httpText(dir string, port int) string {
	var b strings.Builder
	if os.Geteuid() == 0 {
		b.WriteString("user root;\n") // or its workers could not enter dir
	}
	fmt.Fprintf(&b, "daemon off;\npid %[1]s/nginx.pid;\nerror_log %[1]s/error.log warn;\nworker_processes 2;\n", dir)
	b.WriteString("worker_rlimit_nofile 8192;\nevents { worker_connections 8192; }\nhttp {\n    access_log off;\n    keepalive_timeout 1h;\n")
	for _, temp := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "    %s_temp_path %s/%s;\n", temp, dir, temp)
	}
	b.WriteString("    server {\n")
	for i := 1; i <= httpAddrs; i++ {
		fmt.Fprintf(&b, "        listen 127.0.0.%d:%d backlog=4096;\n", i, port)
	}
	fmt.Fprintf(&b, "        root %s;\n    }\n}\n", dir)
	return b.String()
}

func start(ctx context.Context, version string, command func(port int) (proc.Command, error)) (*Backend, error) {
	b := &Backend{Version: version}
	var err error
	b.Process, err = proc.StartListening(ctx, 1, func(ports []int) (proc.Command, error) {
		b.Addrs = []string{proc.Loopback(ports[0])}
		return command(ports[0])
	})
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	return b, nil
}

// find looks on PATH and where Debian puts servers.
func find(program string) (string, error) {
	for _, place := range []string{program, "/usr/sbin/" + program, "/sbin/" + program} {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrMissing, program)
}
