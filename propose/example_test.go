package propose_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/data/synth"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The settings with which logistic regression learns most within ε = 0.5, on drawn data.
func ExamplePropose() {
	base := train.DefaultSpec()
	base.Data, base.Clients = "synth-drawn", 1
	request := propose.DefaultRequest(base, 0.5)
	request.Rounds, request.Seeds = []int{60}, 3
	source := train.NewSource(synth.OneHot(rng.New(3), 800))
	report, err := propose.Propose(context.Background(), request, propose.Options{
		Data: source, Probe: source, Probing: propose.Own, Trials: pool.Options{Workers: 2},
	})
	if err != nil {
		log.Fatal(err)
	}
	best := report.Proposals[0]
	fmt.Printf("s = %s, T = %d, σ = %.3f\n", best.Setting.SampleSize, best.Rounds, best.Setting.NoiseMultiplier)
	fmt.Println("better than guessing:", best.Low > 0.5)
	fmt.Println("within the budget:", *best.Certified.PerRecord.EpsilonUpper <= request.Epsilon)
	// Output:
	// s = 34, T = 60, σ = 2.022
	// better than guessing: true
	// within the budget: true
}
