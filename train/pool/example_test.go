package pool_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Two seeds of a training on drawn records, of which one is asked for twice.
func ExampleTrials() {
	source := train.NewSource(synth.OneHot(rng.New(3), 400))
	one := train.DefaultSpec()
	one.GradComps, one.SampleSize, one.Seed = 300, "6", 1
	other := one
	other.Seed = 2
	trials, spent, err := pool.Trials(context.Background(), source, []train.Spec{one, other, one},
		pool.Options{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(trials), "trainings,", spent.Computed, "computed, equal:", trials[0] == trials[2])
	// Output:
	// 3 trainings, 2 computed, equal: true
}
