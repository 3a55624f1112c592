package report

import (
	"fmt"
	"strconv"
	"time"
)

// These words stand in the place of a number where there is none.
const (
	NoAnswer   = "–"           // where the question does not arise
	NotCovered = "not covered" // where the accountant has no proof
)

// Number writes a float64 with six significant digits, as briefly as possible.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// Fixed writes a float64 with so many decimals.
func Fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// Percent writes a fraction in hundredths, with two decimals.
func Percent(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// Share writes a share; only what is not there is 0.
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

// Duration writes seconds as a time, from a minute on in minutes.
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.3g s", seconds)
}
