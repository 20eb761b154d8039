package l4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
)

const payload = "PING\r\nPROXY TCP4 \r\n\x00"

// Commands and families of version 2.
const (
	local, proxied                = 0x20, 0x21
	tcp4, udp4, tcp6, udp6        = 0x11, 0x12, 0x21, 0x22
	unixStream, unixDgram, unspec = 0x31, 0x32, 0x00
)

var (
	block4 = []byte{192, 0, 2, 1, 198, 51, 100, 2, 0x10, 0x00, 0x01, 0xbb} // 192.0.2.1:4096 to 198.51.100.2:443
	block6 = append(append(addr16("2001:db8::1"), addr16("2001:db8::2")...), 0x10, 0x00, 0x01, 0xbb)

	addresses4 = headerAddresses{netip.MustParseAddrPort("192.0.2.1:4096"), netip.MustParseAddrPort("198.51.100.2:443")}
	addresses6 = headerAddresses{netip.MustParseAddrPort("[2001:db8::1]:4096"), netip.MustParseAddrPort("[2001:db8::2]:443")}
	line4      = "PROXY TCP4 192.0.2.1 198.51.100.2 4096 443\r\n"
	line6      = "PROXY TCP6 2001:db8::1 2001:db8::2 4096 443\r\n"
)

func addr16(s string) []byte { a := netip.MustParseAddr(s).As16(); return a[:] }

// v2 makes a version 2 header of what follows the fixed part.
func v2(command, family byte, parts ...[]byte) string {
	body := bytes.Join(parts, nil)
	h := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), command, family)
	h = binary.BigEndian.AppendUint16(h, uint16(len(body)))
	return string(append(h, body...))
}

func tlv(kind byte, value []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(value))), value...)
}

// withCRC adds a TLV with the checksum, of which wrong bits are flipped.
func withCRC(command, family byte, block []byte, wrong uint32, more ...[]byte) string {
	parts := append([][]byte{block, tlv(0x03, make([]byte, 4))}, more...)
	h := []byte(v2(command, family, parts...))
	sum := crc32.Checksum(h, crc32.MakeTable(crc32.Castagnoli)) ^ wrong
	binary.BigEndian.PutUint32(h[v2Fixed+len(block)+3:], sum)
	return string(h)
}

type headerCase struct {
	name   string
	header string
	want   headerAddresses
}

// goodHeaders are what must be accepted. C14, C18, C20
func goodHeaders() []headerCase {
	none := headerAddresses{}
	longest := "PROXY UNKNOWN " + strings.Repeat("ffff:", 7) + "ffff " + strings.Repeat("ffff:", 7) + "ffff 65535 65535\r\n"
	all := []headerCase{
		{"v1 TCP4", line4, addresses4},
		{"v1 TCP6", line6, addresses6},
		{"v1 TCP6, longest", "PROXY TCP6 " + strings.Repeat("ffff:", 7) + "ffff " + strings.Repeat("ffff:", 7) + "ffff 65535 65535\r\n",
			headerAddresses{netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"), netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")}},
		{"v1 TCP6, mapped", "PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 4096 443\r\n", addresses4},
		{"v1 port 0", "PROXY TCP4 192.0.2.1 198.51.100.2 0 443\r\n", headerAddresses{netip.MustParseAddrPort("192.0.2.1:0"), addresses4.destination}},
		{"v1 UNKNOWN", "PROXY UNKNOWN\r\n", none},
		{"v1 UNKNOWN with 107 bytes", longest, none},
		{"v2 TCP4", v2(proxied, tcp4, block4), addresses4},
		{"v2 TCP6", v2(proxied, tcp6, block6), addresses6},
		{"v2 TCP6, mapped", v2(proxied, tcp6, addr16("::ffff:192.0.2.1"), addr16("::ffff:198.51.100.2"), block4[8:]), addresses4},
		{"v2 LOCAL, empty", v2(local, unspec), none},
		{"v2 LOCAL TCP4, empty", v2(local, tcp4), none},
		{"v2 LOCAL with dummies", v2(local, unspec, make([]byte, 12)), none},
		{"v2 LOCAL TCP4 with addresses", v2(local, tcp4, block4), none},
		{"v2 LOCAL TCP4 with TLVs", v2(local, tcp4, block4, tlv(0x04, make([]byte, 97))), none},
		{"v2 LOCAL with what is no TLV", v2(local, unspec, bytes.Repeat([]byte{0xff}, 100)), none},
		{"v2 LOCAL of no known family", v2(local, 0x77, block4), none},
		{"v2 UNSPEC", v2(proxied, unspec), none},
		{"v2 UNSPEC with bytes", v2(proxied, unspec, make([]byte, 36)), none},
		{"v2 UDP4", v2(proxied, udp4, block4), none},
		{"v2 UDP6", v2(proxied, udp6, block6), none},
		{"v2 UNIX", v2(proxied, unixStream, make([]byte, 216)), none},
		{"v2 UNIX datagram", v2(proxied, unixDgram, make([]byte, 216)), none},
		{"v2 UNIX with the most TLVs", v2(proxied, unixStream, make([]byte, 216), tlv(0xea, make([]byte, 4093))), none},
		{"v2 two TLVs", v2(proxied, tcp4, block4, tlv(0x02, []byte("db.test")), tlv(0xe0, nil)), addresses4},
		{"v2 right CRC", withCRC(proxied, tcp4, block4, 0, tlv(0xea, []byte("x"))), addresses4},
		{"v2 right CRC of LOCAL", withCRC(local, unspec, nil, 0), none},
		{"v2 right CRC, IPv6", withCRC(proxied, tcp6, block6, 0), addresses6},
	}
	for _, kind := range []byte{0x04, 0xea, 0xe0, 0xff} {
		for _, size := range []int{0, 200, 241, 1000, 4000, 4093} {
			all = append(all, headerCase{fmt.Sprintf("v2 TLV %#x of %d", kind, size), v2(proxied, tcp4, block4, tlv(kind, make([]byte, size))), addresses4})
		}
	}
	return all
}

