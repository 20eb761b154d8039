package balancer

import (
	"strings"
	"testing"
)

// watching is a failover configuration whose checks the stream server passes: it
// echoes what follows the letter E.
func watching() *Failover {
	f := Default()
	f.Send, f.Expect = "E\x01\x02", "\x01\x02"
	return &f
}

func TestBalancersThatWatchServeBothServices(t *testing.T) {
	addrs := backends(t)
	services := []Service{{Name: "any", Backends: addrs}, {Name: "hash", Backends: addrs, Hash: true}}
	specs := []Spec{byAdapter(t)}
	for _, k := range Kinds() {
		specs = append(specs, found(t, k))
	}
	for _, s := range specs {
		t.Run(s.Name, func(t *testing.T) {
			i, err := Start(t.Context(), s, t.TempDir(), Settings{Services: services, Sessions: 500, Failover: watching()})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			for _, service := range services {
				for range 4 {
					pass(t, i.Addr(service.Name))
				}
			}
		})
	}
}

// byAdapter is haproxy by an adapter.
func byAdapter(t *testing.T) Spec {
	t.Helper()
	s, err := Adapter{
		Name: "haproxy-by-adapter", Program: "haproxy", Args: []string{"-db", "-f", "{{.File}}"}, VersionArgs: []string{"-v"}, File: "h.cfg",
		Config: `defaults
    mode tcp
    timeout connect {{ms .Failover.Connect}}ms
    timeout client 1h
    timeout server 1h
{{range .Services}}listen {{.Name}}
    bind {{host .Listen}}:{{port .Listen}}
{{range $i, $addr := .Backends}}    server b{{$i}} {{$addr}} check
{{end}}{{end}}`,
	}.Spec()
	if err == nil {
		s, err = s.Find(t.Context())
	}
	if err != nil || !strings.Contains(s.Version, "HAProxy") {
		t.Fatalf("%+v, %v", s, err)
	}
	return s
}
