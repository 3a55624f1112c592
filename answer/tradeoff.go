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
	"proactivedp/internal/message"
)

// profile sets the ε at which curves are made from δ(ε), and their smallest δ.
var profile = tradeoff.Profile{SmallestDelta: 1e-9, Epsilons: 200}

// paperGuarantees is the number of (ε, δ) pairs from which the paper's curve is made.
const paperGuarantees = 400

// TradeoffQuestion asks for trade-off curves of rounds. An attacker guesses whether a record was used; a curve shows
// the least possible rate of misses for each rate of false alarms (see package tradeoff). [Compare] answers it.
type TradeoffQuestion struct {
	// Events are the rounds. In JSON, the sampling may be left out (then poisson), and the adjacency (then that of
	// dp.NaturalAdjacency, for example add-or-remove for poisson).
	Events []dp.Event `json:"events"`
	// Delta is the δ in (0, 1) at which ε is computed. One of the curves shows what this single pair (ε, δ)
	// guarantees.
	Delta float64 `json:"delta"`
	// Target is an ε in (0, 0.5) for the curve by Theorem Main of the Proactive DP paper. The theorem proves (ε, δ) for
	// trainings with enough noise and rounds (package dp/closedform): the smaller ε, the more rounds it needs. If there
	// are fewer rounds than ε = Target needs (tradeoff.Paper.RoundsFor), the curve is left out. With enough rounds, the
	// curve also holds for every training with more but smaller rounds and as many gradients in all. 0 means the least ε
	// that the theorem allows for Delta and the rounds' noise multiplier (closedform.Epsilon).
	Target float64 `json:"target,omitempty"`
	Points int     `json:"points,omitempty"` // number of points of a curve, in [3, 100000], in JSON at most 2001; 0 means 101
	// Epsilons is the number of values of ε at which the accountant pld computes δ, in [2, 1000]; 0 means 200. The curves
	// of pld follow from these pairs (ε, δ), and more pairs give a better curve.
	Epsilons int `json:"epsilons,omitempty"`
	// Accuracy is the relative width of the interval in which the accountant pld encloses ε, see MinAccuracy. 0 means
	// pld.DefaultAccuracy.
	Accuracy float64  `json:"accuracy,omitempty"`
	Notes    []string `json:"-"` // warnings about the events, such as the Notes of a plan.History; the answer repeats them
}

// Tradeoff is the answer to a [TradeoffQuestion]: the trade-off curves of some rounds, and their privacy statement.
//
// Use [Compare] to make a Tradeoff. The methods of any other Tradeoff return an error or, if they have no error result,
// may panic.
type Tradeoff struct {
	Lines tradeoff.Curves `json:"-"` // the curves with their points

	Accountant   string       `json:"accountant"` // name of the accountant that computed ε at Delta
	Adjacency    dp.Adjacency `json:"adjacency"`
	Sampling     dp.Sampling  `json:"sampling"`
	Delta        float64      `json:"delta"`
	EpsilonLower float64      `json:"epsilon_lower"` // lower end of the interval in which the accountant encloses ε
	EpsilonUpper float64      `json:"epsilon_upper"` // upper end of this interval
	// Mu is the parameter μ of the curve G_μ by Gaussian differential privacy (package gdp). It is nil if that curve
	// is left out.
	Mu *float64 `json:"mu"`
	// TargetEpsilon is the ε for which the curve by the Proactive DP paper's Theorem Main is made (see
	// TradeoffQuestion.Target); 0 if that curve is left out.
	TargetEpsilon float64        `json:"target_epsilon"`
	Curves        []CurveSummary `json:"curves"` // a few numbers for each of Lines
	LeftOut       []LeftOut      `json:"left_out"`
	// Notes are warnings about the rounds: the Notes of the question.
	Notes     []string `json:"notes,omitempty"`
	Statement string   `json:"statement"`

	bound  dp.Bound // what Statement states, with the events, for its one line
	events []dp.Event
}

// Curves is a [Tradeoff] as the function [JSON] returns it. Lines has the points of its curves. Odds has the largest
// fraction of the people in the data whom an attacker can recognise as members, if the attacker also takes 5 % of the
// people outside the data for members. The accountant pld proves this limit, see [Odds].
type Curves struct {
	*Tradeoff
	Odds  *Odds           `json:"odds,omitempty"`
	Lines tradeoff.Curves `json:"lines"`
}

