// Package message prints errors, and text of other parties, so that they cannot fill a terminal or
// change what it shows.
package message

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// How much of an error is said. A file of others may have anything in it, and as many
// faults as rows.
const (
	mostLines = 100  // of an error
	mostBytes = 2000 // of a line
	lastBytes = 400  // of these, from the end of a line that is longer: what it should be
)

// Of returns the text of an error for a user. It has at most 100 lines, and then says how many more
// there are. A long line loses its middle. Control characters other than line breaks and tabs are
// escaped.
func Of(err error) string {
	lines := strings.Split(err.Error(), "\n")
	more := len(lines) - mostLines
	if more > 1 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more lines like these", more))
	}
	for i, line := range lines {
		lines[i] = shortened(Visible(line))
	}
	return strings.Join(lines, "\n")
}

// shortened returns a line of at most mostBytes and a few.
func shortened(line string) string {
	if len(line) <= mostBytes {
		return line
	}
	head, tail := mostBytes-lastBytes, len(line)-lastBytes
	for !utf8.RuneStart(line[head]) {
		head--
	}
	for !utf8.RuneStart(line[tail]) && tail < len(line)-1 {
		tail++
	}
	return line[:head] + " … " + line[tail:]
}

// Lines returns what an error says to a user, of several errors each for itself.
func Lines(err error) []string { return strings.Split(Of(err), "\n") }

// OneLine returns what an error says to a user on one line, for a table or a JSON value.
func OneLine(err error) string { return strings.ReplaceAll(Of(err), "\n", "; ") }
