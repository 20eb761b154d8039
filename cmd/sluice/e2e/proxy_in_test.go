//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// told is a client address only a PROXY header can have told.
const (
	told     = "192.0.2.7:4711"
	toldDest = "192.0.2.1:80"
)

// tellSource is a backend that demands a PROXY header, sends back the source it tells and a newline, and then echoes.
func tellSource(c net.Conn) {
	r := bufio.NewReader(c)
	h, err := parts.ReadHeader(r)
	if err != nil {
		_, _ = fmt.Fprintf(c, "bad header %q: %v\n", h.Raw, err)
		return
	}
	_, _ = fmt.Fprintln(c, h.Source)
	_, _ = io.Copy(c, r)
}

// startProxyIn runs a sluice that accepts headers from all of loopback and passes them on to a backend that tells
// what it got.
func startProxyIn(t *testing.T) (s *parts.Sluice, addr string, b *parts.Backend) {
	t.Helper()
	b = parts.Serve(t, tellSource)
	s, addr = start(t, noCheck+"proxy_protocol: {send: v2, accept: [127.0.0.0/8], accept_timeout: 2s}", b.Addr)
	return s, addr, b
}

// C12
func TestMuteClientsOfAProxyListenerHoldNobodyUp(t *testing.T) {
	t.Parallel()
	_, addr, b := startProxyIn(t)
	begin := time.Now()
	mute := make([]net.Conn, 200)
	for i := range mute {
		mute[i] = parts.Dial(t, addr)
	}
	dialled := time.Now()
	good := parts.Dial(t, addr)
	parts.Write(t, good, parts.HeaderV1(told, toldDest)+"PING")
	parts.Expect(t, good, told+"\nPING")
	elapsed(t, "serving a good client", dialled, 0, 500*time.Millisecond)
	each(t, len(mute), func(i int) error {
		if end, _ := parts.EndOf(t, mute[i], 4*time.Second); end == parts.EndOpen {
			return fmt.Errorf("a mute client is still connected after 4 s")
		}
		if d := time.Since(begin); d < 1900*time.Millisecond || time.Since(dialled) > 3500*time.Millisecond {
			return fmt.Errorf("a mute client was closed after %v, want 2 to 3 s", d)
		}
		return nil
	})
	if n := b.Accepted.Load(); n != 1 {
		t.Errorf("the backend was dialled %d times, want once", n)
	}
}

// C14
func TestEndlessProxyLineIsCutOff(t *testing.T) {
	t.Parallel()
	s, addr, b := startProxyIn(t)
	parts.Ends(t, sendTo(t, addr, "PROXY nonsense\r\n"), time.Second) // warms the binary up
	before := parts.RSS(t, s.Pid())
	each(t, 100, func(int) error {
		c, err := parts.TryDial("", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		_, _ = io.WriteString(c, "PROXY "+strings.Repeat("A", 1<<20)) // may fail: it is cut off
		if end, _ := parts.EndOf(t, c, 1500*time.Millisecond); end == parts.EndOpen {
			return fmt.Errorf("an endless line was not refused before the timeout")
		}
		return nil
	})
	if grown := parts.RSS(t, s.Pid()) - before; grown > 40<<20 {
		t.Errorf("100 endless lines of 1 MB took %d MB of memory", grown>>20)
	}
	if n := b.Accepted.Load(); n != 0 {
		t.Errorf("the backend was dialled %d times", n)
	}
}

// C14
func TestMalformedProxyHeadersAreRefused(t *testing.T) {
	t.Parallel()
	_, addr, b := startProxyIn(t)
	for name, header := range map[string]string{
		"bare LF":            strings.Replace(parts.HeaderV1(told, toldDest), "\r\n", "\n", 1),
		"CR without LF":      strings.Replace(parts.HeaderV1(told, toldDest), "\r\n", "\rx", 1) + "PING",
		"line of 108 bytes":  "PROXY UNKNOWN " + strings.Repeat("f", 92) + "\r\n",
		"no header":          "GET / HTTP/1.0\r\n\r\n",
		"bad family word":    "PROXY TCP5 192.0.2.7 192.0.2.1 1 2\r\n",
		"bad address":        "PROXY TCP4 192.0.2.777 192.0.2.1 1 2\r\n",
		"bad port":           "PROXY TCP4 192.0.2.7 192.0.2.1 70000 2\r\n",
		"version 3":          parts.RawV2(0x31, 0x11, strings.Repeat("\x01", 12)),
		"unknown command":    parts.RawV2(0x2f, 0x11, strings.Repeat("\x01", 12)),
		"short address part": parts.RawV2(0x21, 0x11, "\x01\x02\x03\x04"),
	} {
		t.Run(name, func(t *testing.T) {
			parts.Ends(t, sendTo(t, addr, header), 1500*time.Millisecond)
		})
	}
	if n := b.Accepted.Load(); n != 0 {
		t.Errorf("the backend was dialled %d times", n)
	}
}

// sendTo connects and writes text.
func sendTo(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c := parts.Dial(t, addr)
	parts.Write(t, c, text)
	return c
}

// C16
func TestProxyHeaderMayComeInTwoPieces(t *testing.T) {
	t.Parallel()
	_, addr, _ := startProxyIn(t)
	for name, header := range map[string]string{
		"v1":           parts.HeaderV1(told, toldDest),
		"v2":           parts.HeaderV2(told, toldDest),
		"v2 with TLVs": parts.HeaderV2(told, toldDest, parts.TLV(0x04, "padding"), parts.TLV(0xea, "cloud-endpoint")),
	} {
		t.Run(name, func(t *testing.T) {
			each(t, len(header)-1, func(i int) error { return splitHeader(addr, header, i+1) })
		})
	}
}

// splitHeader sends a header in two pieces, the payload with the second, and checks what the backend got.
func splitHeader(addr, header string, at int) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, header[:at]); err != nil {
		return err
	}
	parts.Pause(30 * time.Millisecond)
	if _, err := io.WriteString(c, header[at:]+"PING"); err != nil {
		return err
	}
	want := told + "\nPING"
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		return fmt.Errorf("split after %d bytes: got %q (%v), want %q", at, got[:n], err, want)
	}
	return nil
}

