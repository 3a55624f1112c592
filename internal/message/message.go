// Package message says to users what errors say to developers: without the names of the
// packages that they are from.
package message

import (
	"regexp"
	"strings"
)

// Packages are the names with which the errors of packages begin. They tell a developer
// where an error is from, and a user of the program nothing.
var Packages = []string{
	"answer", "atomicfile", "audit", "auto", "broker", "checkout", "checkpoint", "cifar10", "claim", "clock",
	"closedform", "convnet", "course", "cpu", "data", "dist", "dp", "experiments", "f32", "fetch", "gdp",
	"hog", "journal", "libraries", "libsvm", "lockfile", "logreg", "manifest", "memory", "mnist", "models",
	"nn", "oracle", "papertables", "picture", "plan", "pld", "plots", "propose", "rdp", "realclock",
	"report", "rng", "root", "search", "sim", "softmax", "sweep", "synth", "tradeoff", "train", "unpack", "web",
	"wire",
}

// prefixes are names of packages at the beginning of an error, or where one error
// holds another.
var prefixes = regexp.MustCompile(`(?m)(^|: |\t)(?:(?:` + strings.Join(Packages, "|") + `): )+`)

// Of returns what an error says to a user.
func Of(err error) string { return prefixes.ReplaceAllString(err.Error(), "$1") }

// Lines returns what an error says to a user, of several errors each for itself.
func Lines(err error) []string { return strings.Split(Of(err), "\n") }

// OneLine returns what an error says on one line, for a table or a JSON value.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
