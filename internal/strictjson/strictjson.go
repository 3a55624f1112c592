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
	"unicode/utf8"

	"proactivedp/internal/message"
)

// Decode decodes one JSON value that is all of text, and has no field that v has not and no key
// twice. Strings may have only line breaks and printable characters, see [RefuseHidden].
func Decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Plain(err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the first JSON value")
	}
	return errors.Join(RefuseRepeats(text), RefuseHidden(text, true))
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

// RefuseRepeats reports a key that stands twice in one object of the value that text
// begins with, see refuseRepeats.
func RefuseRepeats(text []byte) error { return refuseRepeats(json.NewDecoder(bytes.NewReader(text))) }

// refuseRepeats reports a key that stands twice in one object, in whatever case:
// of two values the decoder would take the last. It reads one value, which must be
// JSON that the decoder has taken: then it is nested to a bounded depth.
func refuseRepeats(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
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
			name := folded(fmt.Sprint(key))
			if keys[name] {
				return fmt.Errorf("the key %q stands twice in one object", key)
			}
			keys[name] = true
		}
		if err := refuseRepeats(d); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

// RefuseHidden reports a string or a key with characters that are not printable, in the value that
// text begins with: escape sequences of a terminal, characters that change the reading order, and
// line breaks unless strings may have lines. With such characters the author of a file could hide
// what is printed next to the text. The decoder must have accepted the value.
func RefuseHidden(text []byte, lines bool) error {
	return refuseHidden(json.NewDecoder(bytes.NewReader(text)), "a string", lines, len(text))
}

// refuseHidden is RefuseHidden for one value with a name, whose strings have at most most bytes.
func refuseHidden(d *json.Decoder, name string, lines bool, most int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if text, ok := token.(string); ok {
		if lines {
			text = strings.NewReplacer("\r\n", "", "\n", "").Replace(strings.TrimPrefix(text, "\uFEFF"))
		}
		return message.CheckText(name, text, most)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
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
		}
		if err := refuseHidden(d, name, lines, most); err != nil {
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
		if first, _ := utf8.DecodeRuneInString(part); i == len(parts)-1 || !unicode.IsUpper(first) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}
