//go:build linux

package parts

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// v2Signature opens every PROXY header of version 2.
const v2Signature = "\r\n\r\n\x00\r\nQUIT\n"

// HeaderV1 is a PROXY v1 line for two addresses of one family.
func HeaderV1(source, destination string) string {
	s, d := netip.MustParseAddrPort(source), netip.MustParseAddrPort(destination)
	family := "TCP4"
	if s.Addr().Is6() {
		family = "TCP6"
	}
	return fmt.Sprintf("PROXY %s %v %v %d %d\r\n", family, s.Addr(), d.Addr(), s.Port(), d.Port())
}

// HeaderV2 is a PROXY v2 header for two addresses of one family, followed by tlvs.
func HeaderV2(source, destination string, tlvs ...string) string {
	s, d := netip.MustParseAddrPort(source), netip.MustParseAddrPort(destination)
	body := append(s.Addr().AsSlice(), d.Addr().AsSlice()...)
	body = binary.BigEndian.AppendUint16(body, s.Port())
	body = binary.BigEndian.AppendUint16(body, d.Port())
	family := byte(0x11)
	if s.Addr().Is6() {
		family = 0x21
	}
	return RawV2(0x21, family, string(body)+strings.Join(tlvs, ""))
}

// RawV2 is a PROXY v2 header with the given version-and-command and family bytes.
func RawV2(command, family byte, body string) string {
	h := append([]byte(v2Signature), command, family)
	h = binary.BigEndian.AppendUint16(h, uint16(len(body)))
	return string(h) + body
}

// TLV is one type-length-value of a v2 header.
func TLV(kind byte, value string) string {
	return string(binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(value)))) + value
}

// Header is a parsed PROXY header.
type Header struct {
	Version int
	Command string // PROXY, LOCAL or UNKNOWN (v1)
	Family  string // TCP4 or TCP6, "" with LOCAL and UNKNOWN
	Source  string
	Dest    string
	Raw     string
}

// ReadHeader reads one PROXY header of either version and nothing after it.
func ReadHeader(r *bufio.Reader) (Header, error) {
	first, err := r.Peek(1)
	if err != nil {
		return Header{}, err
	}
	if first[0] == 'P' {
		return readV1(r)
	}
	return readV2(r)
}

func readV1(r *bufio.Reader) (Header, error) {
	line, err := r.ReadString('\n')
	h := Header{Version: 1, Command: "PROXY", Raw: line}
	if err != nil {
		return h, err
	}
	f := strings.Fields(line)
	switch {
	case !strings.HasSuffix(line, "\r\n") || len(f) < 2 || f[0] != "PROXY":
		return h, fmt.Errorf("bad v1 line %q", line)
	case f[1] == "UNKNOWN":
		h.Command = "UNKNOWN"
		return h, nil
	case len(f) != 6:
		return h, fmt.Errorf("bad v1 line %q", line)
	}
	h.Family, h.Source, h.Dest = f[1], joinPort(f[2], f[4]), joinPort(f[3], f[5])
	return h, nil
}

func joinPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

func readV2(r *bufio.Reader) (Header, error) {
	h := Header{Version: 2, Command: "LOCAL"}
	fixed := make([]byte, 16)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return h, err
	}
	if string(fixed[:12]) != v2Signature || fixed[12]>>4 != 2 {
		return h, fmt.Errorf("bad v2 header % x", fixed)
	}
	body := make([]byte, binary.BigEndian.Uint16(fixed[14:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return h, err
	}
	h.Raw = string(fixed) + string(body)
	if fixed[12]&15 == 0 {
		return h, nil
	}
	h.Command = "PROXY"
	size := map[byte]int{0x11: 4, 0x21: 16}[fixed[13]]
	if size == 0 || len(body) < 2*size+4 {
		return h, errors.New("v2 header with an unknown family or a short address block")
	}
	h.Family = map[int]string{4: "TCP4", 16: "TCP6"}[size]
	h.Source = v2Addr(body[:size], body[2*size:])
	h.Dest = v2Addr(body[size:2*size], body[2*size+2:])
	return h, nil
}

func v2Addr(ip, port []byte) string {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port)).String()
}
