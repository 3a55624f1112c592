package papertables

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/paper"
)

// finding holds the numbers for the text about one problem: its σ of the comparison, and runs at ε =
// 2L/(σ²-2).
type finding struct {
	auditor
	sigma   float64
	run     noiseRun
	limits  [2]closedform.Limits // limits with either form of γ
	asRun   [2]*dp.Bound         // by adjacency, at the largest integer s with the paper's γ
	exact   [2]*dp.Bound         // by adjacency, at the largest integer s with the corrected γ
	largest answers              // largest sizes by each column
	least   answers              // least σ by each column, at the s of the corrected γ
	asym    [2]asymptotic
}

// asymptotic is a run of ⌊k²/(divisor·ε)⌋ rounds that computes all of K.
type asymptotic struct {
	divisor int
	rounds  int
	bounds  [2]*dp.Bound // by adjacency
}

// size returns the largest integer s with the corrected γ.
func (f *finding) size() int { return int(f.limits[1].SMax) }

func (a auditor) find() (*finding, error) {
	f := &finding{auditor: a, sigma: a.Comparison.Sigma.Value()}
	var err error
	if f.run, err = calculatorByNoise(a.Case, f.sigma, treq4); err != nil {
		return nil, err
	}
	eps := f.run.epsilon
	for i, form := range forms {
		if f.limits[i], err = closedform.Limit(form, a.N, a.Epochs(), 1, eps, a.Delta()); err != nil {
			return nil, err
		}
	}
	if f.asRun, err = a.bounds(a.run(f.sigma, int(f.run.size))); err != nil {
		return nil, err
	}
	if f.exact, err = a.bounds(a.run(f.sigma, f.size())); err != nil {
		return nil, err
	}
	if f.largest, err = a.sizes(f.sigma, eps); err != nil {
		return nil, err
	}
	if f.least, err = a.sigmas(f.size(), eps); err != nil {
		return nil, err
	}
	for i, divisor := range []int{2, 4} {
		t := asymptotic{divisor: divisor, rounds: int(a.Epochs() * a.Epochs() / (float64(divisor) * eps))}
		if t.bounds, err = a.bounds(allEpochs(f.sigma, a.Epochs(), t.rounds)); err != nil {
			return nil, err
		}
		f.asym[i] = t
	}
	return f, nil
}

func allEpochs(sigma, k float64, rounds int) dp.Event {
	return dp.Event{Sampling: dp.Poisson, NoiseMultiplier: sigma, Rate: k / float64(rounds), Count: rounds}
}

// replaceOne is a setting in which the theorem's ε is violated under replace-one adjacency. It was
// found by a search; its rounds and noise are computed from it.
type replaceOne struct {
	form    closedform.Form
	n       int
	epochs  float64
	epsilon float64
	sigma   float64
	rounds  int
	main    bool         // whether it meets all conditions of Theorem Main
	bounds  [2]*dp.Bound // by adjacency
}

// replaceOneExample returns the setting with the rounds that each form of γ requires.
func replaceOneExample(ctx context.Context, accountant dp.Accountant) (out []replaceOne, err error) {
	for _, form := range forms {
		e := replaceOne{form: form, n: 768_351, epochs: 199, epsilon: 0.41894}
		a := auditor{ctx, paper.Case{N: e.n}, accountant}
		if e.sigma, err = closedform.Sigma(e.epsilon, a.Delta()); err != nil {
			return nil, err
		}
		limits, err := closedform.Limit(form, e.n, e.epochs, 1, e.epsilon, a.Delta())
		if err != nil {
			return nil, err
		}
		e.rounds = int(math.Ceil(limits.TMin))
		computed := e.epochs * float64(e.n)
		conditions, err := closedform.Conditions(form, closedform.Setting{
			N: e.n, Rounds: float64(e.rounds), Computed: computed, MaxSize: computed / float64(e.rounds),
			Sigma: e.sigma, Epsilon: e.epsilon, Delta: a.Delta(),
		})
		if err != nil {
			return nil, fmt.Errorf("replace-one example: %w", err)
		}
		e.main = closedform.Holds(conditions, closedform.Main)
		if e.bounds, err = a.bounds(allEpochs(e.sigma, e.epochs, e.rounds)); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
