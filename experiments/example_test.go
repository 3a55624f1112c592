package experiments_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/data/synth"
	"proactivedp/experiments"
	"proactivedp/rng"
	"proactivedp/train"
)

// Figures are chosen by name or by pattern; Make computes and writes them.
func ExampleSelect() {
	figures, err := experiments.Select([]string{"phishing-budget", "mushrooms-logreg-sample-size"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range figures {
		fmt.Printf("%s: %s\n", f.Name, f.Title)
	}
	// Output:
	// mushrooms-logreg-sample-size: Sample-size sweep at σ = 19.29962, ridge logistic regression on mushrooms
	// phishing-budget: Accuracy over the certified ε, step sizes chosen for each budget, on phishing
}

// Permissible delays are compared on the virtual clock, each with the same seeds.
func ExampleDelaySpec_Compare() {
	spec := experiments.DefaultDelaySpec("", "phishing")
	spec.Train.Data, spec.Train.GradComps, spec.Train.SampleSize = "synth-drawn", 300, "6"
	spec.Delays, spec.Seeds = []string{"1", "unlimited"}, 2
	r, err := spec.Compare(context.Background(), train.NewSource(synth.OneHot(rng.New(3), 400)),
		experiments.DelayOptions{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Delays {
		fmt.Printf("%s: at most %d rounds behind, idle %.0f %% of the time\n", s.Name, s.MaxLag, 100*s.Idle)
	}
	// Output:
	// synchronous: at most 0 rounds behind, idle 83 % of the time
	// τ = 1: at most 1 rounds behind, idle 70 % of the time
	// unlimited: at most 28 rounds behind, idle 0 % of the time
}
