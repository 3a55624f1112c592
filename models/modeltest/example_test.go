package modeltest_test

import (
	"testing"

	"proactivedp/models/lenet"
	"proactivedp/models/modeltest"
)

// A test of a model of one's own is one call.
func Example() {
	test := func(t *testing.T) {
		modeltest.Conform(t, modeltest.Case{
			Model: lenet.New(), Data: modeltest.Images(40, 1, 28, 28, 10), GradTolerance: 2e-3,
		})
	}
	_ = test // go test calls it, as TestConform
}
