// This file lets tests repeat something slow a few times, or as often as an environment variable
// says.

package testkit

import (
	"os"
	"strconv"
	"testing"
)

// Times returns how often a slow test repeats: the value of the environment variable name, a whole number of at least
// 1, and true. If the variable is not set, it returns few and false. Any other value fails the test.
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

// Sweeps returns the factor by which tests try more random cases than usual: 1, or the value of the environment
// variable PROACTIVEDP_SWEEPS, which CI sets.
func Sweeps(t testing.TB) int {
	t.Helper()
	times, _ := Times(t, "PROACTIVEDP_SWEEPS", 1)
	return times
}
