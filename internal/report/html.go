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

// Reachable takes the HTML of a page and returns it with changes for accessibility. Tables and code blocks
// can be focused and scrolled by keyboard, and screen readers read the page's name with each table. A
// column heading without text becomes an empty cell.
func Reachable(text, name string) string {
	number := 0
	text = tables.ReplaceAllStringFunc(text, func(table string) string {
		number++
		return fmt.Sprintf(`<div class="wide" tabindex="0" role="region" aria-label="%s, table %d">%s</div>`,
			html.EscapeString(name), number, untitled.ReplaceAllString(table, "<td$1></td>"))
	})
	return codes.ReplaceAllString(text, `<pre tabindex="0">`)
}

// Anchor returns the name by which links reach a heading on GitHub. It leaves out the number that GitHub appends to
// equal headings.
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
