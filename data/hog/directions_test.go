package hog

import (
	"math"
	"testing"
)

// No share of a gradient comes so near to half a part that the last bits of an arc
// tangent could round it to another: 1e-9 parts, where they are off by 1e-10 at most.
func TestPartsAreTheSameOnEveryMachine(t *testing.T) {
	for bins := 1; bins <= MaxBins; bins++ {
		for dy := 0; dy <= reach; dy++ {
			for dx := -reach; dx <= reach; dx++ {
				length, second, _ := partsOf(dx, dy, bins)
				for _, parts := range []float64{length, second} {
					if _, f := math.Modf(parts); math.Abs(f-0.5) < 1e-9 {
						t.Fatalf("gradient (%d, %d) in %d directions: %v parts", dx, dy, bins, parts)
					}
				}
			}
		}
	}
}
