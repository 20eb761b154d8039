package config

import "testing"

func TestEscapesAreGosAndQuotesAreNone(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `PING\r\n`: "PING\r\n", `\x00\xff`: "\x00\xff", `"it's"`: `"it's"`, `é\u00e9\\`: `éé\`,
	} {
		if got, err := Unescape(text); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{`\`, `\q`, `\x1`, `\"`} {
		if got, err := Unescape(text); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"", `PING\r\n`, `\x00`, `\`, `"é\u00e9`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Unescape(text); err == nil && len(got) > len(text) {
			t.Errorf("%q became longer: %q", text, got)
		}
	})
}
