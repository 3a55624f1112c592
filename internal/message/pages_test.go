package message

import (
	"strings"
	"testing"
)

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
