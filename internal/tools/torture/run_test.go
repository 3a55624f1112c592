//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"
)

// A flag is taken away with its value, however that is written, and nothing else.
func TestWithout(t *testing.T) {
	for line, want := range map[string]string{
		"plan --n 10000 --epochs 5": "plan --epochs 5", "plan --n=10000 --n 3 --epochs 5": "plan --epochs 5",
		"plan --json --n": "plan --json", "plan --n --json": "plan --json", "plan --next 3": "plan --next 3",
	} {
		if got := without(strings.Fields(line), "n"); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What the runtime writes is a crash; what a page of help says of goroutines is none.
func TestCrash(t *testing.T) {
	for text, is := range map[string]bool{
		"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()": true,
		"fatal error: all goroutines are asleep - deadlock!":                              true,
		"goroutine 34 [chan receive]:":                                                    true,
		"really waited for, by one\ngoroutine per client: times, staleness and idle time": false,
	} {
		if crash.MatchString(text) != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
}
