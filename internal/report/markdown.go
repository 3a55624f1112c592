package report

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"proactivedp/internal/message"
)

// columns is how wide the text of a Markdown page is.
const columns = 100

var (
	// untouched begins the lines of Markdown that must not be broken: tables,
	// headings, pictures and comments.
	untouched = regexp.MustCompile(`^(\||#|!\[|<)`)
	// item is the mark of an item of a list with what stands before it.
	item = regexp.MustCompile(`^ *([-*]|\d+\.) +`)
	// marking matches words that would begin a heading, a list, a quotation or a
	// table if they began a line.
	marking = regexp.MustCompile(`^([-+*=>#|]+|\d+[.)])$`)
)

// Markdown breaks the paragraphs and items of a Markdown text at blanks into lines
// of at most 100 columns. A word that is longer has a line of its own; tables,
// headings, pictures and blocks of code stay as they are.
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

// joint stands for a blank at which text must not be broken.
const joint = "\x00"

// joinMarks joins words that would mark something at the beginning of a line to
// the words before them.
func joinMarks(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if i > 0 && marking.MatchString(word) {
			words[i-1], words[i] = words[i-1]+joint+word, ""
		}
	}
	return strings.Join(words, " ")
}

// WriteMarkdown writes the Markdown that write writes, broken into lines.
func WriteMarkdown(w io.Writer, write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(w, Markdown(text.String()))
	return err
}
