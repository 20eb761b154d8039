package config

import "strconv"

// Unescape returns a text with Go's escapes, such as \r, \n and \x00, replaced by what they
// stand for. Quotes stand for themselves.
func Unescape(text string) (string, error) {
	var b []byte
	for text != "" {
		if text[0] != '\\' {
			b, text = append(b, text[0]), text[1:]
			continue
		}
		r, multibyte, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			return "", err
		}
		if multibyte {
			b = append(b, string(r)...)
		} else {
			b = append(b, byte(r))
		}
		text = rest
	}
	return string(b), nil
}
