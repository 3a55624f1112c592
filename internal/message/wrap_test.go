package message

import (
	"strings"
	"testing"
)

func TestWrapKeepsEveryWord(t *testing.T) {
	text := "one two three four\nfive " + strings.Repeat("x", 40)
	lines := Wrap(text, func(s string) bool { return len(s) <= 10 })
	if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), " "),
		strings.Join(strings.Fields(text), " "); got != want {
		t.Errorf("wrapped to %q", lines)
	}
}
