package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/tradeoff"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
)

// profile says at which ε curves are made from δ(ε).
var profile = tradeoff.Profile{SmallestDelta: 1e-9, Epsilons: 200}

// paperGuarantees is how many (ε, δ) the paper's curve is made from.
const paperGuarantees = 400

// comparison asks for the trade-off curves of a release.
type comparison struct {
	history    plan.History
	delta      float64 // δ of the curve f(ε, δ)
	target     float64 // ε_target of the paper's curve; 0: the ε of σ and δ
	alphas     []float64
	accountant dp.Accountant // the accountant of the certified curves
}

// summary holds the curves and what is said of them.
type summary struct {
	curves tradeoff.Curves

	Accountant    string         `json:"accountant"` // the accountant of ε at δ
	Adjacency     dp.Adjacency   `json:"adjacency"`
	Sampling      dp.Sampling    `json:"sampling"`
	Delta         float64        `json:"delta"`
	EpsilonLower  float64        `json:"epsilon_lower"`
	EpsilonUpper  float64        `json:"epsilon_upper"`
	Mu            *float64       `json:"mu"`             // μ of G_μ; nil if that curve is left out
	TargetEpsilon float64        `json:"target_epsilon"` // ε_target of the paper's curve; 0 if that is left out
	Curves        []curveSummary `json:"curves"`
	LeftOut       []leftOut      `json:"left_out"`
	Notes         []string       `json:"notes,omitempty"` // see plan.History
	Statement     string         `json:"statement"`
}

// curveSummary is a curve in a few numbers.
type curveSummary struct {
	Name       string        `json:"name"`
	Side       tradeoff.Side `json:"side"`
	Accountant string        `json:"accountant"`
	Adjacency  dp.Adjacency  `json:"adjacency"`
	Sampling   dp.Sampling   `json:"sampling"`
	Points     int           `json:"points"`
	MaxGain    float64       `json:"max_gain"` // the largest 1-α-β at the points
	Alpha      float64       `json:"alpha"`    // α of the largest 1-α-β
}

// leftOut is a curve that is left out, with the reason.
type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// curves computes the curves.
func (c comparison) curves(ctx context.Context) (*summary, error) {
	b, err := c.accountant.Epsilon(ctx, c.history.Events, c.delta)
	if err != nil {
		return nil, err
	}
	certified, err := tradeoff.Training(ctx, c.accountant, c.history.Events, profile, c.alphas)
	if err != nil {
		return nil, err
	}
	s := &summary{
		Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		Delta: c.delta, EpsilonLower: b.EpsilonLower, EpsilonUpper: b.EpsilonUpper,
		LeftOut: []leftOut{}, Notes: c.history.Notes,
		Statement: claim.Noted("Privacy. "+claim.Statement(claim.PerRecord, b, c.history.Events...), c.history.Notes),
	}
	guarantee := tradeoff.Guarantee{Epsilon: b.EpsilonUpper, Delta: c.delta}
	name := fmt.Sprintf("f(ε = %s, δ = %s)", shownUp(b.EpsilonUpper), decimal.Exactly(c.delta))
	s.curves = append(certified, tradeoff.Sample(
		tradeoff.Label{
			Name: name, Side: tradeoff.Lower, Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		}, guarantee.At, c.alphas))
	for _, other := range []struct {
		name string
		add  func(*summary) error
	}{{"gdp", func(s *summary) error { return c.addGaussian(ctx, s) }}, {"paper", c.addPaper}} {
		if err := other.add(s); err != nil {
			s.LeftOut = append(s.LeftOut, leftOut{other.name, oneLine(err)})
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, curve := range s.curves {
		s.Curves = append(s.Curves, summarise(curve))
	}
	return s, nil
}

// addGaussian adds the curve of the central limit theorem, or the exact one.
func (c comparison) addGaussian(ctx context.Context, s *summary) error {
	// Every μ > 0 that matters has its ε > 0 at so small a δ, and with it the
	// μ that the accountant has found.
	const delta = 1e-200
	acc := gdp.Accountant{}
	b, err := acc.Epsilon(ctx, c.history.Events, delta)
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
	s.curves = append(s.curves, tradeoff.Sample(
		tradeoff.Label{Name: fmt.Sprintf("gdp G(μ = %s)", shownUp(mu)), Side: side, Accountant: acc.Name(),
			Adjacency: b.Adjacency, Sampling: b.Sampling},
		func(alpha float64) float64 { return tradeoff.Gaussian(mu, alpha) }, c.alphas))
	return nil
}

// addPaper adds the curve of the paper, for equal rounds that it covers.
func (c comparison) addPaper(s *summary) error {
	e, target := c.history.Events[0], c.target
	switch {
	case len(c.history.Events) > 1 || e.DatasetSize == 0:
		return fmt.Errorf("it is for equal rounds of s of N records, with --sample-size and --n: %w", dp.ErrNotCovered)
	case e.Adjacency != dp.AddOrRemove || e.Sampling != dp.Poisson:
		return fmt.Errorf("it is for %s adjacency and %s sampling: %w", dp.AddOrRemove, dp.Poisson, dp.ErrNotCovered)
	case e.NoiseMultiplier < closedform.MinSigma:
		return fmt.Errorf("noise multiplier = %v, must be above √2: %w", e.NoiseMultiplier, dp.ErrNotCovered)
	case e.DatasetSize < 2:
		return fmt.Errorf("data set size N = %d, must be at least 2: %w", e.DatasetSize, dp.ErrNotCovered)
	}
	if target == 0 {
		var err error
		if target, err = closedform.Epsilon(e.NoiseMultiplier, c.delta); err != nil {
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
		return fmt.Errorf("for ε_target = %s it holds from T = %s rounds on, and there are %d: %w", shownUp(target),
			shownUp(least), e.Count, dp.ErrNotCovered)
	}
	guarantees, err := p.ForAllRounds(target, paperGuarantees)
	if err != nil {
		return err
	}
	if len(guarantees) == 0 {
		return fmt.Errorf("for ε_target = %s no ε below 0.5 meets the conditions of Theorem Main: %w", shownUp(target),
			dp.ErrNotCovered)
	}
	s.TargetEpsilon = target
	s.curves = append(s.curves, tradeoff.Sample(p.Label(fmt.Sprintf("paper g(σ, ε_target = %s)", shownUp(target))),
		guarantees.At, c.alphas))
	return nil
}

func summarise(c tradeoff.Curve) curveSummary {
	s := curveSummary{
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

// gain shows the largest gain on the safe side: above that of a guarantee's curve,
// below that of one from above.
func (c curveSummary) gain() string {
	if c.Side == tradeoff.Upper {
		return shownDown(c.MaxGain)
	}
	return shownUp(c.MaxGain)
}

func (s *summary) print(w io.Writer) error {
	fmt.Fprintf(w, "Trade-off curves, per record: %s adjacency, %s sampling\n\n", s.Adjacency, s.Sampling)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "curve\tside\tlargest gain 1-α-f(α)\tat α\n")
	for _, c := range s.Curves {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\n", c.Name, c.Side, c.gain(), c.Alpha)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, l := range s.LeftOut {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "left out: %s: %s\n", l.Name, l.Reason)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", s.Statement)
	return err
}
