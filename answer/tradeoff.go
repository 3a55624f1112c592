package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/tradeoff"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
)

// profile says at which ε curves are made from δ(ε).
var profile = tradeoff.Profile{SmallestDelta: 1e-9, Epsilons: 200}

// paperGuarantees is how many (ε, δ) the paper's curve is made from.
const paperGuarantees = 400

// TradeoffQuestion asks for the trade-off curves of rounds.
type TradeoffQuestion struct {
	Events   []dp.Event `json:"events"`             // JSON may omit sampling (then poisson) and adjacency (then its natural one)
	Delta    float64    `json:"delta"`              // δ of the curve f(ε, δ), in (0, 1)
	Target   float64    `json:"target,omitempty"`   // ε_target of the paper's curve; 0: the ε of σ and δ
	Points   int        `json:"points,omitempty"`   // of a curve, in [3, 2001], and one at the odds; 0: 101
	Epsilons int        `json:"epsilons,omitempty"` // at which pld is asked for δ, in [2, 1000]; 0: 200
	Accuracy float64    `json:"accuracy,omitempty"` // of pld; 0: pld.DefaultAccuracy
}

// Comparison is what curves are made of.
type Comparison struct {
	History    plan.History
	Delta      float64 // δ of the curve f(ε, δ)
	Target     float64 // ε_target of the paper's curve; 0: the ε of σ and δ
	Alphas     []float64
	Accountant dp.Accountant // the accountant of the certified curves
	Epsilons   int           // at how many ε it is asked for δ; 0: 200
}

// Tradeoff holds trade-off curves and what is said of them.
//
// A Tradeoff is made by Comparison.Curves. The methods of any other return an error or, if they
// have none to return, may panic.
type Tradeoff struct {
	Lines tradeoff.Curves `json:"-"`

	Accountant    string         `json:"accountant"` // the accountant of ε at δ
	Adjacency     dp.Adjacency   `json:"adjacency"`
	Sampling      dp.Sampling    `json:"sampling"`
	Delta         float64        `json:"delta"`
	EpsilonLower  float64        `json:"epsilon_lower"`
	EpsilonUpper  float64        `json:"epsilon_upper"`
	Mu            *float64       `json:"mu"`             // μ of G_μ; nil if that curve is left out
	TargetEpsilon float64        `json:"target_epsilon"` // ε_target of the paper's curve; 0 if that is left out
	Curves        []CurveSummary `json:"curves"`
	LeftOut       []LeftOut      `json:"left_out"`
	Notes         []string       `json:"notes,omitempty"` // see plan.History
	Statement     string         `json:"statement"`
}

// Curves are a Tradeoff with the points of its curves, and what the certified one means.
type Curves struct {
	*Tradeoff
	Odds  *Odds           `json:"odds,omitempty"`
	Lines tradeoff.Curves `json:"lines"`
}

// CurveSummary is a curve in a few numbers.
type CurveSummary struct {
	Name       string        `json:"name"`
	Side       tradeoff.Side `json:"side"`
	Accountant string        `json:"accountant"`
	Adjacency  dp.Adjacency  `json:"adjacency"`
	Sampling   dp.Sampling   `json:"sampling"`
	Points     int           `json:"points"`
	MaxGain    float64       `json:"max_gain"` // the largest 1-α-β at the points
	Alpha      float64       `json:"alpha"`    // α of the largest 1-α-β
}

// LeftOut is a curve that is left out, with the reason.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// leastPoints and mostPoints are how many points a curve may have, and mostEpsilons at how many ε
// it is made.
const leastPoints, mostPoints, mostEpsilons = 3, 2001, 1000

