// This file formats the spread of results over seeds.

package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread returns the mean and the standard deviation of x, which must not be empty. The deviation of a single value
// is 0.
func Spread(x []float64) (mean, sd float64) {
	if len(x) == 1 {
		return x[0], 0
	}
	return stat.MeanStdDev(x, nil)
}

// Median returns the median of x, or 0 if x is empty.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// SpreadText formats the mean and the standard deviation sd of n values to four decimals. For one value it omits the
// deviation.
func SpreadText(mean, sd float64, n int) string {
	if n == 1 {
		return fmt.Sprintf("%.4f", mean)
	}
	return fmt.Sprintf("%.4f ± %.4f", mean, sd)
}
