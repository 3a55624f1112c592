package pool_test

import (
	"fmt"

	"proactivedp/train/pool"
)

// The paper's training on MNIST, with the step size that is searched for it.
func ExampleTrain() {
	s := pool.Train("", "mnist")
	fmt.Println(s.Model, "K =", s.GradComps, "s =", s.SampleSize, "σ =", s.NoiseMultiplier)
	// Output:
	// lenet K = 360000 s = 370 σ = 12.10881
}
