package app

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// maxSecret is more than any password has, in bytes.
const maxSecret = 4 << 10

// Secret returns what a text of the file stands for: itself, or with env:NAME an
// environment variable, or with file:PATH the first line of a file.
func Secret(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		value, set := os.LookupEnv(name)
		if !set || value == "" {
			return "", fmt.Errorf("environment variable %s is not set, or empty", name)
		}
		return value, nil
	}
	path, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return text, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // to read it could take for ever
		return "", fmt.Errorf("%s: not a regular file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || len(line) > maxSecret {
		return "", fmt.Errorf("%s: %w", path, errors.New("its first line is empty, or too long for a password"))
	}
	return line, nil
}

// secrets stands for what a check reads from outside of the file: when that is another one,
// probes begin anew with it.
type secrets [sha256.Size]byte

// secretsOf reads them. What cannot be read is none: whoever makes the prober has the error.
func secretsOf(c config.Check) secrets {
	password, _ := Secret(c.Password)
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(password), password)
	if c.TLS != nil && c.TLS.CA != "" {
		pem, _ := os.ReadFile(c.TLS.CA)
		h.Write(pem)
	}
	return secrets(h.Sum(nil))
}
