package ctl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// networked is a desk with a real network.
func networked(t *testing.T) *desk {
	t.Helper()
	return &desk{vars: map[string]string{}, ctx: t.Context(), env: Env{Zone: time.UTC}}
}

func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	d := networked(t)
	d.run("status", "--admin", addr).refused(t, 1, "no sluice listens on "+addr+" (from --admin): ", "refused", "admin: {listen: "+addr+"}", "SLUICE_ADMIN or -c FILE")
	d.vars["SLUICE_ADMIN"] = addr
	d.run("drain", "web/b1").refused(t, 1, "no sluice listens on "+addr+" (from SLUICE_ADMIN): ")
	path := filepath.Join(t.TempDir(), "s")
	d.run("status", "--admin", "unix:"+path).refused(t, 1, "no sluice listens on unix:"+path+" (from --admin): ", "no such file", "admin: {listen: unix:"+path+"}")
}

func TestEveryCommandFailsWithoutAServer(t *testing.T) {
	d := newDesk(t, newFake())
	d.env.dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("connection refused")}
	}
	for _, line := range []string{
		"status", "status web", "status --watch", "drain web/b1", "drain web --all", "ready web/b1", "maint web/b1 --kill", "weight web/b1 1", "set web/b1 --weight 1", "add web 1.2.3.4:5",
		"remove web/b1", "kill web/b1", "kill web -y", "pause web", "resume web", "sessions", "events", "events -f", "failures", "explain web/b1",
		"pick web --source ::1", "plan -c " + newFile(t, ""), "reload",
	} {
		d.run(strings.Fields(line)...).refused(t, 1, "no sluice listens on 127.0.0.1:9090 (the default): connection refused")
	}
}

func TestTheTokenIsMissingOrWrong(t *testing.T) {
	f := newFake()
	f.token = "secret"
	d := newDesk(t, f)
	d.run("status").want(t, 1, "", "127.0.0.1:9090 (the default) asks for a token: use --token env:NAME or --token file:PATH, or set SLUICE_TOKEN; it is admin.token of the running sluice's file\n")
	d.run("status", "--token", "guess").want(t, 1, "", "127.0.0.1:9090 (the default) does not take this token (--token): it must be admin.token of the running sluice's file\n")
	d.vars["SLUICE_TOKEN"] = "guess"
	d.run("status").refused(t, 1, "does not take this token (SLUICE_TOKEN)")
	d.run("status", "--token", "secret", "web").want(t, 0, d.run("status", "web", "--token", "secret").stdout, "")
}

func TestRefusalsAreInTheServersWords(t *testing.T) {
	for code, says := range map[string]string{
		api.CodeInvalid:   "no such thing\n",
		api.CodeForbidden: "no such thing\n",
		api.CodeConflict:  "no such thing\n",
		api.CodeStale:     "no such thing\nsomebody else changed it since: look again with 'sluice status', then repeat\n",
		api.CodeBusy:      "no such thing\n",
		api.CodeInternal:  "no such thing\n",
		api.CodeNotFound:  "no such thing\n", // for the service and the backend are there
	} {
		f := newFake()
		f.fault = &api.Fault{Code: code, Message: "no such thing"}
		newDesk(t, f).run("weight", "web/b1", "1").want(t, 1, "", says)
	}
}

func TestWhatIsNotThereIsSaidWithWhatIs(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	f.services = f.services[:1]
	f.services[0].Backends = f.services[0].Backends[:1]
	d.run("drain", "web/b9").want(t, 1, "", "no backend \"b9\" in web: it has b1\n")
	d.run("pause", "wbe").want(t, 1, "", "no service \"wbe\": there is web\n")
	f.services[0].Backends = nil
	d.run("drain", "web/b9").want(t, 1, "", "no backend \"b9\" in web: it has none\n")
	for i := range 25 {
		f.services[0].Backends = append(f.services[0].Backends, api.Backend{Name: fmt.Sprint("b", i+100)})
	}
	d.run("drain", "web/b9").refused(t, 1, "it has b100, b101, ", "b119 and 5 more\n")
	f.services = nil
	d.run("pause", "web").want(t, 1, "", "no service \"web\": there are none\n")
}

