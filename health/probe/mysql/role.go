package mysql

import "fmt"

// settings are what a server says of writes: "ON", "OFF", or another word for how far it
// goes, as newer MariaDBs have it. "" is a setting that it has not got.
type settings struct{ readOnly, superReadOnly string }

func (s settings) String() string {
	text := "read_only=" + s.readOnly
	if s.superReadOnly != "" {
		text += " super_read_only=" + s.superReadOnly
	}
	return text
}

// wrongRole is a server that is something else than what was asked for.
type wrongRole struct{ text, saw string }

func (e wrongRole) Error() string { return e.text }

// judge compares what a server says with the role that is wanted, Primary or Replica.
func judge(want Role, s settings) error {
	if s.readOnly == "" {
		return wrongRole{text: "the server does not say whether it is read_only"}
	}
	is, why := Primary, "read_only is off"
	switch {
	case isOn(s.superReadOnly):
		is, why = Replica, "super_read_only is on"
	case isOn(s.readOnly):
		is, why = Replica, "read_only is on"
	}
	if is != want {
		return wrongRole{fmt.Sprintf("role is %v (%s), want %v", is, why, want), s.String()}
	}
	return nil
}

// isOn takes every word but those for off as on: a primary has to say so.
func isOn(value string) bool { return value != "" && value != "OFF" && value != "0" }
