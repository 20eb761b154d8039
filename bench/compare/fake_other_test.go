//go:build !linux

package compare

func playBalancer(string) {}