func TestAServerThatIsNotSluice(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"a page":          {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\x1b[2J") }, `answers, but not as sluice does: is this its admin address?`},
		"a page, cleaned": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\x1b[2J") }, `It said: <html>\x1b[2J`},
		"nothing":         {func(http.ResponseWriter, *http.Request) {}, "It said: nothing"},
		"another type":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[1]") }, "not as sluice does"},
		"an error page":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad\agateway", http.StatusBadGateway) }, `answers 502 Bad Gateway, and not as sluice does: is this its admin address? It said: bad\agateway`},
		"a way elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		}, "answers 302 Found, and not as sluice does"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "[{")
		}, "closed the connection without an answer"},
		"hung up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection without an answer: is it sluice's admin address, and not a service's?"},
	} {
		t.Run(name, func(t *testing.T) { newDesk(t, c.handler).run("status").refused(t, 1, c.says) })
	}
}

func TestAServerThatIsNotEvenHTTP(t *testing.T) {
	d := newDesk(t, nil)
	d.env.dial = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			buf := make([]byte, 4096)
			far.Read(buf)
			far.Write([]byte("-ERR unknown command \x1b[2J\r\n"))
		}()
		return near, nil
	}
	r := d.run("status")
	r.refused(t, 1, "127.0.0.1:9090 (the default)", "malformed HTTP")
	hostile(t, "status", r)
}

func TestAServerThatIsSlow(t *testing.T) {
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // before it is read, the end of the client is not noticed
		<-r.Context().Done()
	})
	drip := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "[")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for _, h := range []http.Handler{slow, drip} {
		inBubble(t, h, func(t *testing.T, d *desk) {
			for _, line := range []string{"status", "status --timeout 3s", "drain web/b1 --timeout 3s"} {
				began := time.Now()
				r := d.run(strings.Fields(line)...)
				within := 10 * time.Second
				if strings.Contains(line, "3s") {
					within = 3 * time.Second
				}
				r.refused(t, 1, "127.0.0.1:9090 (the default) did not answer within "+within.String())
				if took := time.Since(began); took != within {
					t.Errorf("%s: it took %v", line, took)
				}
			}
		})
	}
}

func TestAnInterruptEndsARequest(t *testing.T) {
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	inBubble(t, slow, func(t *testing.T, d *desk) {
		d.env.Interrupt = func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Second, cancel)
			return ctx, func() { timer.Stop(); cancel() }
		}
		d.run("status").want(t, 1, "", "interrupted\n")
	})
}

func TestAUnixSocketIsSpokenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	host := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		f.ServeHTTP(w, r)
	}))
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	defer server.Close()
	networked(t).run("weight", "web/b1", "3", "--admin", "unix:"+path).want(t, 0, "web/b1: weight 3\n", "")
	if host != "localhost" {
		t.Errorf("host %q", host)
	}
}

// pemFile writes blocks to a file.
func pemFile(t *testing.T, kind string, der []byte) string {
	return newFile(t, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

func TestTLSIsSpoken(t *testing.T) {
	server := httptest.NewUnstartedServer(newFake())
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	shown := 0
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = len(r.TLS.PeerCertificates)
		inner.ServeHTTP(w, r)
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	addr := server.Listener.Addr().String()
	ca := pemFile(t, "CERTIFICATE", server.Certificate().Raw)
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyFile := pemFile(t, "PRIVATE KEY", key)
	d := networked(t)
	for _, args := range [][]string{
		{"--admin", "https://" + addr, "--ca", ca},
		{"--admin", addr, "--ca", ca}, // who gives a certificate wants TLS
	} {
		d.run(append([]string{"weight", "web/b1", "3"}, args...)...).want(t, 0, "web/b1: weight 3\n", "")
	}
	d.run("weight", "web/b1", "3", "--admin", addr, "--ca", ca, "--cert", ca, "--key", keyFile).want(t, 0, "web/b1: weight 3\n", "")
	if shown != 1 {
		t.Errorf("%d certificates were shown", shown)
	}
	d.run("status", "--admin", "https://"+addr).refused(t, 1, "https://"+addr+" (from --admin): ", "certificate", "--ca FILE says who signed")
	d.run("status", "--admin", addr).refused(t, 1, addr+" (from --admin) speaks TLS: use --admin https://"+addr)
}

func TestTLSWhereThereIsNone(t *testing.T) {
	server := httptest.NewServer(newFake())
	defer server.Close()
	addr := server.Listener.Addr().String()
	networked(t).run("status", "--admin", "https://"+addr).refused(t, 1, "https://"+addr+" (from --admin) does not speak TLS")
}

func TestWhoSpeaksJSONButIsNotSluiceIsNotBelieved(t *testing.T) {
	for name, tag := range map[string]string{"none": "", "another kind": `W/"1"`, "a file's": `"5d8c72a5edda8d6a"`, "no number": `"x"`} {
		other := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if tag != "" {
				w.Header().Set("ETag", tag)
			}
			fmt.Fprint(w, `{"status":"ok"}`)
		})
		d := newDesk(t, other)
		for _, args := range []string{"status", "drain web/b1", "reload", "sessions", "events"} {
			d.run(strings.Fields(args)...).refused(t, 1, "answers, but not as sluice does: is this its admin address?")
		}
		if t.Failed() {
			t.Log(name)
		}
	}
}
