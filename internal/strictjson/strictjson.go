// Package strictjson reads JSON from people and other programs. Anything that it does not understand is an error that
// names the place, instead of being ignored.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"

	"proactivedp/internal/message"
)

// Decode decodes text into v. It is an error unless text is a single JSON value, has only fields that v has, and
// passes [Check]. Strings may have several lines.
func Decode(text []byte, v any) error { return decode(text, v, true, len(text)) }

// decode does the work of Decode. Strings may have no more bytes than the limit most, and several lines if lines
// is true.
func decode(text []byte, v any, lines bool, most int) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Plain(err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more text after the first JSON value")
	}
	return check(json.NewDecoder(bytes.NewReader(text)), "a string", lines, most)
}

// Plain returns the error err of a JSON decoder about text in plain words, without the names of Go types.
func Plain(err error, text []byte) error {
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n")) }
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := map[reflect.Kind]string{reflect.String: "a string", reflect.Slice: "an array",
			reflect.Struct: "an object", reflect.Map: "an object", reflect.Bool: "true or false"}
		if strings.HasPrefix(wrong.Value, "number") {
			want[reflect.Int] = "a whole number below 2^63"
		}
		field := cmp.Or(keys(wrong.Field), "the value")
		return fmt.Errorf("line %d: %s is a JSON %s, must be %s", line(wrong.Offset), field, wrong.Value,
			cmp.Or(want[wrong.Type.Kind()], "a number"))
	}
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d is not JSON: %w", line(broken.Offset), err)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty, must be a JSON value")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends in the middle of a value")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// Check returns an error if the value at the beginning of text has parts that a decoder accepts but that may mislead
// a reader:
//
//   - a key that occurs twice in one object, in upper or lower case, because the decoder uses the
//     last value;
//   - a string or key with unprintable characters: escape sequences of a terminal, characters that
//     change the reading order, and line breaks unless strings may have lines. They could hide text
//     that is printed next to them.
//
// The decoder must have accepted the value, which bounds its nesting.
func Check(text []byte, lines bool) error {
	return check(json.NewDecoder(bytes.NewReader(text)), "a string", lines, len(text))
}

// check does the work of Check for the next value of d, which errors call name. Strings may have at
// most most bytes.
func check(d *json.Decoder, name string, lines bool, most int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if text, ok := token.(string); ok {
		if lines {
			return message.CheckPage(name, strings.TrimPrefix(text, "\uFEFF"))
		}
		return message.CheckText(name, text, most)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	keys := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name = fmt.Sprint(key)
			if err := message.CheckText("a key", name, most); err != nil {
				return err
			}
			same := folded(name)
			if keys[same] {
				return fmt.Errorf("the key %q occurs twice in one object", name)
			}
			keys[same] = true
		}
		if err := check(d, name, lines, most); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

// folded returns a key in the form in which the decoder compares it: of letters that differ only in
// case, such as s, S and ſ, the first one.
func folded(key string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			first = min(first, other)
		}
		return first
	}, key)
}

// keys returns the keys in a decoder's path to a field that are in the text. Names of embedded
// structs in the path are not keys. They begin with a capital letter, unlike the keys of this
// project.
func keys(path string) string {
	var kept []string
	parts := strings.Split(path, ".")
	for i, part := range parts {
		if capital := part != "" && 'A' <= part[0] && part[0] <= 'Z'; i == len(parts)-1 || !capital {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}
