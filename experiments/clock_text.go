package experiments

import (
	"strings"

	"proactivedp/train"
)

// clockLabel returns the name of the time of a spec's runs, for axes and titles.
func clockLabel(s train.Spec) string {
	if s.Runner == train.HogwildRunner {
		return "time on a real clock"
	}
	return "time on the virtual clock"
}

// clockColumns returns the header of a table of s's runs: columns, with the names of times that fit
// its clock.
func clockColumns(s train.Spec, columns []string) []string {
	if s.Runner != train.HogwildRunner {
		return columns
	}
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = strings.ReplaceAll(c, "virtual_seconds", "real_clock_seconds")
	}
	return out
}
