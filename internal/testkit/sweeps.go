// This file says how often a test does what takes long: a few times, or as often as an
// environment variable asks.

package testkit

import (
	"os"
	"strconv"
	"testing"
)

// Times returns the whole number, at least 1, that the environment variable of that name holds,
// or few and false where it is not set. Another text fails the test.
func Times(t testing.TB, name string, few int) (times int, set bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return few, false
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s = %q, must be a whole number of at least 1", name, text)
	}
	return times, true
}

// Sweeps returns how many times as long as usual random sweeps are: 1, or what the environment
// variable PROACTIVEDP_SWEEPS holds. CI sets it.
func Sweeps(t testing.TB) int {
	t.Helper()
	times, _ := Times(t, "PROACTIVEDP_SWEEPS", 1)
	return times
}
