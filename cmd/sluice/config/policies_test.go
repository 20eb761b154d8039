package config_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/picker"
)

// The names stand in both packages, for neither imports the other.
func TestBalancesAreThePoliciesOfThePicker(t *testing.T) {
	got, want := config.Balances(), picker.Policies()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("config has %v, the picker %v", got, want)
	}
}
