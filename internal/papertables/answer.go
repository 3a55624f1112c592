package papertables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// answer is the content of one cell: a number rounded to the safe side, with the lower end of its
// interval if there is one, or a word that says why there is no number.
type answer struct{ value, lower string }

// none is the answer where no size or noise meets the request.
const none = "none"

// answers are the columns that are computed independently of the paper's procedures: Theorem simpleF
// with either form of γ, then the accountant under either adjacency.
type answers [4]answer

// adjacencies lists the adjacency of each of the accountant's columns.
var adjacencies = []dp.Adjacency{dp.AddOrRemove, dp.ReplaceOne}

// forms lists the form of γ of each of the theorem's columns.
var forms = []closedform.Form{closedform.Printed, closedform.Corrected}

// auditor computes the columns for one of the paper's settings, until its context is done.
type auditor struct {
	ctx context.Context
	paper.Case
	accountant dp.Accountant
}

// run returns a run with Poisson samples of expected size s and ⌊K/s⌋ rounds. Its adjacency is not set.
func (a auditor) run(sigma float64, s int) dp.Event {
	return dp.Event{Sampling: dp.Poisson, NoiseMultiplier: sigma, SampleSize: s, DatasetSize: a.N, Count: a.GradComps / s}
}

// theoremEpsilon returns the smallest ε of Theorem simpleF for that run. If σ is +Inf, the noise does
// not limit ε.
func (a auditor) theoremEpsilon(form closedform.Form, sigma float64, s int) (float64, error) {
	rounds := a.GradComps / s
	return closedform.MinEpsilon(form, closedform.Setting{
		N: a.N, Rounds: float64(rounds), Computed: float64(rounds * s), MaxSize: float64(s), Sigma: sigma,
		Delta: a.Delta(),
	})
}

// epsilons returns, for each column, the ε of a run with σ and s.
func (a auditor) epsilons(sigma float64, s int) (out answers, err error) {
	for i, form := range forms {
		eps, err := a.theoremEpsilon(form, sigma, s)
		if out[i], err = answered(err, none, decimal.Up(eps, 5)); err != nil {
			return out, err
		}
	}
	bounds, err := a.bounds(a.run(sigma, s))
	for i, b := range bounds {
		out[len(forms)+i] = interval(b)
	}
	return out, err
}

// bound returns the accountant's bound for the run under the adjacency.
func (a auditor) bound(run dp.Event, adjacency dp.Adjacency) (dp.Bound, error) {
	run.Adjacency = adjacency
	return a.accountant.Epsilon(a.ctx, []dp.Event{run}, a.Delta())
}

// bounds returns the accountant's bounds under both adjacencies. A bound is nil if the accountant does
// not cover the run.
func (a auditor) bounds(run dp.Event) (out [2]*dp.Bound, err error) {
	for i, adjacency := range adjacencies {
		b, err := a.bound(run, adjacency)
		switch {
		case err == nil:
			out[i] = &b
		case !errors.Is(err, dp.ErrNotCovered):
			return out, err
		}
	}
	return out, nil
}

// sizes returns, for each column, the largest s for ε. The theorem uses the σ that it requires for ε;
// the accountant uses the given σ.
func (a auditor) sizes(sigma, eps float64) (out answers, err error) {
	for i, form := range forms {
		l, err := closedform.Limit(form, a.N, a.Epochs(), 1, eps, a.Delta())
		if err != nil {
			return out, err
		}
		out[i].value = decimal.FixedDown(l.SMax, 2)
	}
	for i, adjacency := range adjacencies {
		s, err := a.largestSize(adjacency, sigma, eps)
		text := strconv.Itoa(s)
		if s == 0 {
			text = none
		}
		if out[len(forms)+i], err = answered(err, report.NotCovered, text); err != nil {
			return out, err
		}
	}
	return out, nil
}

