//go:build !linux

package proc

import "time"

func cpuTime(int) (time.Duration, error) { return 0, unsupported() }

func descendants(int) ([]int, error) { return nil, unsupported() }

func holdings(int) (anonymous int64, descriptors int, err error) { return 0, 0, unsupported() }

func listening([]int, int) bool { return false }

func moment() (Moment, error) { return Moment{}, unsupported() }
