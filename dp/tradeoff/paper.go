package tradeoff

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Paper describes a training for which Theorem Main of the paper "Proactive DP" (see package closedform) gives (ε, δ)
// guarantees, and so trade-off curves, as in the paper's Appendix "Interpreting Theorem Main in the f-DP Framework".
// The training has rounds of constant batch size, Poisson sampling, add-or-remove adjacency, and at most K gradient
// computations on N records (k = K/N epochs).
type Paper struct {
	N     int     // number of records N, at least 2
	K     float64 // largest number of gradients that the training may compute, at least 1
	Sigma float64 // noise multiplier σ, above √2, because with less noise the theorem gives no δ < 1
	// Gamma returns the factor γ of Theorem Main's condition on the number of rounds (see [Paper.RoundsFor]), for the
	// noise multiplier sigma and x = ε/k. Set it to a function that calls closedform.GammaAt, which this package does
	// not import.
	Gamma func(sigma, x float64) (float64, error)
}

// RoundsFor returns the least number of rounds T for which the paper's Theorem Main gives the guarantee ε = epsilon.
// By the theorem's condition on T, that is γk²/ε, rounded up, for k epochs and the theorem's constant γ. epsilon must
// be positive.
func (p Paper) RoundsFor(epsilon float64) (float64, error) {
	if err := errors.Join(p.check(), checkPositive("epsilon", epsilon)); err != nil {
		return 0, err
	}
	return p.rounds(epsilon)
}

// AtRounds returns up to n guarantees (ε, δ) that the paper's Theorem Main gives for a training with the given number
// of rounds T > 0. It tries n values of ε in geometric progression, from the ε whose least δ is 1/N, the largest δ of
// the theorem, to just below ε = 0.5, the theorem's limit. For each ε for which the theorem applies, it returns the
// least δ. The list may be empty. [Guarantees.At] turns it into a trade-off curve, which approximates the curve
// ĥ_{σ,T} of the paper from below. n must be in [1, MaxGuarantees].
func (p Paper) AtRounds(rounds float64, n int) (Guarantees, error) {
	if err := errors.Join(p.check(), checkPositive("rounds", rounds), checkCount(n)); err != nil {
		return nil, err
	}
	return p.guarantees(0, n, func(eps float64) (bool, error) {
		least, err := p.rounds(eps)
		return rounds >= least, err
	})
}

// ForAllRounds returns up to n guarantees (ε, δ) of the paper's Theorem Main, each of which holds for every number of
// rounds T from p.RoundsFor(target), the least T that costs at most ε = target, to K, which means rounds of one
// gradient. Use it for a training that is planned for the ε target but may have more rounds. The list may be empty.
// [Guarantees.At] turns it into a trade-off curve, which approximates the curve g_{σ,ε_target} of the paper from
// below. The target must be positive, and n in [1, MaxGuarantees].
func (p Paper) ForAllRounds(target float64, n int) (Guarantees, error) {
	if err := errors.Join(p.check(), checkPositive("epsilon target", target), checkCount(n)); err != nil {
		return nil, err
	}
	return p.guarantees(target, n, func(float64) (bool, error) { return true, nil })
}

// Label returns the [Label] for a trade-off curve from [Paper.AtRounds] or [Paper.ForAllRounds]. name is the curve's
// name in legends and files. The label says that the curve is [Lower] (nowhere above the true curve, so safe to
// publish), and that the paper's closed form proves it for Poisson sampling under add-or-remove adjacency.
func (Paper) Label(name string) Label {
	return Label{name, Lower, "closed-form", dp.AddOrRemove, dp.Poisson}
}

// guarantees returns up to n guarantees (ε, δ) with ε in [from, 0.5) in geometric progression. They
// meet the conditions that ℋ and 𝒢 have in common, and the condition given by the function also.
//
// For a given ε the least δ is best. There, σ = √(2(ε + ln(1/δ))/ε), so √(2ε(ε + ln(1/δ))) is εσ.
// The paper's ℋ and 𝒢 lack the "ε +", which its Theorem Main has.
func (p Paper) guarantees(from float64, n int, also func(eps float64) (bool, error)) (Guarantees, error) {
	const largest = 0.5
	slope := (p.Sigma*p.Sigma - 2) / 2                       // ln(1/δ)/ε
	from = max(from, math.Log(float64(p.N))/slope*(1+1e-11)) // δ ≤ 1/N
	var gs Guarantees
	for i := range n {
		eps := from * math.Pow(largest/from, float64(i)/float64(n))
		delta := max(math.Exp(-slope*eps)*(1+1e-12), smallestDelta)
		if !(eps < largest) {
			continue
		}
		gamma, err := p.Gamma(p.Sigma, eps/p.epochs())
		if err != nil {
			return nil, err
		}
		if p.epochs() < math.E*p.Sigma*eps/gamma {
			continue
		}
		holds, err := also(eps)
		if err != nil {
			return nil, err
		}
		if holds {
			gs = append(gs, Guarantee{eps, delta})
		}
	}
	return gs, nil
}

// smallestDelta is the δ that replaces a smaller one, which float64 might not hold.
const smallestDelta = 1e-300

func (p Paper) epochs() float64 { return p.K / float64(p.N) }

func (p Paper) rounds(eps float64) (float64, error) {
	gamma, err := p.Gamma(p.Sigma, eps/p.epochs())
	return gamma * p.epochs() * p.epochs() / eps * (1 + 1e-15), err
}

func (p Paper) check() error {
	var errs []error
	if p.N < 2 {
		errs = append(errs, fmt.Errorf("data set size N = %d, must be at least 2", p.N))
	}
	if !(p.K >= 1) || math.IsInf(p.K, 0) {
		errs = append(errs, fmt.Errorf("gradient computations K = %v, must be finite and at least 1", p.K))
	}
	if !(p.Sigma > math.Sqrt2) || math.IsInf(p.Sigma, 0) {
		errs = append(errs, fmt.Errorf("noise multiplier = %v, must be finite and above √2", p.Sigma))
	}
	if p.Gamma == nil {
		errs = append(errs, errors.New("no gamma"))
	}
	return errors.Join(errs...)
}

func checkPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, must be finite and positive", name, v)
	}
	return nil
}

func checkCount(n int) error { return dp.CheckCount("number of guarantees", n, 1, MaxGuarantees) }