// curves answers the question.
func (q TradeoffQuestion) curves(ctx context.Context) (*Curves, error) {
	accuracy, points := cmp.Or(q.Accuracy, pld.DefaultAccuracy), cmp.Or(q.Points, 101)
	epsilons := cmp.Or(q.Epsilons, profile.Epsilons)
	errs := []error{checkAccuracy(accuracy), dp.CheckDelta(q.Delta, 0), CheckTarget(q.Target)}
	errs = append(errs, dp.CheckCount("points", points, leastPoints, mostPoints),
		dp.CheckCount("epsilons", epsilons, 2, mostEpsilons))
	events := q.Events
	err := checkEvents(events)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	alphas, err := tradeoff.Alphas(points)
	if err != nil {
		return nil, err
	}
	alphas = append(alphas, falsePositives)
	slices.Sort(alphas)
	c := Comparison{
		History: plan.History{Events: events}, Delta: q.Delta, Target: q.Target, Alphas: slices.Compact(alphas),
		Accountant: pld.Accountant{Accuracy: accuracy}, Epsilons: epsilons,
	}
	t, err := c.Curves(ctx)
	if err != nil {
		return nil, err
	}
	return &Curves{t, curveOdds(t.Lines), t.Lines}, nil
}

// curveOdds returns what a certified curve guarantees, at a point of it.
func curveOdds(lines tradeoff.Curves) *Odds {
	for _, c := range lines {
		at := slices.IndexFunc(c.Points, func(p tradeoff.Point) bool { return p.Alpha == falsePositives })
		if c.Side == tradeoff.Lower && c.Accountant == (pld.Accountant{}).Name() && at >= 0 {
			return &Odds{FalsePositive: falsePositives, TruePositive: 1 - c.Points[at].Beta, Accountant: c.Accountant}
		}
	}
	return nil
}

// CheckTarget reports an ε_target, 0 if it is not given, that the paper's curve has not.
func CheckTarget(epsilon float64) error {
	if epsilon != 0 && !(epsilon > 0 && epsilon < 0.5) {
		return fmt.Errorf("target epsilon = %v, must be in (0, 0.5): Theorem Main has no other", epsilon)
	}
	return nil
}

