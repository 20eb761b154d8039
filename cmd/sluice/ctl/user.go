package ctl

import (
	"os"
	"os/user"
)

// User is for Env.User: who types, by what sudo and the system say, and on which machine.
// It is for the log and proves nothing.
func User() string {
	name := os.Getenv("SUDO_USER") // more use than root
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
