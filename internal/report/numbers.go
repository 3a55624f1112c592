package report

import (
	"fmt"
	"strconv"
	"time"
)

// These are the texts that a table shows instead of a number that does not exist.
const (
	NoAnswer   = "–"           // if the question does not apply
	NotCovered = "not covered" // if the accountant does not cover it
)

// Number formats x with six significant digits, as briefly as possible.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// Fixed formats v with the given number of decimals.
func Fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// Percent formats a fraction as a percentage with two decimals.
func Percent(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// Share formats a fraction as a percentage. Only a fraction of exactly 0 becomes "0", so that a small one can be
// distinguished from none.
func Share(part float64) string {
	switch {
	case part == 0:
		return "0 %"
	case part < 0.001:
		return "<0.1 %"
	case part < 0.01:
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// Duration formats a number of seconds as text: in seconds below one minute, otherwise in minutes.
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.3g s", seconds)
}
