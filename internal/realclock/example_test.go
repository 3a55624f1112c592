package realclock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/realclock"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// What the virtual clock foretells is the least that a real one measures.
func ExampleRun() {
	d, root := synth.OneHot(rng.New(3), 400), rng.New(5)
	training, _, err := data.Split(d, root)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := data.Replicate.Deal(training, 2, root)
	if err != nil {
		log.Fatal(err)
	}
	model, err := logreg.NewRidge(d.Features, 1./400)
	if err != nil {
		log.Fatal(err)
	}
	cfg := &sim.Config{
		Model: model, Rows: rows, Partition: data.Replicate, GradComps: 80, Delay: sim.AtMost(0),
		Mechanism: dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.1, NoiseMultiplier: 2,
			DatasetSize: training.Len(), Sizes: dp.ConstantSizes(8)},
		Steps: sim.StepSize{Eta0: 0.1, Decay: sim.NoDecay}, Roots: sim.SharedRoots(root, 2),
		Timing: clock.DefaultTiming(),
	}
	cfg.Timing.Compute = clock.Duration{Kind: clock.Constant, Mean: 100 * time.Microsecond}
	result, err := realclock.Run(context.Background(), cfg, realclock.Options{Scale: 2})
	if err != nil {
		log.Fatal(err)
	}
	const foretold = 10 * 8 * 100 * time.Microsecond // ten rounds of 8 gradients
	fmt.Println(result.Updates, "updates; as long as foretold:", time.Duration(result.Clock) >= foretold)
	// Output: 20 updates; as long as foretold: true
}
