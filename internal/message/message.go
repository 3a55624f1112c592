// Package message prints errors, and text from other parties, in such a way that they cannot flood a terminal or
// change what it shows. It also has helpers for messages: similar names, shell words and line breaks.
package message

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// These limit the part of an error that is printed, because the error may quote a file of another
// party, which may contain anything and have an error in each row.
const (
	mostLines = 100  // of an error
	mostBytes = 2000 // of a line
	lastBytes = 400  // of these, from the end of a longer line, which usually says what is allowed
)

// Of returns the text of an error for a user. It has at most 100 lines, followed by the number of lines that are left
// out. The middle of a long line is left out. Control characters other than line breaks and tabs are escaped.
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

// shortened shortens a line to about mostBytes.
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

// Lines returns the text of an error as lines.
func Lines(err error) []string { return strings.Split(Of(err), "\n") }

// OneLine returns the text of an error on one line, for a table or a JSON value.
func OneLine(err error) string { return strings.ReplaceAll(Of(err), "\n", "; ") }
