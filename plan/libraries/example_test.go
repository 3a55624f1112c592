package libraries_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"proactivedp/dp"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// A plan as code for Opacus, and rounds of dp_accounting as they are accounted for here.
func Example() {
	p, err := plan.Solve(context.Background(), plan.Request{N: 60000, Delta: 1. / 60000, Epochs: 6, Epsilon: 0.15})
	if err != nil {
		log.Fatal(err)
	}
	release, err := libraries.OfPlan(p)
	if err != nil {
		log.Fatal(err)
	}
	code, err := libraries.Write(libraries.Opacus, release)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(code.Text) {
		if strings.HasPrefix(line, "NOISE_MULTIPLIER") || strings.HasPrefix(line, "STEPS") {
			fmt.Print(line)
		}
	}
	h, err := libraries.Read([]byte("SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1)), 1000)"),
		dp.Poisson, dp.AddOrRemove)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Events[0].NoiseMultiplier, h.Events[0].SampleRate(), h.Events[0].Count)
	// Output:
	// NOISE_MULTIPLIER = 4.719515  # σ: noise over clipping norm
	// STEPS = 704  # T: rounds
	// 1.1 0.01 1000
}
