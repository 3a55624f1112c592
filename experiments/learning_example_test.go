package experiments_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/data/synth"
	"proactivedp/experiments"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

func ExampleTrainCurve() {
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps, spec.NoiseMultiplier = "drawn", 2600, 1
	source := train.NewSource(synth.OneHot(rng.New(3), 1000))
	curve, err := experiments.TrainCurve(context.Background(), source, spec, 3, pool.Options{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
	fmt.Println(curve.Seeds, first.GradComps, last.GradComps, last.Accuracy > first.Accuracy)
	// Output: 3 0 2600 true
}
