// Package strictjson reads JSON that people and other programs write: what is not
// understood is an error that says where.
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

// Decode decodes one JSON value that is all of text, has no field that v does not have, and passes
// [Check]. Strings may have several lines.
func Decode(text []byte, v any) error { return decode(text, v, true, len(text)) }

// decode is Decode for strings of at most most bytes.
func decode(text []byte, v any, lines bool, most int) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Plain(err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the first JSON value")
	}
	return check(json.NewDecoder(bytes.NewReader(text)), "a string", lines, most)
}

// Plain is what a decoder's error says of text, without the decoder's own words.
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
		return fmt.Errorf("line %d is no JSON: %w", line(broken.Offset), err)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty, must be a JSON value")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends in the middle of a value")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// Check reports what a decoder accepts in the value that text begins with, and a reader of the text
// may not see:
//   - a key that is in one object twice, in any case, because the decoder takes the last of two values;
//   - a string or a key with characters that are not printable: escape sequences of a terminal,
//     characters that change the reading order, and line breaks unless strings may have lines. They
//     could hide what is printed next to the text.
//
// The decoder must have accepted the value, which bounds how deep it is nested.
func Check(text []byte, lines bool) error {
	return check(json.NewDecoder(bytes.NewReader(text)), "a string", lines, len(text))
}

// check is Check for one value with a name, whose strings have at most most bytes.
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
				return fmt.Errorf("the key %q stands twice in one object", name)
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

// folded returns a key as the decoder compares it: of the letters that differ in case alone,
// such as s, S and ſ, the first.
func folded(key string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			first = min(first, other)
		}
		return first
	}, key)
}

// keys returns of a decoder's path to a field the keys that the text has: names of embedded
// structs on the way, which are none, begin with a capital letter, as no key here does.
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
