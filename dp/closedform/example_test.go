package closedform_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/rng"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The paper's first setting by hand: N = 10000 records, k = 5 epochs, ε = 0.05.
func Example() {
	const n, k, epsilon, delta = 10_000, 5, 0.05, 1e-4
	sigma, err := closedform.Sigma(epsilon, delta)
	check(err)
	l, err := closedform.Limit(closedform.Corrected, n, k, 1, epsilon, delta)
	check(err)
	fmt.Printf("σ ≥ %.4f, s ≤ %.2f, T ≥ %.1f, set by (%s)\n", sigma, l.SMax, l.TMin, l.Binding)

	run := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: 31, DatasetSize: n,
		Count: 1612,
	}}
	for _, a := range []dp.Accountant{closedform.Accountant{}, closedform.MomentAccountant{}} {
		b, err := a.Epsilon(context.Background(), run, delta)
		check(err)
		fmt.Printf("%s: ε ≤ %.5f\n", a.Name(), b.EpsilonUpper)
	}
	// Output:
	// σ ≥ 19.2461, s ≤ 31.91, T ≥ 1566.9, set by (treq3)
	// closed-form: ε ≤ 0.05000
	// closed-form-moments: ε ≤ 0.05000
}

// γ is defined by an inequality whose denominators vanish at MaxAlphaBar.
func ExampleGamma() {
	const epsilon, delta, k = 0.05, 1e-4, 5
	sigma, err := closedform.Sigma(epsilon, delta)
	check(err)
	for _, form := range []closedform.Form{closedform.Printed, closedform.Corrected} {
		gamma, err := closedform.Gamma(form, epsilon, delta, k)
		check(err)
		most, err := closedform.MaxAlphaBar(form, sigma)
		check(err)
		fmt.Printf("%s: γ = %.6f, ᾱ = %.6f below %.4f\n", form, gamma, epsilon/(gamma*k), most)
	}
	// Output:
	// printed: γ = 3.127880, ᾱ = 0.003197 below 0.7546
	// corrected: γ = 3.133711, ᾱ = 0.003191 below 0.1716
}

// The bound of one round's moment, from which the theorems are made, and what it
// asks.
func ExampleMoment() {
	const q, sigma, order = 0.0031, 19.3, 100
	cs, err := closedform.MomentConditions(closedform.Corrected, q, sigma, order)
	check(err)
	for _, c := range cs {
		fmt.Printf("%s: met %v\n", c.Name, c.Met)
	}
	alpha, err := closedform.Moment(closedform.Corrected, q, sigma, order)
	check(err)
	fmt.Printf("α(%d) ≤ %.5f\n", order, alpha)
	// Output:
	// sigma: met true
	// r0: met true
	// lambda: met true
	// α(100) ≤ 0.00026
}

// Theorem thm1 sees a sequence of sizes by a few sums.
func ExampleMomentsOfEvents() {
	mechanism := dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1, NoiseMultiplier: 19.3,
		DatasetSize: 10_000, Sizes: dp.PolynomialSizes{First: 1, Slope: 1, Power: 1}}
	m, _, err := closedform.MomentsOfEvents(mechanism.Events(50))
	check(err)
	epsilon, err := m.MinEpsilon(closedform.Corrected, 19.3, 1e-4)
	check(err)
	fmt.Printf("k = %.4f epochs, θ = %.3f: ε ≤ %.5f\n", m.Epochs(), m.Theta(), epsilon)
	// Output:
	// k = 0.1275 epochs, θ = 1.961: ε ≤ 0.04972
}

// One data set, several learning tasks, one guarantee for all of them, even if a
// task was chosen by what the one before has shown. Each task is a run of its own.
func ExampleBudget() {
	most, err := closedform.ReuseLimit(closedform.Corrected, 10_000, 1, 0.2, 1e-4)
	check(err)
	fmt.Printf("at most %.0f epochs, if ever\n", most)

	b, err := closedform.NewBudget(10_000, 0.2, 1e-4)
	check(err)
	fmt.Printf("noise multiplier at least %.4f, samples of at most %d\n", b.Sigma(), b.MaxSize())
	secret, err := rng.NewFromOS()
	check(err)
	task := func(name string, run uint64, size, rounds int) {
		root := secret.ForRun(run) // the task's clients draw from it
		err := b.Spend(name, []dp.Event{{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 10, SampleSize: size, DatasetSize: 10_000,
			Count: rounds, Noise: dp.Noise{Name: root.Name(), Client: dp.AllClients},
		}})
		fmt.Printf("%s: spent %v, shares noise %v\n", name, errors.Is(err, closedform.ErrBudgetSpent),
			errors.Is(err, dp.ErrSharedNoise))
	}
	task("first", 0, 20, 10_000)
	task("second", 1, 50, 3000)
	task("third", 0, 20, 10)
	left, err := b.Remaining(20)
	check(err)
	fmt.Printf("%d task of %.0f epochs; %d rounds of 20 are left\n", len(b.Tasks()), b.Tasks()[0].Epochs, left)
	fmt.Printf("ε ≤ %g for all of them\n", b.Guarantee().EpsilonUpper)
	// Output:
	// at most 992 epochs, if ever
	// noise multiplier at least 9.7007, samples of at most 379
	// first: spent false, shares noise false
	// second: spent true, shares noise false
	// third: spent false, shares noise true
	// 1 task of 20 epochs; 14949 rounds of 20 are left
	// ε ≤ 0.2 for all of them
}