// badHeaders are what must be refused, with whatever comes behind. C14
func badHeaders() []headerCase {
	none := headerAddresses{}
	tail := " 198.51.100.2 4096 443\r\n"
	return []headerCase{
		{"no header", "GET / HTTP/1.0\r\n\r\n", none},
		{"binary", "\x00\x01\x02", none},
		{"v1 lower case", "proxy" + line4[5:], none},
		{"v1 without blank", "PROXYTCP4 192.0.2.1" + tail, none},
		{"v1 two blanks", "PROXY  TCP4 192.0.2.1" + tail, none},
		{"v1 bare LF", strings.ReplaceAll(line4, "\r", ""), none},
		{"v1 bare LF at once", "PROXY \n", none},
		{"v1 CR without LF", "PROXY TCP4 192.0.2.1\r" + tail, none},
		{"v1 CR CR LF", "PROXY TCP4 192.0.2.1 198.51.100.2 4096 443\r\r\n", none},
		{"v1 LF before CR", "PROXY TCP4 192.0.2.1 198.51.100.2 4096 443\n\r\n", none},
		{"v1 nothing told", "PROXY \r\n", none},
		{"v1 of 108 bytes", "PROXY UNKNOWN " + strings.Repeat("f", 108-16) + "\r\n", none},
		{"v1 endless", "PROXY " + strings.Repeat("A", 4096), none},
		{"v1 other family", "PROXY UDP4 192.0.2.1" + tail, none},
		{"v1 IPv6 in TCP4", "PROXY TCP4 2001:db8::1" + tail, none},
		{"v1 IPv4 in TCP6", "PROXY TCP6 192.0.2.1" + tail, none},
		{"v1 zone", "PROXY TCP6 fe80::1%lo fe80::2 4096 443\r\n", none},
		{"v1 no address", "PROXY TCP4 example" + tail, none},
		{"v1 port too high", "PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n", none},
		{"v1 port negative", "PROXY TCP4 192.0.2.1 198.51.100.2 -1 443\r\n", none},
		{"v1 too few words", "PROXY TCP4 192.0.2.1 198.51.100.2 4096\r\n", none},
		{"v1 too many words", "PROXY TCP4 192.0.2.1 198.51.100.2 4096 443 1\r\n", none},
		{"v2 signature broken", "\r\n\r\n\x00\r\nQUIX\n" + v2(proxied, tcp4, block4)[12:], none},
		{"v2 version 1", v2(0x11, tcp4, block4), none},
		{"v2 version 3", v2(0x31, tcp4, block4), none},
		{"v2 other command", v2(0x22, tcp4, block4), none},
		{"v2 family unknown", v2(proxied, 0x41, block4), none},
		{"v2 protocol unknown", v2(proxied, 0x13, block4), none},
		{"v2 TCP4 too short", v2(proxied, tcp4, block4[:11]), none},
		{"v2 TCP6 too short", v2(proxied, tcp6, block4), none},
		{"v2 UNIX too short", v2(proxied, unixStream, make([]byte, 215)), none},
		{"v2 TLV cut", v2(proxied, tcp4, block4, tlv(0xea, make([]byte, 20))[:10]), none},
		{"v2 TLV head cut", v2(proxied, tcp4, block4, []byte{0xea, 0}), none},
		{"v2 too long", v2(proxied, tcp4, block4, tlv(0xea, make([]byte, v2MaxUnix+v2MaxTLV-12-2))), none},
		{"v2 longest", v2(proxied, tcp4, make([]byte, 65535)), none},
		{"v2 LOCAL too long", v2(local, unspec, make([]byte, v2MaxUnix+v2MaxTLV+1)), none},
		{"v2 wrong CRC", withCRC(proxied, tcp4, block4, 1), none},
		{"v2 wrong CRC behind another TLV", v2(proxied, tcp4, block4, tlv(0xea, nil), tlv(0x03, make([]byte, 4))), none},
		{"v2 wrong CRC of LOCAL", withCRC(local, unspec, nil, 1<<31), none},
		{"v2 short CRC", v2(proxied, tcp4, block4, tlv(0x03, make([]byte, 3))), none},
	}
}

