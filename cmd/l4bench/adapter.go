package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/sluicelb/sluice/bench/balancer"
)

// adapterFile is an adapter as people write it.
type adapterFile struct {
	Name    string   `yaml:"name"`
	Program string   `yaml:"program"`
	Args    []string `yaml:"args"`
	Version []string `yaml:"version"`
	File    string   `yaml:"file"`
	Config  string   `yaml:"config"`
	Cannot  []string `yaml:"cannot"`
}

// readAdapter reads a file. Errors wrap balancer.ErrAdapter, or are those of files.
func readAdapter(path string) (balancer.Spec, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return balancer.Spec{}, err
	}
	var f adapterFile
	if err := yaml.UnmarshalWithOptions(b, &f, yaml.Strict()); err != nil {
		return balancer.Spec{}, fmt.Errorf("%w: %w", balancer.ErrAdapter, err)
	}
	return balancer.Adapter{
		Name: f.Name, Program: f.Program, Args: f.Args, VersionArgs: f.Version, File: f.File, Config: f.Config, Cannot: f.Cannot,
	}.Spec()
}

// adapterExample is an adapter that works; a test measures with it.
const adapterExample = `# How l4bench runs a balancer whose configuration it does not know. As an example this
# one runs haproxy. Use it with: l4bench failover --adapter FILE
name: haproxy-by-adapter          # what the report calls it
program: haproxy                  # a path, or a name on PATH; it must stay in the foreground,
                                  # and end on SIGTERM
args: [-db, -f, "{{.File}}"]      # templates: Go's text/template, as is config
version: [-v]                     # arguments that print its version; leave out = not asked
file: haproxy.cfg                 # the name of its configuration file
cannot: []                        # sentences for the report: what of the settings it has no words for
# Templates see
#   .Services    each with .Name, .Listen (host:port), .Backends (host:port), .Hash (true = a
#                client goes to the same backend each time, by its address)
#   .Failover    .Connect .Interval .Timeout .Eject .Dead (durations), .Rise .Fall (numbers),
#                .Send .Expect (what a check says, and what the answer contains), .Close (true =
#                end the sessions of a backend that is down)
#   .Sessions    there must be room for so many;  .Threads to use;  .Dir  a folder of its own;  .File
# and the functions ms and seconds (of a duration), hex and escape (\xNN, of .Send and
# .Expect), host and port (of an address), join (of .Backends, with a separator).
config: |
  global
      nbthread {{.Threads}}
      maxconn {{.Sessions}}
  defaults
      mode tcp
      timeout connect {{ms .Failover.Connect}}ms
      timeout check {{ms .Failover.Timeout}}ms
      timeout client 1h
      timeout server 1h
      option redispatch 1
      option tcp-check
      tcp-check connect
      tcp-check send-binary {{hex .Failover.Send}}
      tcp-check expect binary {{hex .Failover.Expect}}
      default-server check inter {{ms .Failover.Interval}}ms rise {{.Failover.Rise}} fall {{.Failover.Fall}}
  {{range .Services}}
  listen {{.Name}}
      bind {{.Listen}}
      balance {{if .Hash}}source{{else}}roundrobin{{end}}
      {{range $i, $addr := .Backends}}
      server b{{$i}} {{$addr}}
      {{end}}
  {{end}}
`
