package propose

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"proactivedp/internal/decimal"
	"proactivedp/train"
)

// Point is one point of a [Report]'s Frontier, which shows the accuracies to expect at several privacy budgets. For
// each target ε the report has points for several approximate noise multipliers, one each. A point is the setting
// with the highest predicted accuracy of those that were tried with this ε and this noise multiplier. More noise
// allows a larger batch size, so the setting computes more gradients.
type Point struct {
	Epsilon   float64 `json:"epsilon"`   // target epsilon
	Gradients int     `json:"gradients"` // number of gradients that all clients compute together
	Prediction
	Setting train.Spec `json:"setting"`
	noise   float64    // its approximate noise multiplier
}

// ladder has the ε of a frontier, divided by the target epsilon.
var ladder = []float64{0.25, 0.5, 1, 2, 4}

// frontier returns the points around ε: settings like best with each of the noise multipliers. They are
// sorted by ε and then by the number of gradients.
func (s *searcher) frontier(ctx context.Context, epsilon float64, best *candidate) ([]Point, error) {
	var all []*candidate
	var at []float64
	for _, step := range ladder {
		eps := decimal.Digits(step*epsilon, 6)
		if eps < MinEpsilon || eps > MaxEpsilon || step > s.effort().farthest {
			continue
		}
		there, err := s.at(ctx, eps, best)
		if err != nil {
			return nil, err
		}
		for range there {
			at = append(at, eps)
		}
		all = append(all, there...)
	}
	spread := s.spread(all)
	points := make([]Point, len(all))
	for i, c := range all {
		points[i] = Point{Epsilon: at[i], Gradients: c.gradients(), Prediction: s.prediction(c, spread),
			Setting: c.spec, noise: c.outlay.kind.noise}
	}
	return points, nil
}

// at returns settings like a candidate for another ε, each with the best stride for one of the noise
// multipliers. It returns none if ε is too small for all of them.
func (s *searcher) at(ctx context.Context, epsilon float64, c *candidate) ([]*candidate, error) {
	var kinds []kind
	for _, noise := range triedNoise {
		kinds = append(kinds, kind{c.outlay.kind.rounds, noise})
	}
	laid, err := s.outlays(ctx, epsilon, kinds)
	if _, infeasible := isInfeasible(err); infeasible {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := s.effort()
	var out []*candidate
	for _, l := range laid {
		tried, err := s.rung(ctx, s.candidates(c.variant, c.stride.near(), l), e.few, e.frontier, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, tried...)
	}
	if err := s.try(ctx, out, s.Seeds, e.frontier); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b *candidate) int { return a.gradients() - b.gradients() })
	return out, nil
}

// If only a target accuracy is given, the ε from scoutedEpsilon/64 to 4·scoutedEpsilon are considered,
// in factors of √2. Settings are searched for at scoutedEpsilon.
const (
	scoutedEpsilon = 1
	leastStep      = -12
	mostStep       = 4
)

// leastEpsilon returns the smallest of these ε that is predicted to reach the target accuracy, and
// settings for it. It assumes that accuracy increases with ε.
func (s *searcher) leastEpsilon(ctx context.Context) (float64, []*candidate, error) {
	found, err := s.search(ctx, scoutedEpsilon, nil)
	if err != nil {
		return 0, nil, err
	}
	enough := map[int][]*candidate{}
	at := func(step int) float64 { return decimal.Digits(scoutedEpsilon*math.Exp2(float64(step)/2), 3) }
	best := s.worst()
	n := mostStep - leastStep + 1
	reached := sort.Search(n, func(i int) bool {
		if err != nil {
			return false
		}
		var there []*candidate
		if there, err = s.at(ctx, at(leastStep+i), found[0]); err != nil || len(there) == 0 {
			return false
		}
		accuracy := slices.MinFunc(there, byAccuracy).accuracy
		best, enough[i] = max(best, accuracy), there
		return accuracy >= s.goal()
	})
	switch {
	case err != nil:
		return 0, nil, err
	case reached == n:
		return 0, nil, &Infeasible{Reason: fmt.Sprintf("the best predicted %s up to ε = %s is %s, %s %s", s.base.MetricName(),
			decimal.Exactly(at(mostStep)), s.text(best), s.short(), decimal.Exactly(s.TargetAccuracy)),
			Accuracy: s.value(best), Remedies: []string{s.lowerTarget(best)}}
	}
	return at(leastStep + reached), enough[reached], nil
}

// tooAccurate returns the error for a target accuracy that no setting at ε is predicted to reach.
func (s *searcher) tooAccurate(epsilon, best float64, points []Point) error {
	e := &Infeasible{Reason: fmt.Sprintf("the best predicted %s at ε = %s is %s, %s %s", s.base.MetricName(),
		decimal.Exactly(epsilon), s.text(best), s.short(), decimal.Exactly(s.TargetAccuracy)), Accuracy: s.value(best)}
	e.Remedies = append(e.Remedies, s.lowerTarget(best))
	for _, p := range points {
		if p.Epsilon > epsilon && s.score(p.Accuracy) >= s.goal() {
			e.Remedies = append(e.Remedies, fmt.Sprintf("allow ε = %s, where %s is predicted",
				decimal.Exactly(p.Epsilon), s.text(s.score(p.Accuracy))))
			e.Epsilon = p.Epsilon
			break
		}
	}
	return e
}

// lowerTarget returns the remedy for a target above the best predicted accuracy.
func (s *searcher) lowerTarget(best float64) string {
	if metric := s.base.MetricOf(); metric.Smaller() {
		return "raise the target " + s.base.MetricName() + " to " + metric.Text(1.001*s.value(best))
	}
	if best <= 0 {
		return "allow a larger ε"
	}
	return "lower the target " + s.base.MetricName() + " to " + decimal.Down(best, 3)
}
