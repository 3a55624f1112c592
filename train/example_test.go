package train_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// A training is a spec on a data set. What it guarantees is known before it runs.
func Example() {
	spec := train.DefaultSpec() // the paper's, but for what follows
	spec.Data, spec.Clients, spec.GradComps, spec.SampleSize = "synth-drawn", 3, 6000, "32"
	spec.NoiseMultiplier, spec.Clip, spec.Eta0 = 6, 0.5, 0.5
	p, err := spec.Prepare(synth.OneHot(rng.New(3), 400), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	planned, err := p.PlannedPrivacy(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d records, %d rounds of each of %d clients\n",
		planned.PerClient.DatasetSize, planned.PerClient.Rounds, spec.Clients)
	fmt.Printf("certified: ε ≤ %s per record at δ = %.4g, %s adjacency\n",
		decimal.Up(*planned.Certified.PerRecord.EpsilonUpper, 3), planned.Delta, planned.Adjacency)
	r, err := p.Train(ctx, sim.Perf{Workers: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("test accuracy %.1f on %d rows after %d updates\n", r.TestAccuracy, r.TestRows, r.Updates)
	// Output:
	// 320 records, 187 rounds of each of 3 clients
	// certified: ε ≤ 0.872 per record at δ = 0.003125, add-or-remove adjacency
	// test accuracy 0.8 on 80 rows after 561 updates
}

// Two columns that say the class only together: a linear model learns nothing of it, a
// perceptron all, within the same ε.
func Example_perceptron() {
	draw := rng.New(5).Stream(rng.Synthetic, 0, 0)
	rows, labels := make([][]float32, 2000), make([]int32, 2000)
	for i := range rows {
		a, b := draw.IntN(2), draw.IntN(2)
		rows[i], labels[i] = []float32{float32(a), float32(b)}, int32(a^b)
	}
	pairs, err := data.FromRows("pairs", rows, labels)
	if err != nil {
		log.Fatal(err)
	}
	source, ctx := train.NewSource(pairs), context.Background()
	for _, model := range []string{train.Plain, "mlp:16"} {
		spec := train.DefaultSpec()
		spec.Model, spec.Data, spec.Clients = model, "pairs", 1
		spec.SampleSize, spec.GradComps, spec.Clip = "100", 30_000, 0.5
		spec.Eta0, spec.Schedule, spec.Beta = 0.1, string(sim.ZeroDecay), 0
		p, err := source.Prepare(spec)
		if err != nil {
			log.Fatal(err)
		}
		if p, err = p.Calibrate(ctx, 1); err != nil { // the least noise within ε = 1
			log.Fatal(err)
		}
		r, err := p.Train(ctx, sim.Perf{Workers: 1}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: more than 99 %% of the test rows are right: %t\n", r.Spec.Model, r.TestAccuracy > 0.99)
	}
	// Output:
	// logreg-plain: more than 99 % of the test rows are right: false
	// mlp:16: more than 99 % of the test rows are right: true
}

// A source prepares many specs on one data set, and keeps what they share once.
func ExampleSource() {
	source := train.NewSource(synth.OneHot(rng.New(3), 400))
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps, spec.SampleSize = "synth-drawn", 300, "6"
	for _, spec.Delay = range []string{"0", "4"} {
		p, err := source.Prepare(spec)
		if err != nil {
			log.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{Workers: 1}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("permissible delay %s: at most %d rounds behind\n", spec.Delay, r.MaxLag)
	}
	// Output:
	// permissible delay 0: at most 0 rounds behind
	// permissible delay 4: at most 4 rounds behind
}
