package health

import (
	"strings"
	"testing"
)

func TestSecretsAreTakenOutOfTexts(t *testing.T) {
	for _, tt := range []struct{ text, secret, want string }{
		{"nothing", "sesame", "nothing"},
		{"", "sesame", ""},
		{"it is sesame, sesame!", "sesame", "it is ***, ***!"},
		{"sesame", "sesame", "***"},
		{"cut within ses", "sesame", "cut within ses"},
		{"cut within sesa", "sesame", "cut within ***"},
		{"cut within sesam", "sesame", "cut within ***"},
		{"sesame twice: sesam", "sesame", "*** twice: ***"},
		{"short", "ort", "short"},
		{"none", "", "none"},
	} {
		if got := Hush(tt.text, tt.secret); got != tt.want {
			t.Errorf("%q without %q is %q, want %q", tt.text, tt.secret, got, tt.want)
		}
	}
}

func FuzzHush(f *testing.F) {
	f.Add("it is sesame, ses", "sesame")
	f.Add("aaaaaaaaa", "aaaa")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := Hush(text, secret)
		if len(secret) >= leastHushed && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
			t.Errorf("%q without %q is %q", text, secret, got)
		}
	})
}