// pieces is a reader that gives one piece a call.
type pieces [][]byte

func (p *pieces) Read(b []byte) (int, error) {
	for len(*p) > 0 && len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	(*p)[0] = (*p)[0][n:]
	return n, nil
}

func (p *pieces) left() []byte { return bytes.Join(*p, nil) }

// C16
func TestAHeaderIsReadWhereverItIsSplit(t *testing.T) {
	for _, c := range goodHeaders() {
		t.Run(c.name, func(t *testing.T) {
			whole := []byte(c.header + payload)
			for at := range len(c.header) + 2 {
				p := &pieces{whole[:at], whole[at:]}
				h, rest, err := readProxyHeader(p)
				if err != nil || h != c.want {
					t.Fatalf("split at %d: %v, %v", at, h, err)
				}
				if got := string(rest) + string(p.left()); got != payload {
					t.Fatalf("split at %d: payload %q", at, got)
				}
			}
			h, rest, err := readProxyHeader(iotest.OneByteReader(bytes.NewReader(whole)))
			if err != nil || h != c.want || len(rest) != 0 {
				t.Errorf("byte by byte: %v, %q, %v", h, rest, err)
			}
		})
	}
}

func TestWhatIsNoHeaderIsRefusedWhereverItIsSplit(t *testing.T) {
	for _, c := range badHeaders() {
		t.Run(c.name, func(t *testing.T) {
			whole := []byte(c.header + payload)
			for at := 0; at < len(c.header); at += max(1, len(c.header)/200) {
				h, _, err := readProxyHeader(&pieces{whole[:at], whole[at:]})
				if !errors.Is(err, errProxyHeader) || h != (headerAddresses{}) {
					t.Fatalf("split at %d: %v, %v", at, h, err)
				}
			}
		})
	}
}

// C14, C25: no more is asked for than is needed to refuse.
func TestAHeaderIsRefusedAsSoonAsItCanBe(t *testing.T) {
	for _, c := range []struct{ name, begin string }{
		{"first byte", "G"},
		{"second byte of v1", "PX"},
		{"sixth byte of v1", "PROXYx"},
		{"second byte of v2", "\r\r"},
		{"bare LF", "PROXY UNKNOWN\n"},
		{"CR without LF", "PROXY UNKNOWN\rx"},
		{"line of 107 bytes without end", "PROXY " + strings.Repeat("A", 101)},
		{"line of 107 bytes that ends with CR", "PROXY " + strings.Repeat("A", 100) + "\r"},
		{"declared length", v2(proxied, tcp4, make([]byte, 5000))[:v2Fixed]},
	} {
		r := io.MultiReader(iotest.OneByteReader(strings.NewReader(c.begin)), iotest.ErrReader(errors.New("more was asked for")))
		if _, _, err := readProxyHeader(r); !errors.Is(err, errProxyHeader) {
			t.Errorf("%s: %v", c.name, err)
		}
		r = io.MultiReader(iotest.OneByteReader(strings.NewReader(c.begin[:len(c.begin)-1])), iotest.ErrReader(io.ErrNoProgress))
		if _, _, err := readProxyHeader(r); err != io.ErrNoProgress {
			t.Errorf("%s: %v before the last byte", c.name, err)
		}
	}
}

func TestAHeaderThatEndsEarlyIsRefused(t *testing.T) {
	for _, header := range []string{line4, v2(proxied, tcp6, block6)} {
		for n := range len(header) {
			if _, _, err := readProxyHeader(strings.NewReader(header[:n])); !errors.Is(err, errProxyHeader) {
				t.Errorf("%q: %v", header[:n], err)
			}
		}
	}
}

func TestAReadErrorIsPassedOn(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("PROXY "), iotest.ErrReader(broken))
	if _, _, err := readProxyHeader(r); err != broken {
		t.Errorf("%v", err)
	}
}
