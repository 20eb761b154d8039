package health

import "strings"

// leastHushed is the length from which on a secret is taken out of texts, in bytes: a
// shorter one is in many a word.
const leastHushed = 4

// Hush takes a secret out of what a backend sent, for a prober that logs in: some servers
// repeat what they were sent. That goes into reasons, evidence and logs. A text that ends
// within the secret loses the part of it. Secrets of less than 4 bytes are left.
//
// It belongs before all that changes a text or shortens it, where the secret could no longer
// be recognised.
func Hush(text, secret string) string {
	if len(secret) < leastHushed {
		return text
	}
	text = strings.ReplaceAll(text, secret, "***")
	for n := min(len(secret)-1, len(text)); n >= leastHushed; n-- {
		if rest, cut := strings.CutSuffix(text, secret[:n]); cut {
			return rest + "***"
		}
	}
	return text
}
