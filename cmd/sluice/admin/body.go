package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// body is the kind of body that an endpoint takes.
type body int

const (
	noBody   body = iota // none; an empty object is let pass, since some clients cannot send less
	jsonBody             // one JSON object
	fileBody             // a configuration file
)

// mediaType is what the Content-Type has to be. One that a form can have would let a page of
// another origin send it without asking first.
func (b body) mediaType() string {
	if b == fileBody {
		return "application/yaml"
	}
	return "application/json"
}

// limit is in bytes. An object of the API is far below it, a file with thousands of backends
// too.
func (b body) limit() int64 {
	if b == fileBody {
		return 8 << 20
	}
	return 64 << 10
}

// read returns the body of r after its headers have been checked.
func (b body) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > b.limit() { // known before a byte is read
		return nil, unread(&http.MaxBytesError{}, b.limit())
	}
	if b != noBody {
		if err := b.checkType(r); err != nil {
			return nil, err
		}
	}
	text, err := readAll(r, http.MaxBytesReader(w, r.Body, b.limit()))
	switch {
	case err != nil:
		return nil, unread(err, b.limit())
	case len(text) > 0 && b == noBody:
		if err := b.checkType(r); err != nil {
			return nil, err
		}
		return nil, decode(text, &struct{}{})
	case len(text) == 0 && b != noBody:
		return nil, invalid("body missing: want %s", b.mediaType())
	}
	return text, nil
}

// readAll reads the body of r. A client that takes its time over it has to give way to
// others, as long as nothing has been done.
func readAll(r *http.Request, from io.Reader) ([]byte, error) {
	c := connIn(r)
	if r.ContentLength == 0 || c == nil {
		return io.ReadAll(from)
	}
	c.room.state(c, http.StateIdle)
	text, err := io.ReadAll(from)
	c.room.state(c, http.StateActive)
	if evicted(r) {
		panic(http.ErrAbortHandler)
	}
	return text, err
}

// checkType takes a charset of UTF-8, which is all that JSON and YAML have here, and some
// clients cannot leave out.
func (b body) checkType(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; err != nil || kind != b.mediaType() || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refused(api.CodeMedia, "content type %q: want %s", clip(given), b.mediaType())
	}
	if c := r.Header.Get("Content-Encoding"); c != "" && c != "identity" {
		return refused(api.CodeMedia, "content encoding %q: want none", clip(c))
	}
	return nil
}

// decode reads one JSON object into the struct that v points to. It is stricter than
// encoding/json: a key is spelled as it is documented, stands once, and is not null. A
// value that was meant and not understood is worse than an error.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return invalid("body: want one JSON object")
	}
	fields, seen := fieldsOf(v), map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return malformed(err)
		}
		key, _ := t.(string) // an object's keys are strings
		field, known := fields[key]
		switch {
		case !known:
			return invalid("unknown key %q: want %s", clip(key), keysOf(fields))
		case seen[key]:
			return invalid("key %q stands twice", key)
		}
		seen[key] = true
		if err := decodeField(d, key, field); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return malformed(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("body: more than one JSON value")
	}
	return nil
}

// decodeField reads one value, by itself so that its error can name the key.
func decodeField(d *json.Decoder, key string, field reflect.Value) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return malformed(err)
	}
	if string(raw) == "null" {
		return invalid("%s: null is no value; leave it out", key)
	}
	err := json.Unmarshal(raw, field.Addr().Interface())
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return invalid("%s: %s is no %s", key, clip(string(raw)), nameOf(field.Type()))
	}
	if err != nil {
		return invalid("%s: %s", key, clip(err.Error()))
	}
	return nil
}

// malformed is the fault of a body that is cut short or not JSON.
func malformed(err error) error { return invalid("body is no JSON: %s", clip(err.Error())) }

// nameOf is what a person calls the JSON of a type.
func nameOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[api.Duration]():
		return `duration like "30s"`
	case t.Kind() == reflect.Int:
		return "whole number"
	}
	return t.Kind().String()
}

// fieldsOf returns the fields of the struct that v points to, by their keys in JSON.
func fieldsOf(v any) map[string]reflect.Value {
	fields, s := map[string]reflect.Value{}, reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		key, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		fields[key] = s.Field(i)
	}
	return fields
}

// keysOf lists keys in an order that is the same every time.
func keysOf(fields map[string]reflect.Value) string {
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return oneOf(keys)
}

// oneOf lists what is allowed: "a, b or c".
func oneOf(words []string) string {
	switch n := len(words); n {
	case 0:
		return "none"
	case 1:
		return words[0]
	default:
		return fmt.Sprintf("%s or %s", strings.Join(words[:n-1], ", "), words[n-1])
	}
}
