package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecretIsATextAVariableOrAFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"one": "from file\n", "crlf": "from file\r\nmore", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SLUICE_TEST_SECRET", "from env")
	for _, c := range []struct{ text, want, fault string }{
		{"plain", "plain", ""},
		{"", "", ""},
		{"env:SLUICE_TEST_SECRET", "from env", ""},
		{"env:SLUICE_TEST_NONE", "", "environment variable SLUICE_TEST_NONE is not set"},
		{"file:" + filepath.Join(dir, "one"), "from file", ""},
		{"file:" + filepath.Join(dir, "crlf"), "from file", ""},
		{"file:" + filepath.Join(dir, "empty"), "", "its first line is empty"},
		{"file:" + filepath.Join(dir, "none"), "", "no such file"},
	} {
		got, err := Secret(c.text)
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
}
