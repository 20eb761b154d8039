package config

import (
	"errors"
	"fmt"
)

// CheckBackend tells what is wrong with a backend that does not come from a file, under the rules of one.
func CheckBackend(b Backend) error {
	var errs []error
	if _, err := parseAddress(b.Address, false); err != nil {
		errs = append(errs, fmt.Errorf("address: %w", err))
	}
	if err := checkName(b.Name); err != nil {
		errs = append(errs, fmt.Errorf("name: %w", err))
	}
	if b.Weight < 0 || b.Weight > 256 {
		errs = append(errs, fmt.Errorf("weight: %d; allowed: 0 (no new sessions) to 256", b.Weight))
	}
	if b.Priority < 0 {
		errs = append(errs, fmt.Errorf("priority: %d; allowed: 0 or more", b.Priority))
	}
	if b.MaxConnections < 0 {
		errs = append(errs, fmt.Errorf("max_connections: %d; allowed: 0 (no limit) or more", b.MaxConnections))
	}
	return errors.Join(errs...)
}