// C18
func TestLocalHeaderUsesTheSocketAddress(t *testing.T) {
	t.Parallel()
	s, addr, _ := startProxyIn(t)
	dummy := strings.Repeat("\x01", 12)
	for name, header := range map[string]string{
		"empty":             parts.RawV2(0x20, 0, ""),
		"dummy addresses":   parts.RawV2(0x20, 0x11, dummy),
		"addresses and TLV": parts.RawV2(0x20, 0x11, dummy+parts.TLV(0x04, strings.Repeat("x", 97))),
		"unspec and TLV":    parts.RawV2(0x20, 0, parts.TLV(0xe0, "x")),
		"v1 UNKNOWN":        "PROXY UNKNOWN\r\n",
		"v1 UNKNOWN + junk": "PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n",
		"proxy of unspec":   parts.RawV2(0x21, 0, ""),
		"proxy of AF_UNIX":  parts.RawV2(0x21, 0x31, strings.Repeat("\x00", 216)),
	} {
		t.Run(name, func(t *testing.T) {
			c := sendTo(t, addr, header+"PING").(*net.TCPConn)
			local := c.LocalAddr().String()
			parts.Expect(t, c, local+"\nPING")
			_ = c.Close()
			s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": local}})
		})
	}
}

func TestIPv6HeaderIsPassedOn(t *testing.T) {
	t.Parallel()
	_, addr, _ := startProxyIn(t)
	for name, header := range map[string]func(string, string) string{
		"v1": parts.HeaderV1, "v2": func(s, d string) string { return parts.HeaderV2(s, d) },
	} {
		t.Run(name, func(t *testing.T) {
			const six = "[2001:db8::7]:4711"
			parts.Expect(t, sendTo(t, addr, header(six, "[2001:db8::1]:80")+"PING"), six+"\nPING")
		})
	}
}

func TestPayloadRightBehindTheHeaderIsKept(t *testing.T) {
	t.Parallel()
	_, addr, _ := startProxyIn(t)
	payload := strings.Repeat("0123456789abcdef", 8<<10)
	for name, header := range map[string]string{"v1": parts.HeaderV1(told, toldDest), "v2": parts.HeaderV2(told, toldDest)} {
		t.Run(name, func(t *testing.T) {
			c := sendTo(t, addr, header+payload).(*net.TCPConn)
			_ = c.CloseWrite()
			parts.Expect(t, c, told+"\n"+payload)
			if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != 0 {
				t.Errorf("%v after %d more bytes, want the end of the stream", end, n)
			}
		})
	}
}

// A client that ends its stream with the header must still be served.
func TestHalfCloseRightBehindTheHeaderIsPassedOn(t *testing.T) {
	t.Parallel()
	_, addr, _ := startProxyIn(t)
	c := sendTo(t, addr, parts.HeaderV2(told, toldDest)).(*net.TCPConn)
	_ = c.CloseWrite()
	parts.Expect(t, c, told+"\n")
	if end, n := parts.EndOf(t, c, parts.Patience); end != parts.EndFIN || n != 0 {
		t.Errorf("%v after %d more bytes, want the end of the stream", end, n)
	}
}

// C20
func TestLargeAndUnknownTLVsAreAccepted(t *testing.T) {
	t.Parallel()
	_, addr, _ := startProxyIn(t)
	for _, kind := range []byte{0x04, 0xea, 0xe0, 0xff} {
		for _, size := range []int{0, 200, 241, 1000, 4000} {
			t.Run(fmt.Sprintf("type %#x of %d bytes", kind, size), func(t *testing.T) {
				header := parts.HeaderV2(told, toldDest, parts.TLV(kind, strings.Repeat("v", size)))
				parts.Expect(t, sendTo(t, addr, header+"PING"), told+"\nPING")
			})
		}
	}
}

// C25
func TestHeaderIsBelievedByItsSourceOnly(t *testing.T) {
	t.Parallel()
	plain := parts.Serve(t, parts.Echo)
	s, addr := start(t, noCheck+"proxy_protocol: {accept: [127.0.0.9/32], accept_timeout: 1s}", plain.Addr)
	header := parts.HeaderV1(told, toldDest)

	trusted := parts.DialFrom(t, "127.0.0.9", addr)
	parts.Write(t, trusted, header)
	parts.Echoes(t, trusted, "PING")
	_ = trusted.Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": told}})

	bare := parts.DialFrom(t, "127.0.0.9", addr)
	parts.Write(t, bare, "PING without a header")
	parts.Ends(t, bare, 2*time.Second)

	forger := parts.DialFrom(t, "127.0.0.5", addr)
	parts.Echoes(t, forger, header+"PING") // payload, untouched
	local := forger.LocalAddr().String()
	_ = forger.Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"client": local}})
}

// C25
func TestHeaderIsPayloadWhereNoneIsAccepted(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	_, addr := start(t, noCheck, b.Addr)
	parts.Echoes(t, parts.Dial(t, addr), parts.HeaderV2(told, toldDest)+"PING")
}