// Curves computes the curves. The error wraps dp.ErrNotCovered if the accountant does not
// cover the rounds; what another curve does not cover is left out, with the reason.
func (c Comparison) Curves(ctx context.Context) (*Tradeoff, error) {
	if c.Accountant == nil {
		return nil, errors.New("accountant is missing, must be given")
	}
	b, err := c.Accountant.Epsilon(ctx, c.History.Events, c.Delta)
	if err != nil {
		return nil, err
	}
	if math.IsInf(b.EpsilonUpper, 1) {
		return nil, fmt.Errorf("%s proves no upper end of ε at δ = %v: %w", b.Accountant, c.Delta,
			dp.ErrNotCovered)
	}
	p := profile
	p.Epsilons = cmp.Or(c.Epsilons, p.Epsilons)
	certified, err := tradeoff.Training(ctx, c.Accountant, c.History.Events, p, c.Alphas)
	if err != nil {
		return nil, err
	}
	s := &Tradeoff{
		Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		Delta: c.Delta, EpsilonLower: b.EpsilonLower, EpsilonUpper: b.EpsilonUpper,
		LeftOut: []LeftOut{}, Notes: c.History.Notes,
		Statement: claim.Noted("Privacy. "+claim.Statement(claim.PerRecord, b, c.History.Events...), c.History.Notes),
	}
	guarantee := tradeoff.Guarantee{Epsilon: b.EpsilonUpper, Delta: c.Delta}
	name := fmt.Sprintf("f(ε = %s, δ = %s)", shown(b.EpsilonUpper), decimal.Exactly(c.Delta))
	s.Lines = append(certified, tradeoff.Sample(
		tradeoff.Label{
			Name: name, Side: tradeoff.Lower, Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		}, guarantee.At, c.Alphas))
	for _, other := range []struct {
		name string
		add  func(*Tradeoff) error
	}{{"gdp", func(s *Tradeoff) error { return c.addGaussian(ctx, s) }}, {"paper", c.addPaper}} {
		if err := other.add(s); err != nil {
			s.LeftOut = append(s.LeftOut, LeftOut{other.name, oneLine(err)})
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, curve := range s.Lines {
		s.Curves = append(s.Curves, summarise(curve))
	}
	return s, nil
}

// addGaussian adds the curve of the central limit theorem, or the exact one.
func (c Comparison) addGaussian(ctx context.Context, s *Tradeoff) error {
	// Every μ > 0 that matters has its ε > 0 at so small a δ, and with it the
	// μ that the accountant has found.
	const delta = 1e-200
	acc := gdp.Accountant{}
	b, err := acc.Epsilon(ctx, c.History.Events, delta)
	if err != nil {
		return err
	}
	mu, err := gdp.Mu(b.Epsilon, delta)
	if err != nil {
		return err
	}
	s.Mu = &mu
	side := tradeoff.Approximation
	if b.Kind == dp.Exact {
		side = tradeoff.Exact
	}
	s.Lines = append(s.Lines, tradeoff.Sample(
		tradeoff.Label{Name: fmt.Sprintf("gdp G(μ = %s)", shown(mu)), Side: side, Accountant: acc.Name(),
			Adjacency: b.Adjacency, Sampling: b.Sampling},
		func(alpha float64) float64 { return tradeoff.Gaussian(mu, alpha) }, c.Alphas))
	return nil
}

// addPaper adds the curve of the paper, for equal rounds that it covers.
func (c Comparison) addPaper(s *Tradeoff) error {
	e, target := c.History.Events[0], c.Target
	switch {
	case len(c.History.Events) > 1 || e.DatasetSize == 0:
		return fmt.Errorf("it is for equal rounds of s of N records, given as sample size and data set size: %w",
			dp.ErrNotCovered)
	case e.Adjacency != dp.AddOrRemove || e.Sampling != dp.Poisson:
		return fmt.Errorf("it is for %s adjacency and %s sampling: %w", dp.AddOrRemove, dp.Poisson, dp.ErrNotCovered)
	case e.NoiseMultiplier < closedform.MinSigma:
		return fmt.Errorf("noise multiplier = %v, must be above √2: %w", e.NoiseMultiplier, dp.ErrNotCovered)
	case e.DatasetSize < 2:
		return fmt.Errorf("data set size N = %d, must be at least 2: %w", e.DatasetSize, dp.ErrNotCovered)
	}
	if target == 0 {
		var err error
		if target, err = closedform.Epsilon(e.NoiseMultiplier, c.Delta); err != nil {
			return fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
		}
	}
	p := tradeoff.Paper{
		N: e.DatasetSize, K: float64(e.SampleSize) * float64(e.Count), Sigma: e.NoiseMultiplier,
		Gamma: func(sigma, x float64) (float64, error) { return closedform.GammaAt(closedform.Corrected, sigma, x) },
	}
	least, err := p.RoundsFor(target)
	if err != nil {
		return fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	if float64(e.Count) < least {
		return fmt.Errorf("for ε_target = %s it holds from T = %s rounds on, and there are %d: %w", shown(target),
			shown(least), e.Count, dp.ErrNotCovered)
	}
	guarantees, err := p.ForAllRounds(target, paperGuarantees)
	if err != nil {
		return err
	}
	if len(guarantees) == 0 {
		return fmt.Errorf("for ε_target = %s no ε below 0.5 meets the conditions of Theorem Main: %w", shown(target),
			dp.ErrNotCovered)
	}
	s.TargetEpsilon = target
	s.Lines = append(s.Lines, tradeoff.Sample(p.Label(fmt.Sprintf("paper g(σ, ε_target = %s)", shown(target))),
		guarantees.At, c.Alphas))
	return nil
}

func summarise(c tradeoff.Curve) CurveSummary {
	s := CurveSummary{
		Name: c.Name, Side: c.Side, Accountant: c.Accountant,
		Adjacency: c.Adjacency, Sampling: c.Sampling, Points: len(c.Points),
	}
	for _, p := range c.Points {
		if gain := 1 - p.Alpha - p.Beta; gain > s.MaxGain {
			s.MaxGain, s.Alpha = gain, p.Alpha
		}
	}
	return s
}

// shown formats v ≥ 0 in the name of a curve, not below v.
func shown(v float64) string { return decimal.Up(v, 6) }
