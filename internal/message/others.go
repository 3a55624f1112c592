package message

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text that another party chose (a server, a client, a file, the name of a file) can have line
// breaks, escape sequences of a terminal, and characters that reverse the reading order. If it were
// printed unchanged, it could hide a true ε and show another. So it is checked with CheckText when
// it is read, and printed with Quoted or Name.

// mostQuoted is the longest text that is quoted in full, in bytes before it is escaped.
const mostQuoted = 500

// Quoted returns text of another party in double quotes. Characters that are not printable are
// escaped, so it stays on one line. A long text is cut after its beginning.
func Quoted(text string) string {
	if len(text) <= mostQuoted {
		return strconv.Quote(text)
	}
	cut := mostQuoted
	for cut > mostQuoted-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%q… (%d bytes)", text[:cut], len(text))
}

// Name returns a name that another party chose, in a form that is safe to print. A name of ASCII
// letters, digits and the characters ._+@%:/- cannot be mistaken for other text, and is returned
// unchanged. Any other name is quoted as by [Quoted].
func Name(text string) string {
	plain := func(c rune) bool {
		return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune("._+@%:/-", c)
	}
	if text == "" || len(text) > mostQuoted || strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return Quoted(text)
	}
	return text
}

// CheckText returns an error if text of another party has more than most bytes, is not valid UTF-8, or has a
// character that is not printable: a line break, a control character, or one that changes the reading order. name
// describes the text in the error.
func CheckText(name, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes, must have at most %d", name, len(text), most)
	}
	if !printable(text) {
		return fmt.Errorf("%s = %s, must have printable characters only", name, Quoted(text))
	}
	return nil
}

// CheckPage does the same as CheckText, for text of several lines, such as a page of Markdown. The
// text may have line breaks and tabs.
func CheckPage(name, text string) error {
	line := 0
	for one := range strings.Lines(text) {
		line++
		one = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(one, "\n"), "\r"), "\t", " ")
		if err := CheckText(fmt.Sprintf("%s: line %d", name, line), one, len(one)); err != nil {
			return err
		}
	}
	return nil
}

// Visible escapes the characters of a text that are not printable, except line breaks and tabs.
func Visible(text string) string {
	characters := strings.Split(text, "")
	for i, c := range characters {
		if c != "\n" && c != "\t" && !printable(c) {
			quoted := strconv.Quote(c)
			characters[i] = quoted[1 : len(quoted)-1]
		}
	}
	return strings.Join(characters, "")
}

// printable reports whether a text is valid UTF-8 of letters, marks, numbers, punctuation, symbols
// and spaces.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsGraphic(c) })
}
