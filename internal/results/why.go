package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// unknown begins the reason if none was found.
const unknown = "reason unknown; "

// explain sets f.Why, the reason why a statement is not reproduced, as far as other experiments
// show it.
func (f *Finding) explain() {
	if f.Synthetic {
		f.Verdict, f.Why = Undecided, "run on synthetic data"
		return
	}
	if f.Scale < 1 {
		f.Verdict = Undecided
		f.Why = fmt.Sprintf("run with only %g of the paper's gradients", f.Scale)
		return
	}
	if f.Verdict != NotReproduced || f.Why != "" {
		return
	}
	switch {
	case f.Quantity == paper.Kept:
		f.Why = unknown + "no figure here tries other ways to train this w*"
	case f.Quantity == paper.Accuracy && f.Claim.Epsilon == "":
		f.Why = "the training without noise is too short: w* of the utility graph is trained longer, and its accuracy is " +
			"closer to the paper's"
	default:
		f.Why = unknown + "the figures *-budget and *-scatter of the data set show the accuracies of other settings and features"
	}
}

// otherFeatures sets f.Why if an accuracy under noise is not reproduced, but a simpler model on other features
// reaches it within the same budget. The budget then allows the accuracy; why the network misses it is not known,
// because the trainings differ in more than the features. They are in the figure *-scatter of the data set. One is
// within the budget if neither its certified ε nor its δ is larger.
func (t *table) otherFeatures(f *Finding, other func(figure string) (*table, error)) error {
	if f.Verdict != NotReproduced || f.Quantity != paper.Accuracy && f.Quantity != paper.Above || f.Epsilon == "" {
		return nil
	}
	data, _, _ := strings.Cut(f.Figure, "-")
	scatter, err := other(data + "-scatter")
	if err != nil || scatter == nil || t.unlike(scatter) != "" || len(t.rows) == 0 {
		return err
	}
	epsilon, err := strconv.ParseFloat(f.epsilon, 64)
	if err != nil {
		return fmt.Errorf("certified ε = %q, must be a number", f.epsilon)
	}
	delta, err := strconv.ParseFloat(t.rows[0]["delta"], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", t.figure, err)
	}
	accuracies := map[string][]float64{} // by the certified ε as the data have it
	for _, row := range scatter.rows {
		var x [3]float64
		for i, column := range []string{"certified_epsilon_per_record", "delta", "test_accuracy"} {
			if x[i], err = strconv.ParseFloat(row[column], 64); err != nil {
				return fmt.Errorf("%s: %w", scatter.figure, err)
			}
		}
		if row["series"] == testSet && x[0] <= epsilon && x[1] <= delta {
			at := row["certified_epsilon_per_record"]
			accuracies[at] = append(accuracies[at], x[2])
		}
	}
	best := ""
	for _, at := range slices.Sorted(maps.Keys(accuracies)) {
		if best == "" || mean(accuracies[at]) > mean(accuracies[best]) {
			best = at
		}
	}
	if best != "" && mean(accuracies[best]) >= f.Value.Value() {
		f.Why = unknown + fmt.Sprintf("the budget is enough, because softmax regression on scattering features reaches %s at "+
			"ε ≤ %s, δ ≤ %g (%s)", report.Fixed(mean(accuracies[best]), 4), best, delta, scatter.figure)
	}
	return nil
}

// testSet is the series of a figure whose accuracies are those on the test set.
const testSet = "test set"

// learned is the least fraction of the best accuracy that a w* must have, so that its accuracy under
// noise is meaningful.
const learned = 0.98

// tried is one way to train w*, with its results for each seed.
type tried struct {
	way                          string
	norms, fractions, accuracies []float64
}

// norm returns the norm of w* for a clipping norm, the mean over seeds.
func (t *table) norm(clip float64) (float64, error) {
	var norms []float64
	for _, row := range t.rows {
		at, err := strconv.ParseFloat(row["clip"], 64)
		if err != nil || at != clip {
			continue
		}
		x, err := strconv.ParseFloat(row["wstar_norm"], 64)
		if err != nil {
			return 0, fmt.Errorf("wstar_norm = %q, must be a number", row["wstar_norm"])
		}
		norms = append(norms, x) // each seed contributes equally often
	}
	return mean(norms), nil
}

// borne summarises the ways to train w* that a figure tried. The noise that w* tolerates depends on the norm of
// w*; own is this norm in the utility graph.
func (t *table) borne(c paper.Claim, own float64) (string, error) {
	var all []*tried
	of := map[[2]string]*tried{}
	for _, row := range t.rows {
		var x [5]float64
		for i, column := range []string{"clip", "sigma", "fraction", "wstar_norm", "wstar_accuracy"} {
			var err error
			if x[i], err = strconv.ParseFloat(row[column], 64); err != nil {
				return "", fmt.Errorf("%s: %w", t.figure, err)
			}
		}
		if x[0] != c.Clip.Value() || x[1] != c.Sigma.Value() {
			continue
		}
		key := [2]string{row["series"], row["length"]}
		if of[key] == nil {
			of[key] = &tried{way: row["series"]}
			all = append(all, of[key])
		}
		one := of[key]
		one.fractions, one.norms = append(one.fractions, x[2]), append(one.norms, x[3])
		one.accuracies = append(one.accuracies, x[4])
	}
	if len(all) == 0 {
		return unknown + fmt.Sprintf("%s has no w* of C = %s at σ = %s", t.figure, c.Clip, c.Sigma), nil
	}
	count := len(all)
	best := slices.MaxFunc(all, func(a, b *tried) int { return cmp.Compare(mean(a.accuracies), mean(b.accuracies)) })
	all = slices.DeleteFunc(all, func(one *tried) bool {
		return mean(one.accuracies) < learned*mean(best.accuracies)
	})
	slices.SortStableFunc(all, func(a, b *tried) int { return cmp.Compare(mean(a.norms), mean(b.norms)) })
	text := fmt.Sprintf("w* keeps more if its norm is larger, and the paper does not say how it trained w*. Of %d ways to train "+
		"w* here (%s), %d are about equally accurate. Of these, ", count, t.figure, len(all))
	for _, one := range all {
		if mean(one.fractions) >= c.Value.Value()-margin { // as kept judges
			return text + fmt.Sprintf("the smallest w* that keeps about %s has ‖w*‖ = %s (%s), and the w* of the utility graph has %s",
				c.Value, report.Fixed(mean(one.norms), 1), one.way, report.Fixed(own, 1)), nil
		}
	}
	most := slices.MaxFunc(all, func(a, b *tried) int { return cmp.Compare(mean(a.fractions), mean(b.fractions)) })
	return text + fmt.Sprintf("the best keeps %s and has ‖w*‖ = %s (%s), and the w* of the utility graph has %s. So the "+
		"paper's w* had a larger norm, or the paper scaled the noise, for example by the step size",
		report.Fixed(mean(most.fractions), 3), report.Fixed(mean(most.norms), 1), most.way,
		report.Fixed(own, 1)), nil
}

func mean(values []float64) float64 {
	m, _ := report.Spread(values)
	return m
}
