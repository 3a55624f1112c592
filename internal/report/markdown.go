package report

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"proactivedp/internal/message"
)

// columns is the largest width of a line of a Markdown page.
const columns = 100

var (
	// untouched matches lines that must not be broken: tables, headings, pictures and comments.
	untouched = regexp.MustCompile(`^(\||#|!\[|<)`)
	// item matches the mark of a list item and the space before it.
	item = regexp.MustCompile(`^ *([-*]|\d+\.) +`)
	// marking matches words that would start a heading, a list, a quotation or a table at the beginning
	// of a line.
	marking = regexp.MustCompile(`^([-+*=>#|]+|\d+[.)])$`)
)

// Markdown breaks the paragraphs and list items of a Markdown text into lines of at most 100 columns. A
// longer word gets a separate line. Tables, headings, pictures and code blocks are not changed.
func Markdown(text string) string {
	var out []string
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		fence := strings.HasPrefix(line, "```")
		if code || fence || untouched.MatchString(line) || utf8.RuneCountInString(line) <= columns {
			out = append(out, line)
			code = code != fence
			continue
		}
		mark := item.FindString(line)
		indent := strings.Repeat(" ", utf8.RuneCountInString(mark))
		if mark == "" {
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			mark = indent
		}
		for i, broken := range message.Wrap(joinMarks(line[len(mark):]), func(s string) bool {
			return len(indent)+utf8.RuneCountInString(s) <= columns
		}) {
			if i > 0 {
				mark = indent
			}
			out = append(out, mark+strings.ReplaceAll(broken, joint, " "))
		}
	}
	return strings.Join(out, "\n")
}

// joint stands for a space at which a line must not be broken.
const joint = "\x00"

// joinMarks joins each word that would have a meaning at the beginning of a line to the word before it.
func joinMarks(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if i > 0 && marking.MatchString(word) {
			words[i-1], words[i] = words[i-1]+joint+word, ""
		}
	}
	return strings.Join(words, " ")
}
