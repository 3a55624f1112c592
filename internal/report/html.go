package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
)

var (
	untitled = regexp.MustCompile(`<th([^>]*)></th>`)
	tables   = regexp.MustCompile(`(?s)<table>.*?</table>`)
	codes    = regexp.MustCompile(`<pre>`)
)

// Reachable returns the HTML of a Markdown page so that what is wide can be scrolled by
// keyboard: tables and code take the focus, and the tables say to a screen reader that
// they are those of the page of this name. A heading of a column that has no words
// becomes an empty cell.
func Reachable(text, name string) string {
	number := 0
	text = tables.ReplaceAllStringFunc(text, func(table string) string {
		number++
		return fmt.Sprintf(`<div class="wide" tabindex="0" role="region" aria-label="%s, table %d">%s</div>`,
			html.EscapeString(name), number, untitled.ReplaceAllString(table, "<td$1></td>"))
	})
	return codes.ReplaceAllString(text, `<pre tabindex="0">`)
}

// Anchor returns the name that GitHub gives a heading for links to it, but for the number
// that tells equal headings apart.
func Anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
