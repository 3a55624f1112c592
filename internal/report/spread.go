// This file tells how far apart equal runs with different seeds end.

package report

import (
	"fmt"

	"gonum.org/v1/gonum/stat"
)

// Spread returns the mean and the standard deviation of x, which has at least one value; the
// deviation of one is 0.
func Spread(x []float64) (mean, sd float64) {
	if len(x) == 1 {
		return x[0], 0
	}
	return stat.MeanStdDev(x, nil)
}

// SpreadText writes the mean and the standard deviation of so many values, to four decimals; of
// one there is no deviation.
func SpreadText(mean, sd float64, n int) string {
	if n == 1 {
		return fmt.Sprintf("%.4f", mean)
	}
	return fmt.Sprintf("%.4f ± %.4f", mean, sd)
}
