package strictjson

import (
	"strings"
	"testing"
)

// What is not understood is an error in words of its own, which says where.
func TestDecodeRefusesWhatItDoesNotUnderstand(t *testing.T) {
	type inner struct{ X int }
	type Embedded struct {
		D bool           `json:"d"`
		E map[string]int `json:"e"`
	}
	type value struct {
		A int     `json:"a"`
		B []inner `json:"b"`
		C struct {
			Embedded
		} `json:"c"`
		S int `json:"s"`
	}
	for text, want := range map[string]string{
		`{"a": 1, "b": [{"x": 2}]}`:           "",
		`{"a": 1, "f": 2}`:                    `unknown field "f"`,
		`{"c": {"d": 1}}`:                     "line 1: c.d is a JSON number, must be true or false",
		`{"c": {"e": 1}}`:                     "line 1: c.e is a JSON number, must be an object",
		`{"b": [{"x": "y"}]}`:                 "is a JSON string, must be a number",
		`{"a": 1} {}`:                         "there is more text after the first JSON value",
		"{\"a\": 1,\n\"A\": 2}":               `the key "A" occurs twice in one object`,
		`{"s": 1, "ſ": 2}`:                    `the key "ſ" occurs twice in one object`,
		`{"b": [{"x": 1, "x": 2}]}`:           `the key "x" occurs twice in one object`,
		"{\n\n\"a\": \"one\"}":                "line 3: a is a JSON string, must be a number",
		"{\n'a': 1}":                          "line 2 is not JSON",
		`{"a": 1e30}`:                         "line 1: a is a JSON number 1e30, must be a whole number",
		`{"a": 1`:                             "the JSON ends in the middle of a value",
		`{"a": 1, "b": [{"x": 1}, {"x": 1}]}`: "",
	} {
		var v value
		err := Decode([]byte(text), &v)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// A string or a key of somebody else's file has no line break, no escape sequence and nothing that
// changes the reading order.
func TestHiddenCharactersAreRefused(t *testing.T) {
	if err := Check([]byte(`{"a": "b\nc"}`), false); err == nil || !strings.Contains(err.Error(), "printable") {
		t.Errorf("a line break: %v", err)
	}
	for _, text := range []string{`"\u001b[2J"`, `["x", {"y": ["\u202e"]}]`, `{"a\u0007": 1}`, "\"\u2066\"", `"\u009b"`,
		`"\u0000"`, `{"a": 1, "b": {"c\rd": null}}`} {
		var v any
		if err := Decode([]byte(text), &v); err == nil || !strings.Contains(err.Error(), "printable") {
			t.Errorf("%s: %v, want that it has characters that are not printable", text, err)
		}
	}
	for _, text := range []string{`"ε ≤ 1, \"quoted\" \\ é 中 🙂"`, `"two\nlines"`, `"\ufeffa\r\nb\r\n"`,
		`{"a": [1, "b", null, true, {}]}`, `3`, `[]`} {
		var v any
		if err := Decode([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
