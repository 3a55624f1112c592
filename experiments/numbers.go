package experiments

import (
	"fmt"
	"strconv"
)

// What stands in the place of a number that there is not.
const (
	noAnswer   = "–"           // the question does not arise
	notCovered = "not covered" // the accountant has no proof
)

// number writes a float64 as briefly as reads back to six digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// fixed writes a float64 with so many decimals.
func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// percent writes a fraction in hundredths, with two decimals.
func percent(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// shareText writes a share; only what is not there is 0.
func shareText(part float64) string {
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