// CurveSummary describes one curve of a [Tradeoff]: its name, where it comes from, and the largest gain of an
// attacker.
type CurveSummary struct {
	Name       string        `json:"name"`
	Side       tradeoff.Side `json:"side"` // whether the true curve may lie above or below this one
	Accountant string        `json:"accountant"`
	Adjacency  dp.Adjacency  `json:"adjacency"`
	Sampling   dp.Sampling   `json:"sampling"`
	Points     int           `json:"points"`
	// MaxGain is the largest 1-α-β of the points, where α is the attacker's rate of false alarms and β the rate of
	// misses. Blind guessing gains 0; a gain of 1 means no privacy.
	MaxGain float64 `json:"max_gain"`
	Alpha   float64 `json:"alpha"` // α of the point where the gain is MaxGain
}

// LeftOut names a curve that is missing in a [Tradeoff], and says why.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// The ranges of a TradeoffQuestion. usualPoints is the default, and jsonPoints limits the work that one
// question in JSON can cause.
const leastPoints, usualPoints, jsonPoints, mostPoints, mostEpsilons = 3, 101, 2001, 100_000, 1000

// Validate returns one error that lists every field outside its range.
func (q TradeoffQuestion) Validate() error {
	errs := []error{CheckAccuracy(q.Accuracy), dp.CheckDelta(q.Delta, 0)}
	if q.Target != 0 && !(q.Target > 0 && q.Target < 0.5) {
		errs = append(errs, fmt.Errorf("target epsilon = %v, must be in (0, 0.5): Theorem Main covers no other", q.Target))
	}
	return errors.Join(append(errs, dp.CheckCount("points", cmp.Or(q.Points, usualPoints), leastPoints, mostPoints),
		dp.CheckCount("epsilons", cmp.Or(q.Epsilons, profile.Epsilons), 2, mostEpsilons), dp.CheckEvents(q.Events))...)
}

// Compare answers a [TradeoffQuestion] with several curves for the same rounds:
//
//   - one or two curves by the accountant pld: a bound below the true curve and, if pld proves one, a bound above it;
//   - the curve that follows from (ε, δ) by itself, for the δ of the question;
//   - the curve of Gaussian differential privacy (package gdp);
//   - the curve by Theorem Main of the Proactive DP paper, which proves (ε, δ) for trainings with enough noise and
//     rounds (package dp/closedform).
//
// Gaussian differential privacy and Theorem Main do not cover all rounds, for example not every way of sampling. If one
// of them does not cover the rounds of the question, its curve is left out, and Tradeoff.LeftOut has the reason. If pld
// proves no ε for the rounds, Compare returns an error that wraps dp.ErrNotCovered.
func Compare(ctx context.Context, q TradeoffQuestion) (*Tradeoff, error) { return q.compare(ctx) }

// compare is Compare with additional points at the α of others.
func (q TradeoffQuestion) compare(ctx context.Context, others ...float64) (*Tradeoff, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	alphas, err := tradeoff.Alphas(cmp.Or(q.Points, usualPoints))
	if err != nil {
		return nil, err
	}
	alphas = append(alphas, others...)
	slices.Sort(alphas)
	return q.curves(ctx, pld.Accountant{Accuracy: cmp.Or(q.Accuracy, pld.DefaultAccuracy)}, slices.Compact(alphas))
}

// answer answers a question in JSON, which has tighter limits. It adds the Odds.
func (q TradeoffQuestion) answer(ctx context.Context) (*Curves, error) {
	err := countEvents(q.Events)
	if q.Points > jsonPoints {
		err = errors.Join(err, dp.CheckCount("points", q.Points, leastPoints, jsonPoints))
		q.Points = 0
	}
	if err := errors.Join(err, q.Validate()); err != nil {
		return nil, err
	}
	t, err := q.compare(ctx, falsePositives)
	if err != nil {
		return nil, err
	}
	return &Curves{t, curveOdds(t.Lines), t.Lines}, nil
}

func curveOdds(lines tradeoff.Curves) *Odds {
	for _, c := range lines {
		at := slices.IndexFunc(c.Points, func(p tradeoff.Point) bool { return p.Alpha == falsePositives })
		if c.Side == tradeoff.Lower && c.Accountant == (pld.Accountant{}).Name() && at >= 0 {
			return &Odds{FalsePositive: falsePositives, TruePositive: 1 - c.Points[at].Beta, Accountant: c.Accountant}
		}
	}
	return nil
}

