package relay

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawAddress is an address as the kernel takes it.
type rawAddress struct {
	any unix.RawSockaddrAny
	len uint32
}

// set makes the address of ip, or of a Unix socket; false if the path is too long.
func (r *rawAddress) set(ip netip.AddrPort, path string) bool {
	if !ip.IsValid() {
		return r.setPath(path)
	}
	if a := ip.Addr(); a.Is4() {
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&r.any))
		*sa = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigEndian(ip.Port()), Addr: a.As4()}
		r.len = unix.SizeofSockaddrInet4
	} else {
		sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(&r.any))
		*sa = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: bigEndian(ip.Port()), Addr: a.As16()}
		r.len = unix.SizeofSockaddrInet6
	}
	return true
}

// setPath follows package net: a leading @ stands for the zero byte of an abstract name.
func (r *rawAddress) setPath(path string) bool {
	sa := (*unix.RawSockaddrUnix)(unsafe.Pointer(&r.any))
	if path == "" || len(path) >= len(sa.Path) {
		return false
	}
	*sa = unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i := range len(path) {
		sa.Path[i] = int8(path[i])
	}
	r.len = uint32(unsafe.Offsetof(sa.Path)) + uint32(len(path))
	if path[0] == '@' {
		sa.Path[0] = 0
	} else {
		r.len++ // the zero byte at the end
	}
	return true
}

// get returns the address as package netip has it; invalid for one that is not IP.
func (r *rawAddress) get() netip.AddrPort {
	switch r.any.Addr.Family {
	case unix.AF_INET:
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&r.any))
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), bigEndian(sa.Port))
	case unix.AF_INET6:
		sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(&r.any))
		a := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.Scope_id != 0 {
			a = a.WithZone(zoneName(int(sa.Scope_id)))
		}
		return netip.AddrPortFrom(a, bigEndian(sa.Port))
	}
	return netip.AddrPort{}
}

func zoneName(index int) string {
	if i, err := net.InterfaceByIndex(index); err == nil {
		return i.Name
	}
	return strconv.Itoa(index)
}

// bigEndian turns a port into the kernel's order, or back.
func bigEndian(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}
