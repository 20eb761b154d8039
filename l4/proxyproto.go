package l4

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/netip"

	proxyproto "github.com/pires/go-proxyproto"
)

// This file is the only one that knows the PROXY protocol. The format is the
// library's; how many bytes are the header's is decided here, since not one byte of
// payload may be taken with it, and since a header may come in pieces.

const (
	v1MaxLine = 107 // with CR LF
	v2Fixed   = 16  // signature, version and command, family, length
	v2MaxTLV  = 4 << 10
	v2MaxUnix = 216 // the longest address block
	v2Local   = 0x20
	v2Proxy   = 0x21
	v2Unspec  = 0x00

	tlvType   = 3 // bytes of a TLV's type and length
	tlvCRC32C = 0x03
)

// errProxyHeader is a required header that is missing or malformed.
var errProxyHeader = errors.New("l4: PROXY header")

// headerAddresses are a header's; invalid when it has none to tell (LOCAL, UNKNOWN,
// UNSPEC, or a family other than TCP over IP), and the connection's own are meant.
type headerAddresses struct {
	source, destination netip.AddrPort
}

// readProxyHeader reads a header of either version from r, in whatever pieces it
// comes, and returns what was read behind it. Errors: errProxyHeader for what is
// not a header or ends within it, and r's own.
func readProxyHeader(r io.Reader) (h headerAddresses, rest []byte, err error) {
	buf := make([]byte, 0, v2Fixed+v2MaxUnix)
	for {
		size, err := headerSize(buf)
		if err != nil {
			return h, nil, err
		}
		if size > 0 && len(buf) >= size {
			h, err = parseHeader(buf[:size])
			return h, bytes.Clone(buf[size:]), err
		}
		if size > cap(buf) {
			buf = append(make([]byte, 0, size), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF && n == 0 {
			return h, nil, fmt.Errorf("%w: ended after %d bytes", errProxyHeader, len(buf))
		}
		if err != nil && n == 0 {
			return h, nil, err
		}
	}
}

// headerSize returns how many bytes the header has of which buf is the beginning;
// 0 if more is needed to tell. It refuses as early as can be.
func headerSize(buf []byte) (int, error) {
	switch {
	case hasPrefix(buf, []byte("PROXY ")):
		return v1Size(buf)
	case hasPrefix(buf, proxyproto.SIGV2):
		return v2Size(buf)
	}
	return 0, fmt.Errorf("%w: missing", errProxyHeader)
}

// hasPrefix tells whether buf begins with prefix, as far as it goes.
func hasPrefix(buf, prefix []byte) bool {
	n := min(len(buf), len(prefix))
	return bytes.Equal(buf[:n], prefix[:n])
}

func v1Size(buf []byte) (int, error) {
	line := buf[:min(len(buf), v1MaxLine)]
	if i := bytes.IndexAny(line, "\r\n"); i >= 0 && i+1 < len(line) {
		if line[i] != '\r' || line[i+1] != '\n' {
			return 0, fmt.Errorf("%w: version 1: the line must end with CR LF", errProxyHeader)
		}
		return i + 2, nil
	} else if i >= 0 && line[i] == '\n' {
		return 0, fmt.Errorf("%w: version 1: the line must end with CR LF", errProxyHeader)
	}
	if len(line) == v1MaxLine {
		return 0, fmt.Errorf("%w: version 1: more than %d bytes", errProxyHeader, v1MaxLine)
	}
	return 0, nil
}

func v2Size(buf []byte) (int, error) {
	if len(buf) < v2Fixed {
		return 0, nil
	}
	n := int(binary.BigEndian.Uint16(buf[14:]))
	if n > v2MaxUnix+v2MaxTLV {
		return 0, fmt.Errorf("%w: version 2: %d bytes, at most %d are taken", errProxyHeader, n, v2MaxUnix+v2MaxTLV)
	}
	return v2Fixed + n, nil
}

// parseHeader reads a whole header.
func parseHeader(frame []byte) (headerAddresses, error) {
	if frame[0] != 'P' {
		switch command, family := frame[12], frame[13]; {
		case command == v2Local, command == v2Proxy && family == v2Unspec:
			// What follows is to be skipped, whatever it is; but what says that it can be
			// checked is.
			return headerAddresses{}, checkTLVs(frame, frame[v2Fixed+blockLength(family, len(frame)):], true)
		}
		block := v2Fixed + blockLength(frame[13], len(frame))
		if err := checkTLVs(frame, frame[block:], false); err != nil {
			return headerAddresses{}, err
		}
		// The library bounds address block and TLVs together, below what is taken here.
		frame = bytes.Clone(frame[:block])
		binary.BigEndian.PutUint16(frame[14:], uint16(block-v2Fixed))
	}
	h, err := proxyproto.Read(bufio.NewReader(bytes.NewReader(frame)))
	if err != nil {
		return headerAddresses{}, fmt.Errorf("%w: %w", errProxyHeader, err)
	}
	source, destination, ok := h.TCPAddrs()
	if !ok || h.Command.IsLocal() {
		return headerAddresses{}, nil
	}
	return headerAddresses{addrPort(source), addrPort(destination)}, nil
}

// blockLength returns the length of a version 2 address block, at most what a frame
// of the given size has room for.
func blockLength(family byte, frame int) int {
	n := 0
	switch proxyproto.AddressFamilyAndProtocol(family) {
	case proxyproto.TCPv4, proxyproto.UDPv4:
		n = 12
	case proxyproto.TCPv6, proxyproto.UDPv6:
		n = 36
	case proxyproto.UnixStream, proxyproto.UnixDatagram:
		n = v2MaxUnix
	}
	return min(n, frame-v2Fixed)
}

// checkTLVs checks that the TLVs of a version 2 header are well formed and, if they
// hold a CRC32C, that it is the frame's. With lenient set, bytes that are no TLVs
// are let pass.
func checkTLVs(frame, tlvs []byte, lenient bool) error {
	if _, err := proxyproto.SplitTLVs(tlvs); err != nil {
		if lenient {
			return nil
		}
		return fmt.Errorf("%w: %w", errProxyHeader, err)
	}
	for len(tlvs) > 0 {
		size := tlvType + int(binary.BigEndian.Uint16(tlvs[1:]))
		if tlvs[0] == tlvCRC32C && !checksumHolds(frame, tlvs[tlvType:size]) {
			return fmt.Errorf("%w: version 2: wrong CRC32C", errProxyHeader)
		}
		tlvs = tlvs[size:]
	}
	return nil
}

// checksumHolds computes the frame's CRC32C, in which sum, a part of the frame,
// counts as zero.
func checksumHolds(frame, sum []byte) bool {
	if len(sum) != 4 {
		return false
	}
	want := binary.BigEndian.Uint32(sum)
	clear(sum)
	got := crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(sum, want)
	return got == want
}

// proxyHeader makes the header for a backend. Without addresses, as with a client on
// a Unix socket, it says so.
func proxyHeader(version int, source, destination netip.AddrPort) []byte {
	if !source.IsValid() || !destination.IsValid() {
		return ProbeHeader(version)
	}
	h := proxyproto.HeaderProxyFromAddrs(byte(version), tcpAddr(source), tcpAddr(destination))
	b, err := h.Format()
	if err != nil { // not for two valid addresses
		return ProbeHeader(version)
	}
	return b
}

// ProbeHeader returns the PROXY header of a connection that is made on nobody's
// behalf: UNKNOWN in version 1, LOCAL in version 2; nil for version 0.
func ProbeHeader(version int) []byte {
	if version == 0 {
		return nil
	}
	b, err := proxyproto.HeaderProxyFromAddrs(byte(version), nil, nil).Format()
	if err != nil {
		return nil
	}
	return b
}

// tcpAddr leaves the zone out: it means something on this machine only.
func tcpAddr(ap netip.AddrPort) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port()))
}