// sigmas returns, for each column, the noise that a run of size s needs for ε.
func (a auditor) sigmas(s int, eps float64) (out answers, err error) {
	for i, form := range forms {
		out[i].value = none
		least, err := a.theoremEpsilon(form, math.Inf(1), s)
		switch {
		case err == nil && least <= eps:
			sigma, err := closedform.Sigma(eps, a.Delta())
			if err != nil {
				return out, err
			}
			out[i].value = decimal.Up(sigma, 6)
		case err != nil && !errors.Is(err, dp.ErrNotCovered):
			return out, err
		}
	}
	for i, adjacency := range adjacencies {
		sigma, err := a.leastSigma(adjacency, s, eps)
		if out[len(forms)+i], err = answered(err, report.NotCovered, sigma); err != nil {
			return out, err
		}
	}
	return out, nil
}

// answered returns the value as an answer. If err is dp.ErrNotCovered, it returns the word uncovered.
func answered(err error, uncovered, value string) (answer, error) {
	if errors.Is(err, dp.ErrNotCovered) {
		return answer{value: uncovered}, nil
	}
	return answer{value: value}, err
}

// interval formats the ε of a bound. nil means not covered.
func interval(b *dp.Bound) answer {
	switch {
	case b == nil:
		return answer{value: report.NotCovered}
	case math.IsInf(b.EpsilonUpper, 1):
		return answer{value: "no upper bound", lower: decimal.Down(b.EpsilonLower, 5)}
	}
	return answer{value: decimal.Up(b.EpsilonUpper, 5), lower: decimal.Down(b.EpsilonLower, 5)}
}

// fits reports whether the accountant certifies that a run with σ and s costs at most eps.
func (a auditor) fits(adjacency dp.Adjacency, sigma float64, s int, eps float64) (bool, error) {
	b, err := a.bound(a.run(sigma, s), adjacency)
	return err == nil && b.EpsilonUpper <= eps, err
}

// largestSize returns the largest s up to which every run is certified for ε, or 0. ε increases with s
// as long as T = ⌊K/s⌋ stays the same. It also increases over the largest size of each T, which leaves
// out almost nothing of K. It does not increase over all s. Therefore T is searched for first.
func (a auditor) largestSize(adjacency dp.Adjacency, sigma, eps float64) (int, error) {
	largest := func(rounds int) int { return min(a.GradComps/rounds, a.N) }
	least := max(a.GradComps/a.N, 1)
	more, err := search(a.GradComps-least+1, func(i int) (bool, error) {
		return a.fits(adjacency, sigma, largest(least+i), eps)
	})
	rounds := least + more
	switch {
	case err != nil || rounds > a.GradComps:
		return 0, err
	case more == 0:
		return largest(least), nil
	}
	s := largest(rounds)
	larger, err := search(largest(rounds-1)-s, func(i int) (bool, error) {
		ok, err := a.fits(adjacency, sigma, s+1+i, eps)
		return !ok, err
	})
	return s + larger, err
}

// search is sort.Search for a test that can fail, and ends at its first error.
func search(n int, test func(int) (bool, error)) (int, error) {
	var failed error
	found := sort.Search(n, func(i int) bool {
		if failed != nil {
			return true
		}
		var ok bool
		ok, failed = test(i)
		return ok
	})
	return found, failed
}

// leastSigma returns the least σ, to three decimals, for which a run of size s is certified for ε.
func (a auditor) leastSigma(adjacency dp.Adjacency, s int, eps float64) (string, error) {
	const perUnit, largest = 1000, 1000
	sigma := func(i int) float64 { return float64(i+1) / perUnit }
	i, err := search(largest*perUnit, func(i int) (bool, error) { return a.fits(adjacency, sigma(i), s, eps) })
	if err != nil {
		return "", err
	}
	if i == largest*perUnit {
		return fmt.Sprintf("above %d", largest), nil
	}
	return strconv.FormatFloat(sigma(i), 'f', 3, 64), nil
}
