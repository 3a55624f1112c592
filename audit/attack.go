package audit

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"proactivedp/internal/decimal"
	"proactivedp/internal/root"
)

// Attack measures how well the attack of a [Scores] distinguishes members (canaries, that is, extra records, that were
// in the training data) from the other canaries. The attack gave each canary a score, which should be larger for
// members. A pair such as AUCLow and AUCHigh is a confidence interval. If the scores of different canaries are
// independent, each interval contains the true value with a probability of at least ScoresReport.Confidence.
type Attack struct {
	// AUC is the probability that a random member has a higher score than a random other canary; equal scores count
	// half.
	AUC     float64 `json:"auc"`
	AUCLow  float64 `json:"auc_low"`
	AUCHigh float64 `json:"auc_high"`
	// Rates has the attack at two thresholds: those for a false-positive rate of at most 1 % and at most 0.1 %.
	Rates []Rate `json:"rates"`
	// Curve is the ROC curve of the attack. It has a Rate for each score as the threshold: how many members and how
	// many other canaries have at least this score. MaxFPR and the confidence intervals are left out.
	Curve []Rate `json:"-"`
}

// Rate says how well an attack with one threshold does: it guesses that a canary (an extra record) was in the
// training data if its score is at least the threshold. A positive is such a guess, which is false if the canary was
// not in the data. FPR and TPR are the rates of false and true positives. FPRLow and FPRHigh are the ends of a
// confidence interval for FPR, as are TPRLow and TPRHigh for TPR (at ScoresReport.Confidence).
type Rate struct {
	// MaxFPR is the false-positive rate for which Threshold was chosen: Threshold is the lowest threshold with an FPR
	// of at most MaxFPR.
	MaxFPR float64 `json:"max_fpr"`
	// Threshold is the score from which on the attack guesses that a canary was in the data. It is nil if it is above
	// all scores, so that no canary is guessed to be.
	Threshold      *float64 `json:"threshold,omitempty"`
	FalsePositives int      `json:"false_positives"`
	TruePositives  int      `json:"true_positives"`
	FPR            float64  `json:"fpr"`
	FPRLow         float64  `json:"fpr_low"`
	FPRHigh        float64  `json:"fpr_high"`
	TPR            float64  `json:"tpr"`
	TPRLow         float64  `json:"tpr_low"`
	TPRHigh        float64  `json:"tpr_high"`
}

// attack measures the attack. Each interval is wrong with a probability of at most level.
func (s Scores) attack(level float64) Attack {
	order := make([]int, len(s.Score))
	for i := range order {
		order[i] = i
	}
	ascending(order, s.Score)
	slices.Reverse(order)
	in := s.members()
	out := len(order) - in
	var a Attack
	area := 0.0 // in units of one member and one other canary
	at := Rate{}
	for i, place := range order {
		if s.Member[place] {
			at.TruePositives++
		} else {
			at.FalsePositives++
		}
		if v := s.Score[place]; i+1 == len(order) || s.Score[order[i+1]] != v {
			last := Rate{}
			if len(a.Curve) > 0 {
				last = a.Curve[len(a.Curve)-1]
			}
			area += float64(at.FalsePositives-last.FalsePositives) * float64(at.TruePositives+last.TruePositives) / 2
			at.Threshold = &v
			a.Curve = append(a.Curve, at)
		}
	}
	a.AUC = area / (float64(in) * float64(out))
	a.AUCLow, a.AUCHigh = hoeffding(a.AUC, min(in, out), level/2)
	for _, most := range []float64{0.01, 0.001} {
		r := Rate{}
		for _, c := range a.Curve {
			if float64(c.FalsePositives) <= most*float64(out) {
				r = c
			}
		}
		r.MaxFPR = most
		r.measure(in, out, level)
		a.Rates = append(a.Rates, r)
	}
	for i := range a.Curve {
		c := &a.Curve[i]
		c.FPR, c.TPR = float64(c.FalsePositives)/float64(out), float64(c.TruePositives)/float64(in)
	}
	return a
}

// measure computes the rates and their Clopper-Pearson intervals.
func (r *Rate) measure(in, out int, level float64) {
	r.FPR, r.TPR = float64(r.FalsePositives)/float64(out), float64(r.TruePositives)/float64(in)
	r.FPRLow, r.FPRHigh = ClopperPearson(r.FalsePositives, out, level/2)
	r.TPRLow, r.TPRHigh = ClopperPearson(r.TruePositives, in, level/2)
}

// hoeffding returns an interval for the mean of an average over pairs of a member and another canary, of
// values in [0, 1]. k is the smaller number of both. Each end is wrong with a probability of at most level.
//
// The average over all pairs is an average, over assignments, of averages of k independent pairs. By
// convexity its tails have the Chernoff bound exp(-k·KL(mean, p)) of k independent values (Hoeffding,
// "Probability inequalities for sums of bounded random variables", 1963, Section 5).
func hoeffding(mean float64, k int, level float64) (low, high float64) {
	excess := func(p float64) float64 { return float64(k)*divergence(mean, p) + math.Log(level) }
	const tolerance = 1e-12
	high = 1.0
	if mean < 1 && excess(math.Nextafter(1, 0)) > 0 {
		if p, err := root.Find(excess, mean, math.Nextafter(1, 0), tolerance); err == nil {
			high = min(1, p*(1+2*tolerance))
		}
	}
	if mean > 0 && excess(math.SmallestNonzeroFloat64) > 0 {
		if p, err := root.Find(excess, math.SmallestNonzeroFloat64, mean, tolerance); err == nil {
			low = p * (1 - 2*tolerance)
		}
	}
	return low, high
}

// divergence returns the Kullback-Leibler divergence of coins with probabilities a and p in (0, 1).
func divergence(a, p float64) float64 {
	d := 0.0
	if a > 0 {
		d += a * (math.Log(a) - math.Log(p))
	}
	if a < 1 {
		d += (1 - a) * (math.Log1p(-a) - math.Log1p(-p))
	}
	return d
}

func (a Attack) write(w io.Writer, percent string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "attack\tvalue\t%s interval\n", percent)
	for _, r := range a.Rates {
		fmt.Fprintf(t, "TPR at FPR ≤ %s %%\t%.4f\t[%s, %s]\t%s\n", decimal.Exactly(100*r.MaxFPR), r.TPR,
			decimal.FixedDown(r.TPRLow, 4), decimal.FixedUp(r.TPRHigh, 4), fmt.Sprintf("%s; FPR in [%s, %s]",
				decimal.Many(r.FalsePositives, "false positive"), decimal.FixedDown(r.FPRLow, 4), decimal.FixedUp(r.FPRHigh, 4)))
	}
	fmt.Fprintf(t, "AUC\t%.4f\t[%s, %s]\n", a.AUC, decimal.FixedDown(a.AUCLow, 4), decimal.FixedUp(a.AUCHigh, 4))
	t.Flush() // to a buffer
	fmt.Fprintf(w, "\nThe intervals hold if the scores of different canaries are independent.\n")
	if a.AUC < 0.5 {
		fmt.Fprintf(w, "Members have lower scores here. If a score is a loss, negate it: a higher score must say member.\n")
	}
}
