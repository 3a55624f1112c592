package experiments_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"proactivedp/data/synth"
	"proactivedp/experiments"
	"proactivedp/rng"
	"proactivedp/train"
)

// Step sizes are ranked by records held out of the training set.
func ExampleSearch() {
	spec := experiments.PaperSearch(train.Ridge, "synth-drawn")
	spec.Train.Clients, spec.Train.GradComps, spec.Train.Holdout, spec.Seeds = 1, 5200, 0.15, 1
	spec.Clips, spec.Eta0, spec.Sigmas = []float64{0.1}, []float64{1e-9, 1}, []float64{0}
	dir, err := os.MkdirTemp("", "search")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := train.NewSource(synth.OneHot(rng.New(3), 400))
	r, err := experiments.Search(context.Background(), spec, source, experiments.SearchOptions{Out: dir})
	if err != nil {
		log.Fatal(err)
	}
	for _, ranking := range r.Rankings {
		fmt.Printf("η₀ = %v, judged by %d records\n", ranking.Winner.Eta0, r.HeldOutRows)
	}
	// Output: η₀ = 1, judged by 38 records
}
