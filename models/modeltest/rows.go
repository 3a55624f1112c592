package modeltest

import (
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

// Rows returns a random data set of n rows for tests, twice: stored sparsely and stored densely. Two of three values
// are 0, and the others are normal. The label of a row is its number modulo classes.
func Rows(t testing.TB, n, features, classes int) (sparse, dense *data.Dataset) {
	t.Helper()
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	all, labels, flat := make([][]float32, n), make([]int32, n), make([]float32, 0, n*features)
	for i := range all {
		all[i] = make([]float32, features)
		for j := range all[i] {
			if s.IntN(3) == 0 {
				all[i][j] = float32(s.Normal())
			}
		}
		labels[i], flat = int32(i%classes), append(flat, all[i]...)
	}
	sparse, err := data.FromRows("drawn", all, labels)
	if err != nil {
		t.Fatal(err)
	}
	return sparse, sparse.WithDense(features, flat)
}
