package plan

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

// Method says by what a plan is accounted.
type Method string

// The methods. Printed and Paper are there to compare with the paper: what they
// give is of kind dp.Approximation, without an upper bound. RDP and PLD are not
// told how sizes vary; if they do (θ > 1) every round counts as one of the
// largest size, ⌊θs⌋, which is safe.
const (
	ClosedForm Method = "closed-form"         // Theorem simpleF, γ corrected
	Printed    Method = "closed-form-printed" // Theorem simpleF, γ as printed; no guarantee
	Paper      Method = "paper"               // as the paper ran it: printed γ after one update from 2; no guarantee
	RDP        Method = "rdp"                 // Rényi differential privacy
	PLD        Method = "pld"                 // certified interval
)

// ParseMethod turns a name into a Method.
func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case ClosedForm, Printed, Paper, RDP, PLD:
		return m, nil
	}
	return "", fmt.Errorf("method = %q, must be %q, %q, %q, %q or %q", name, ClosedForm, Printed, Paper, RDP, PLD)
}

// form is the γ of a closed-form method.
func (m Method) form() closedform.Form {
	if m == ClosedForm {
		return closedform.Corrected
	}
	return closedform.Printed
}

// isClosedForm reports whether the method is Theorem simpleF in some form.
func (m Method) isClosedForm() bool { return m == ClosedForm || m == Printed || m == Paper }

// kind is what the method's ε is.
func (m Method) kind() dp.Kind {
	switch m {
	case ClosedForm, RDP:
		return dp.Upper
	case PLD:
		return dp.Interval
	}
	return dp.Approximation
}

// guaranteed returns b as what the method may claim with it.
func (m Method) guaranteed(b dp.Bound) dp.Bound {
	if m.kind() == dp.Approximation {
		b.Kind, b.Accountant = dp.Approximation, string(m)
		b.EpsilonLower, b.EpsilonUpper = 0, math.Inf(1)
	}
	return b
}

// pricing says what a release of rounds at mean sample size s costs.
type pricing func(sigma float64, s, rounds int) (dp.Bound, error)

// priceBy accounts all rounds of all clients that use one record, copies times
// as many, at their largest size.
func (p *Plan) priceBy(ctx context.Context, acc dp.Accountant, copies int) pricing {
	return func(sigma float64, s, rounds int) (dp.Bound, error) {
		return acc.Epsilon(ctx, []dp.Event{p.event(sigma, s, copies*rounds)}, p.Delta)
	}
}

func (p *Plan) event(sigma float64, s, rounds int) dp.Event {
	return dp.Event{
		Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: sigma,
		SampleSize: p.largest(s), DatasetSize: p.N, Count: rounds, Noise: wholeRun(p.Noise),
	}
}

// largest is the size that a round may have if the mean is s.
func (p *Plan) largest(s int) int { return int(min(p.Theta*float64(s), float64(p.N))) }

// priceByForm is the least ε of Theorem simpleF, as an upper bound also where
// the form is Printed.
func (p *Plan) priceByForm(form closedform.Form, copies int) pricing {
	return func(sigma float64, s, rounds int) (dp.Bound, error) {
		eps, err := closedform.MinEpsilon(form, p.setting(sigma, s, rounds, copies))
		if err != nil {
			return dp.Bound{}, err
		}
		return p.upper(eps), nil
	}
}

// upper returns ε as a bound of the plan's method.
func (p *Plan) upper(eps float64) dp.Bound {
	return dp.Bound{
		Epsilon: eps, EpsilonUpper: eps, DeltaLower: p.Delta, Delta: p.Delta, DeltaUpper: p.Delta,
		Kind: dp.Upper, Accountant: string(p.Method), Adjacency: p.Adjacency, Sampling: p.Sampling,
	}
}

func (p *Plan) setting(sigma float64, s, rounds, copies int) closedform.Setting {
	total := float64(copies) * float64(rounds)
	return closedform.Setting{
		N: p.N, Rounds: total, Computed: total * float64(s), MaxSize: p.Theta * float64(s), Sigma: sigma,
		Delta: p.Delta,
	}
}

// Accuracy is the relative width of the intervals of pld by which a plan is accounted, and
// Coarse that of those by which its search starts. A calibration with both finds the same.
const Accuracy, Coarse = 1e-4, 3e-2

// Accountant returns the accountant of the method's name; dp.ErrNotCovered,
// wrapped, for Printed and Paper, which account for nothing.
func (m Method) Accountant() (dp.Accountant, error) {
	switch m {
	case ClosedForm:
		return closedform.Accountant{}, nil
	case RDP:
		return rdp.Accountant{}, nil
	case PLD:
		return pld.Accountant{Accuracy: Accuracy}, nil
	}
	return nil, fmt.Errorf("method = %q has no accountant: %w", m, dp.ErrNotCovered)
}