// curves computes all curves at the given α. The accountant by computes the certified ones.
func (q TradeoffQuestion) curves(ctx context.Context, by dp.Accountant, alphas []float64) (*Tradeoff, error) {
	b, err := by.Epsilon(ctx, q.Events, q.Delta)
	if err != nil {
		return nil, err
	}
	if math.IsInf(b.EpsilonUpper, 1) {
		return nil, fmt.Errorf("%s proves no upper bound on ε at δ = %v: %w", b.Accountant, q.Delta,
			dp.ErrNotCovered)
	}
	p := profile
	p.Epsilons = cmp.Or(q.Epsilons, p.Epsilons)
	certified, err := tradeoff.Training(ctx, by, q.Events, p, alphas)
	if errors.Is(err, dp.ErrNotCovered) && q.Delta > p.SmallestDelta { // such as truncated batches, which add to each δ
		p.SmallestDelta = q.Delta
		certified, err = tradeoff.Training(ctx, by, q.Events, p, alphas)
	}
	if err != nil {
		return nil, err
	}
	s := &Tradeoff{
		Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		Delta: q.Delta, EpsilonLower: b.EpsilonLower, EpsilonUpper: b.EpsilonUpper,
		LeftOut: []LeftOut{}, Notes: q.Notes,
		Statement: claim.Noted("Privacy. "+claim.Statement(claim.UnitOf(q.Events...), b, q.Events...), q.Notes),
		bound:     b, events: q.Events,
	}
	guarantee := tradeoff.Guarantee{Epsilon: b.EpsilonUpper, Delta: q.Delta}
	name := fmt.Sprintf("f(ε = %s, δ = %s)", shown(b.EpsilonUpper), decimal.Exactly(q.Delta))
	s.Lines = append(certified, tradeoff.Sample(
		tradeoff.Label{
			Name: name, Side: tradeoff.Lower, Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling,
		}, guarantee.At, alphas))
	for _, other := range []struct {
		name string
		add  func() error
	}{
		{"gdp", func() error { return q.addGaussian(ctx, s, alphas) }},
		{"paper", func() error { return q.addPaper(s, alphas) }},
	} {
		if err := other.add(); err != nil {
			s.LeftOut = append(s.LeftOut, LeftOut{other.name, message.OneLine(err)})
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

// addGaussian adds the curve of the accountant gdp, which is exact or an approximation by the central
// limit theorem.
func (q TradeoffQuestion) addGaussian(ctx context.Context, s *Tradeoff, alphas []float64) error {
	// At such a small δ, ε > 0 for every relevant μ > 0. Therefore μ can be recovered from the ε that
	// the accountant returns.
	const delta = 1e-200
	acc := gdp.Accountant{}
	b, err := acc.Epsilon(ctx, q.Events, delta)
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
		func(alpha float64) float64 { return tradeoff.Gaussian(mu, alpha) }, alphas))
	return nil
}

// addPaper adds the paper's curve, if it covers the rounds.
func (q TradeoffQuestion) addPaper(s *Tradeoff, alphas []float64) error {
	e, target := q.Events[0], q.Target
	switch {
	case len(q.Events) > 1 || e.DatasetSize == 0:
		return fmt.Errorf("the paper's curve needs equal rounds, given by sample size and data set size: %w",
			dp.ErrNotCovered)
	case e.Adjacency != dp.AddOrRemove || e.Sampling != dp.Poisson:
		return fmt.Errorf("the paper's curve needs %s adjacency and %s sampling: %w", dp.AddOrRemove, dp.Poisson, dp.ErrNotCovered)
	case e.NoiseMultiplier < closedform.MinSigma:
		return fmt.Errorf("noise multiplier = %v, must be above √2: %w", e.NoiseMultiplier, dp.ErrNotCovered)
	case e.DatasetSize < 2:
		return fmt.Errorf("data set size N = %d, must be at least 2: %w", e.DatasetSize, dp.ErrNotCovered)
	}
	if target == 0 {
		var err error
		if target, err = closedform.Epsilon(e.NoiseMultiplier, q.Delta); err != nil {
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
		return fmt.Errorf("for ε_target = %s the paper's curve needs at least T = %s rounds, but there are %d: %w", shown(target),
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
		guarantees.At, alphas))
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

// shown formats v ≥ 0 for the name of a curve, rounded up.
func shown(v float64) string { return decimal.Up(v, 6) }
