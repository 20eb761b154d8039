//go:build !linux

package relay

func systemEngines() []engineCase { return nil }
