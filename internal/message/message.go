// Package message says to users what errors say to developers: without the names of the
// packages that they are from.
package message

import (
	"fmt"
	"slices"
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

// Packages are the names with which the errors of packages begin. They tell a developer
// where an error is from, and a user of the program nothing.
var Packages = []string{
	"answer", "atomicfile", "audit", "auto", "broker", "checkout", "checkpoint", "cifar10",
	"claim", "clock", "closedform", "convnet", "course", "cpu", "data", "dist", "dp",
	"experiments", "f32", "fetch", "folder", "gdp", "grid", "hog", "journal", "learning", "libraries", "libsvm",
	"lockfile", "logreg", "manifest", "memory", "mlp", "mnist", "models", "nn", "numpy", "oracle", "overview",
	"papertables", "picture", "plan", "pld", "plots", "propose", "rdp", "realclock", "report",
	"rng", "root", "search", "sim", "softmax", "sweep", "synth", "table", "tradeoff", "train",
	"unpack", "verdict", "web", "wire",
}

// Of returns what an error says to a user: without the names of packages at its beginning,
// at those of its lines, and where one error holds another. Of many lines the first are
// said, and how many there are; what is long is left out in the middle of a line. Control
// characters other than line breaks and tabs are escaped.
func Of(err error) string {
	lines := strings.Split(err.Error(), "\n")
	more := len(lines) - mostLines
	if more > 1 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more lines like these", more))
	}
	for i, line := range lines {
		lines[i] = shortened(Visible(line))
	}
	return bare(strings.Join(lines, "\n"))
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

// bare returns a text without the names of packages.
func bare(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); at++ {
		if at == 0 || text[at-1] == '\n' || text[at-1] == '\t' || strings.HasSuffix(text[:at], ": ") ||
			strings.HasSuffix(text[:at], "; ") {
			if at += prefix(text[at:]); at == len(text) {
				break
			}
		}
		out.WriteByte(text[at])
	}
	return out.String()
}

// prefix returns how long the names of packages at the beginning are.
func prefix(text string) int {
	long := 0
	for {
		name, _, found := strings.Cut(text[long:], ": ")
		if !found || !slices.Contains(Packages, name) {
			return long
		}
		long += len(name) + len(": ")
	}
}

// Lines returns what an error says to a user, of several errors each for itself.
func Lines(err error) []string { return strings.Split(Of(err), "\n") }

// OneLine returns what an error says to a user on one line, for a table or a JSON value.
func OneLine(err error) string { return strings.ReplaceAll(Of(err), "\n", "; ") }
