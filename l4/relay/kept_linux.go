package relay

// keptSizes are the buffers for what a destination does not take at once.
var keptSizes = [...]int{4 << 10, 16 << 10, loopBuffer}

// spareBuffers is how many of each size a loop keeps unused, at most.
const spareBuffers = 16

// kept is a buffer, of which the bytes before from have been delivered.
type kept struct {
	b    []byte // as long as what was kept
	from int
}

// keptBuffers holds the bytes in hand of a loop's sessions, known by an index.
type keptBuffers struct {
	held  []kept
	gone  []int32                  // indexes in held that are free
	spare [len(keptSizes)][][]byte // by size
}

// keep copies b, which is no longer than the loop's buffer.
func (k *keptBuffers) keep(b []byte) int32 {
	class := 0
	for keptSizes[class] < len(b) {
		class++
	}
	var buf []byte
	if n := len(k.spare[class]); n > 0 {
		buf = k.spare[class][n-1]
		k.spare[class] = k.spare[class][:n-1]
	} else {
		buf = make([]byte, keptSizes[class])
	}
	return k.hold(buf[:copy(buf, b)])
}

// hold keeps b itself.
func (k *keptBuffers) hold(b []byte) int32 {
	if n := len(k.gone); n > 0 {
		i := k.gone[n-1]
		k.gone = k.gone[:n-1]
		k.held[i] = kept{b: b}
		return i
	}
	k.held = append(k.held, kept{b: b})
	return int32(len(k.held) - 1)
}

// drop frees what keep or hold returned.
func (k *keptBuffers) drop(i int32) {
	b := k.held[i].b
	k.held[i] = kept{}
	k.gone = append(k.gone, i)
	for class, size := range keptSizes {
		if cap(b) == size && len(k.spare[class]) < spareBuffers {
			k.spare[class] = append(k.spare[class], b[:size])
		}
	}
}
