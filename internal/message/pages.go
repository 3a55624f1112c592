package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckPage is CheckText for text of several lines, such as a page of Markdown. It refuses text
// that is not valid UTF-8 or has a character that hides or reorders its surroundings: a formatting
// character, or a control character other than a line break or a tab. The name says what the text
// is.
func CheckPage(name, text string) error {
	line := 0
	for one := range strings.Lines(text) {
		line++
		one = strings.TrimSuffix(strings.TrimSuffix(one, "\n"), "\r")
		hidden := func(c rune) bool { return !unicode.IsGraphic(c) && c != '\t' }
		if !utf8.ValidString(one) || strings.ContainsFunc(one, hidden) {
			return fmt.Errorf("%s: line %d is %s, must have printable characters only", name, line, Quoted(one))
		}
	}
	return nil
}
