package main

import (
	"testing"

	"proactivedp/models/modeltest"
)

// The contract of a model: gradients are those of the loss, each clipped, and no
// call keeps, changes or allocates anything.
func TestRegressionConforms(t *testing.T) {
	ratings, err := drawRatings(300)
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Conform(t, modeltest.Case{Model: regression{ratings.Features}, Data: ratings, GradTolerance: 1e-3})
}
