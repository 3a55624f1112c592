package message

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// The error for a hostile file cannot fill a terminal: if there are many faults, it shows the first ones
// and their number, and of a long text it shows the beginning and the end.
func TestOfIsBounded(t *testing.T) {
	var many []error
	for range 50_000 {
		many = append(many, errors.New("sigma = -1, must be above 0"))
	}
	said := Lines(errors.Join(many...))
	if len(said) != mostLines+1 || said[mostLines-1] != "sigma = -1, must be above 0" ||
		said[mostLines] != "and 49900 more lines like these" {
		t.Errorf("%d lines, of which the last is %q", len(said), said[len(said)-1])
	}
	if said := Lines(errors.Join(many[:mostLines+1]...)); len(said) != mostLines+1 || said[mostLines] != said[0] {
		t.Errorf("one more line: %d lines", len(said))
	}
	for _, filling := range []string{"[", "ε", "\ufffd"} {
		text := Of(errors.New(`key "` + strings.Repeat(filling, 100_000) + `", must be one of sigma, steps`))
		if !strings.HasPrefix(text, `key "`+filling) || !strings.HasSuffix(text, `", must be one of sigma, steps`) ||
			len(text) > mostBytes+10 || filling == "ε" && !utf8.ValidString(text) {
			t.Errorf("%d bytes: %.40q … %q", len(text), text, text[len(text)-40:])
		}
	}
	short := errors.New("a; b\nc")
	if got := Of(short); got != "a; b\nc" {
		t.Errorf("a short error is %q", got)
	}
	if got := OneLine(short); got != "a; b; c" {
		t.Errorf("on one line it is %q", got)
	}
}
