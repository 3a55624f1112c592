//go:build unix

package main

import "testing"

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
