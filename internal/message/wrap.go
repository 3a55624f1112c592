// This file breaks text into lines.

package message

import "strings"

// Wrap breaks text at blanks into lines for which fits returns true. It keeps the line breaks of the text.
func Wrap(text string, fits func(string) bool) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		current := ""
		for word := range strings.FieldsSeq(paragraph) {
			longer := strings.TrimSpace(current + " " + word)
			if current != "" && !fits(longer) {
				lines = append(lines, current)
				longer = word
			}
			current = longer
		}
		lines = append(lines, current)
	}
	return lines
}
