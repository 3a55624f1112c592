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

// Method names the way in which the ε of a plan is computed: an accountant, or the paper's theorem in one of its
// forms.
type Method string

// These are the methods. Use PLD, the tightest, unless you compare with the paper or another library. Printed and
// Paper exist only to compare with the paper. The program claims no guarantee for them: their ε is of kind
// dp.Approximation, and its upper bound is +Inf.
//
// If batch sizes vary (θ, the largest size divided by the mean s, is above 1), RDP and PLD count every round at the
// largest size ⌊θs⌋, because a plan does not say which round has which size. This costs at least as much as the real
// sizes.
const (
	// ClosedForm is the paper's Theorem simpleF: an upper bound. The theorem demands γθ²k²/ε rounds for k epochs. Its
	// constant γ is corrected, because the paper makes an algebra error when it derives γ (see closedform.Form).
	ClosedForm Method = "closed-form"
	Printed    Method = "closed-form-printed" // Theorem simpleF, with its constant γ as the paper prints it; no guarantee
	// Paper is Theorem simpleF with its constant γ as the paper's experiments computed it, by one step of an
	// iteration that begins at γ = 2. It has no guarantee.
	Paper Method = "paper"
	RDP   Method = "rdp" // the accountant of package dp/rdp (Rényi differential privacy): an upper bound
	PLD   Method = "pld" // the tight accountant of package dp/pld: a certified interval
)

// ParseMethod returns the Method with the given name. The error lists all names.
func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case ClosedForm, Printed, Paper, RDP, PLD:
		return m, nil
	}
	return "", fmt.Errorf("method = %q, must be %q, %q, %q, %q or %q", name, ClosedForm, Printed, Paper, RDP, PLD)
}

// form returns the form of γ (corrected or printed) that a closed-form method uses.
func (m Method) form() closedform.Form {
	if m == ClosedForm {
		return closedform.Corrected
	}
	return closedform.Printed
}

// isClosedForm reports whether the method is Theorem simpleF in some form.
func (m Method) isClosedForm() bool { return m == ClosedForm || m == Printed || m == Paper }

// kind returns the kind of the method's ε.
func (m Method) kind() dp.Kind {
	switch m {
	case ClosedForm, RDP:
		return dp.Upper
	case PLD:
		return dp.Interval
	}
	return dp.Approximation
}

// guaranteed returns b without the parts that the method does not guarantee: for Printed and Paper
// it is an approximation.
func (m Method) guaranteed(b dp.Bound) dp.Bound {
	if m.kind() == dp.Approximation {
		b.Kind, b.Accountant = dp.Approximation, string(m)
		b.EpsilonLower, b.EpsilonUpper = 0, math.Inf(1)
	}
	return b
}

// pricing returns the cost of the given rounds at mean sample size s.
type pricing func(sigma float64, s, rounds int) (dp.Bound, error)

// priceBy returns the costs by acc, with copies times as many rounds, all of the largest size.
func (p *Plan) priceBy(ctx context.Context, acc dp.Accountant, copies int) pricing {
	return func(sigma float64, s, rounds int) (dp.Bound, error) {
		events, err := p.events(sigma, s, rounds, copies)
		if err != nil {
			return dp.Bound{}, err
		}
		return acc.Epsilon(ctx, events, p.Delta)
	}
}

// searching returns the accountant with which a search by acc prices. It has no lower ends that take as long
// as the upper ones: only the answer needs one.
func (p *Plan) searching(acc dp.Accountant) dp.Accountant {
	if a, ok := acc.(pld.Accountant); ok && p.hasLowerEnd() {
		a.UpperEnd = true
		return a
	}
	return acc
}

// hasLowerEnd reports whether pld computes the lower end of such rounds separately.
func (p *Plan) hasLowerEnd() bool { return p.Sampling == dp.Allocation || p.Group > 1 }

func (p *Plan) event(sigma float64, s, rounds int) dp.Event {
	e := dp.Event{
		Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: sigma, Redraw: p.Redraw, Group: p.Group,
		DatasetSize: p.N, Count: rounds, Noise: wholeRun(p.Noise),
	}
	if p.Sampling == dp.Allocation {
		e.Rate = 1 / float64(p.batchesOf(s))
	} else {
		e.SampleSize = p.largest(s)
	}
	return e
}

// events returns the given rounds of each of copies clients. Draws of different clients are not added up.
func (p *Plan) events(sigma float64, s, rounds, copies int) ([]dp.Event, error) {
	return dp.Times([]dp.Event{p.event(sigma, s, rounds)}, copies)
}

// batchesOf returns t of allocation for a sample size: the plan's own t for its own size, and ⌈N/s⌉ for others.
func (p *Plan) batchesOf(s int) int {
	if p.batches != 0 && s == sizeIn(p.N, p.batches) {
		return p.batches
	}
	return sizeIn(p.N, s)
}

// roundsOf returns the rounds of size s for the plan's epochs, which have k gradient computations.
func (p *Plan) roundsOf(k, s int) int {
	if p.Sampling != dp.Allocation {
		return roundsOf(k, s)
	}
	rounds, _ := Rounds(p.Epochs, p.event(1, s, 1)) // kt ≤ kN, which Validate bounds
	return rounds
}

// largest returns the largest size of a round if the mean is s.
func (p *Plan) largest(s int) int { return int(min(p.Theta*float64(s), float64(p.N))) }

// priceByForm returns the least ε of Theorem simpleF. It is an upper bound, even if the form is
// Printed.
func (p *Plan) priceByForm(form closedform.Form, copies int) pricing {
	return func(sigma float64, s, rounds int) (dp.Bound, error) {
		eps, err := closedform.MinEpsilon(form, p.setting(sigma, s, rounds, copies))
		if err != nil {
			return dp.Bound{}, err
		}
		return p.upper(eps), nil
	}
}

// upper returns eps as a dp.Bound of kind Upper, named after the plan's method.
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

// Accountant returns the accountant that computes ε for the method. For PLD it is the accountant with its default
// accuracy, which reports of trainings use, too. So the report of a training gives the same ε as its plan. Printed
// and Paper have none, because they only reproduce numbers of the paper; the error then wraps dp.ErrNotCovered.
func (m Method) Accountant() (dp.Accountant, error) {
	switch m {
	case ClosedForm:
		return closedform.Accountant{}, nil
	case RDP:
		return rdp.Accountant{}, nil
	case PLD:
		return pld.Accountant{}, nil
	}
	return nil, fmt.Errorf("method = %q has no accountant: %w", m, dp.ErrNotCovered)
}
