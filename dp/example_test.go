package dp_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
)

// A mechanism is written down once. What it will release is accounted from it,
// and so are its samples and its noise drawn.
func Example() {
	m := dp.Mechanism{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1, NoiseMultiplier: 1.1,
		DatasetSize: 60_000, Sizes: dp.ConstantSizes(256),
	}
	const rounds = 1000
	if err := m.Validate(rounds); err != nil {
		log.Fatal(err)
	}
	b, err := pld.Accountant{}.Epsilon(context.Background(), m.Events(rounds), 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s: ε ≤ %.3f at δ = %g, %s\n", b.Adjacency, b.Sampling, b.EpsilonUpper, b.Delta, b.Kind)

	root := rng.New(1)
	sample := m.Sample(nil, 0, root.Stream(rng.Sampling, 0, 0), &dp.SampleScratch{})
	sum := make([]float64, 10) // of the sampled records' clipped gradients
	released := make([]float32, len(sum))
	m.AddNoise(released, sum, root.Stream(rng.Noise, 0, 0))
	fmt.Printf("round 0 has %d records\n", len(sample))
	// Output:
	// add-or-remove, poisson: ε ≤ 0.599 at δ = 1e-05, interval
	// round 0 has 243 records
}

// A ledger counts what was released, whatever was planned.
func ExampleLedger() {
	m := dp.Mechanism{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1, NoiseMultiplier: 2,
		DatasetSize: 1000, Sizes: dp.ListSizes{10, 10, 20},
	}
	var l dp.Ledger
	for i := range 3 {
		l.Record(m.Event(i))
	}
	for _, e := range l.Events() {
		fmt.Printf("%d rounds at rate %g\n", e.Count, e.SampleRate())
	}
	fmt.Println("θ =", l.Run().Theta())
	// Output:
	// 2 rounds at rate 0.01
	// 1 rounds at rate 0.02
	// θ = 1.5
}
