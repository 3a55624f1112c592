package message

import (
	"errors"
	"strings"
	"testing"
)

// hostile are texts that would change what a terminal shows around them.
var hostile = []string{
	"phishing\nrun 1: ε ≤ 0.01",
	"\x1b[2K\x1b[1Aε ≤ 0.01",
	"a\rb",
	"\u202e10.0 ≤ ε",        // right to left
	"a\u2066b\u2069",        // an isolate
	"\u200b",                // no width
	"\u009b2K",              // CSI as one character
	"\x7f", "\xff", "a\x00", // no character
	"\u2028",
}

// Text from another party may contain characters that change how the text around it is shown. It is
// refused, and printed without this effect.
func TestTextOfOthersCannotForge(t *testing.T) {
	for _, text := range hostile {
		if err := CheckText("model", text, 200); err == nil || !strings.HasPrefix(err.Error(), "model = \"") {
			t.Errorf("%q is not refused: %v", text, err)
		}
		for _, said := range []string{Quoted(text), Name(text), Of(errors.New(Quoted(text)))} {
			if CheckText("said", said, 1000) != nil || said[0] != '"' {
				t.Errorf("%q is said as %q", text, said)
			}
		}
	}
	for _, text := range []string{"phishing", "rows of my/own-data.csv", "ε ≤ 1, übung 数据"} {
		if err := CheckText("name", text, 200); err != nil {
			t.Error(err)
		}
	}
	if err := CheckText("name", strings.Repeat("a", 201), 200); err == nil {
		t.Error("a text of 201 bytes is not refused")
	}
}

// A name is only printed unchanged if it cannot be mistaken for anything else.
func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"phishing": "phishing", "data/my-set_1.csv": "data/my-set_1.csv", "": `""`,
		"phishing, ε ≤ 0.01": `"phishing, ε ≤ 0.01"`, "a b": `"a b"`, `a"b`: `"a\"b"`,
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) = %s, want %s", text, got, want)
		}
	}
	long := Name(strings.Repeat("ε", 10_000))
	if len(long) > 2*mostQuoted || CheckText("long", long, 2*mostQuoted) != nil {
		t.Errorf("a long name is %d bytes: %q", len(long), long)
	}
}

// An error that holds raw text of another party sends no control characters to a terminal. Its line
// breaks stay, because errors that are joined have them.
func TestOfHasNoControlCharacters(t *testing.T) {
	got := Of(errors.New("\x1b[2Kε\u202e: \xff\nnext\tone"))
	if want := `\x1b[2Kε\u202e: \xff` + "\nnext\tone"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheckPage(t *testing.T) {
	for _, text := range []string{"", "a\n\tb\r\n", "ε ≤ 1\u00a0· 中🙂"} {
		if err := CheckPage("page", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"a\n\x1b[2J", "a\rb", "\u202e", "\u2066", "\x9b", "\u009b",
		"\x00", "\u200b", "\u2028"} {
		if err := CheckPage("page", text); err == nil || !strings.HasPrefix(err.Error(), "page: line ") {
			t.Errorf("%q: %v, want that it is refused", text, err)
		}
	}
}
