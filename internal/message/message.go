// Package message says to users what errors say to developers: without the names of the
// packages that they are from.
package message

import (
	"slices"
	"strings"
)

// Packages are the names with which the errors of packages begin. They tell a developer
// where an error is from, and a user of the program nothing.
var Packages = []string{
	"answer", "atomicfile", "audit", "auto", "broker", "checkout", "checkpoint", "cifar10",
	"claim", "clock", "closedform", "convnet", "course", "cpu", "data", "dist", "dp",
	"experiments", "f32", "fetch", "folder", "gdp", "grid", "hog", "journal", "learning", "libraries", "libsvm",
	"lockfile", "logreg", "manifest", "memory", "mnist", "models", "nn", "oracle", "overview",
	"papertables", "picture", "plan", "pld", "plots", "propose", "rdp", "realclock", "report",
	"rng", "root", "search", "sim", "softmax", "sweep", "synth", "table", "tradeoff", "train",
	"unpack", "verdict", "web", "wire",
}

// Of returns what an error says to a user: without the names of packages at its beginning,
// at those of its lines, and where one error holds another.
func Of(err error) string {
	text := err.Error()
	var out strings.Builder
	for at := 0; at < len(text); at++ {
		if at == 0 || text[at-1] == '\n' || text[at-1] == '\t' || strings.HasSuffix(text[:at], ": ") {
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

// OneLine returns what an error says on one line, for a table or a JSON value.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
