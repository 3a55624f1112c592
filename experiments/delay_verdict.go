package experiments

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// DefaultMargin is the default of [DelaySpec].Margin: the largest loss of accuracy, compared with synchronous
// training, that a permissible delay may cause.
const DefaultMargin = 0.01

// verdictConfidence is the confidence of each judgement of a verdict, one-sided.
const verdictConfidence = 0.95

// mostSeedsAdvised is the largest number of seeds that a verdict advises.
const mostSeedsAdvised = 200

// DelayVerdict says which permissible delays keep the accuracy of synchronous training. For each delay and seed, the
// verdict uses the difference between the final accuracy with this delay and the final accuracy of the synchronous
// run. It tests whether the mean difference over seeds is below -Margin, with one-sided limits of Student's t
// distribution, which assumes that the differences are about normally distributed.
type DelayVerdict struct {
	Text       string  `json:"text"`
	Margin     float64 `json:"margin"`     // largest loss of accuracy that is accepted, see [DelaySpec].Margin
	Confidence float64 `json:"confidence"` // confidence with which one delay is put into Keeps or Loses

	Keeps []string `json:"keeps"` // delays that lose at most Margin of accuracy
	Loses []string `json:"loses"` // delays that lose more than Margin, or with which a training diverged
	// Undecided are the delays for which there are too few seeds to decide. If the synchronous training diverged or
	// is no better than always predicting the same class, all delays are undecided, and the following fields are
	// empty.
	Undecided []string `json:"undecided"`

	// Affordable is the delay of Keeps with the largest mean staleness (rounds by which models are out of date): the
	// loosest delay that keeps the accuracy. It is "" if Keeps is empty.
	Affordable string `json:"affordable"`
	// Fastest is the delay of Keeps (those that lose at most Margin) that first reaches the target accuracy (about the
	// final accuracy of the synchronous run, see [Summary]). SpeedUp is the time of the synchronous run to the target
	// divided by the time of Fastest. They are "" and nil if no delay of Keeps is faster than the synchronous run.
	Fastest string   `json:"fastest"`
	SpeedUp *float64 `json:"speed_up"`
	// Resolution is a loss of accuracy: with this number of seeds, a mean loss above it can be told from 0, whichever
	// delay it is. Delays with which a training diverged are left out. It is nil with one seed.
	Resolution *float64 `json:"resolution"`
	// SeedsAdvised is the number of seeds to run in order to decide the delays in Undecided, estimated from the
	// spread over seeds. It is 0 if Undecided is empty, or if more than 200 seeds would be needed.
	SeedsAdvised int `json:"seeds_advised,omitempty"`
}

// verdict judges the delays of a comparison whose first series is synchronous. baseline is the
// accuracy, or the metric, of always predicting the same class.
func (c *comparison) verdict(margin, baseline float64) DelayVerdict {
	v := DelayVerdict{Margin: margin, Confidence: verdictConfidence, Keeps: []string{}, Loses: []string{},
		Undecided: []string{}}
	all, seeds := c.summaries(), len(c.goal)
	base := all[0]
	if base.Diverged > 0 || base.Accuracy <= baseline {
		for _, s := range all[1:] {
			v.Undecided = append(v.Undecided, s.Delay)
		}
		if base.Diverged > 0 {
			v.Text = fmt.Sprintf("No verdict: the synchronous run diverged with %d of %s. Choose a smaller step size.",
				base.Diverged, seedsText(seeds))
			return v
		}
		v.Text = fmt.Sprintf("No verdict: the synchronous run does not beat always predicting the same class "+
			"(%.4f). Choose settings with which it learns.", baseline)
		return v
	}
	var lost []string    // with how much
	var unclear []string // with the mean loss
	widest, spread := 0.0, 0.0
	stale, sooner := math.Inf(-1), 1.0
	for i, s := range all[1:] {
		mean, sd := report.Spread(c.differences(i + 1))
		half := halfWidth(sd, seeds)
		if s.Diverged == 0 {
			widest = max(widest, half)
		}
		switch {
		case s.Diverged > 0:
			lost = append(lost, fmt.Sprintf("%s (diverged with %d of %s)", s.Delay, s.Diverged, seedsText(seeds)))
			v.Loses = append(v.Loses, s.Delay)
		case mean-half >= -margin:
			v.Keeps = append(v.Keeps, s.Delay)
			if s.MeanLag > stale {
				stale, v.Affordable = s.MeanLag, s.Delay
			}
			if s.SpeedUp != nil && *s.SpeedUp > sooner {
				sooner, v.Fastest, v.SpeedUp = *s.SpeedUp, s.Delay, s.SpeedUp
			}
		case mean+half < -margin:
			lost = append(lost, fmt.Sprintf("%s (%.4f)", s.Delay, -mean))
			v.Loses = append(v.Loses, s.Delay)
		default:
			unclear = append(unclear, fmt.Sprintf("%s (%s on average)", s.Delay, onAverage(mean)))
			v.Undecided, spread = append(v.Undecided, s.Delay), max(spread, sd)
		}
	}
	if seeds > 1 {
		v.Resolution = &widest
	}
	if len(v.Undecided) > 0 {
		v.SeedsAdvised = seedsFor(spread, margin, seeds)
	}
	v.Text = v.words(c.all[0].spec.MetricName(), lost, unclear, seeds)
	return v
}

// differences returns the differences of series i from the first, by seed.
func (c *comparison) differences(i int) []float64 {
	out := finals(c.runs[i])
	for seed, base := range finals(c.runs[0]) {
		out[seed] -= base
	}
	return out
}

// halfWidth returns the distance from the mean of n values with the standard deviation sd to its
// one-sided confidence limit. It is infinite for one value.
func halfWidth(sd float64, n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(verdictConfidence) * sd / math.Sqrt(float64(n))
}

// seedsFor returns the least number of seeds, above n, that shows a loss of margin if values have the
// standard deviation sd. It returns 0 if that takes more than mostSeedsAdvised. One value has no
// standard deviation, so that the advice after one seed is 5.
func seedsFor(sd, margin float64, n int) int {
	if n < 2 {
		return 5
	}
	for more := n + 1; more <= mostSeedsAdvised; more++ {
		if halfWidth(sd, more) <= margin {
			return more
		}
	}
	return 0
}

// words returns the verdict on a metric as text. lost and unclear are v.Loses and v.Undecided with their losses.
func (v DelayVerdict) words(metric string, lost, unclear []string, seeds int) string {
	delays := len(v.Keeps) + len(lost) + len(unclear)
	within := fmt.Sprintf("within %g of the synchronous run", v.Margin)
	var text []string
	switch {
	case delays == 0:
		return "No verdict: only the synchronous delay was run. List others in --delays."
	case len(v.Keeps) == delays:
		text = append(text, "You can afford every delay tried: their "+metric+" stays "+within+".")
	case len(v.Keeps) > 0:
		text = append(text, fmt.Sprintf("You can afford delay %s: the %s stays %s.", v.Affordable, metric, within))
	case len(lost) == delays:
		text = append(text, "You can afford none of these delays.")
	default:
		text = append(text, "No delay is shown to keep the "+metric+" "+within+".")
	}
	if v.Fastest != "" {
		text = append(text, fmt.Sprintf("Delay %s reaches the target first, %.1f times sooner.", v.Fastest, *v.SpeedUp))
	}
	if len(lost) > 0 {
		text = append(text, fmt.Sprintf("More than %g is lost with delay %s.", v.Margin, strings.Join(lost, ", ")))
	}
	if len(unclear) > 0 {
		text = append(text, fmt.Sprintf("Undecided: delay %s.", strings.Join(unclear, ", ")))
	}
	if v.Resolution != nil && (*v.Resolution > 0 || len(v.Undecided) > 0) {
		text = append(text, fmt.Sprintf("With %s, losses below %s cannot be seen.", seedsText(seeds),
			decimal.Up(*v.Resolution, 2)))
	}
	switch {
	case len(v.Undecided) == 0:
	case v.SeedsAdvised > 0:
		text = append(text, fmt.Sprintf("Try --seeds %d.", v.SeedsAdvised))
	default:
		text = append(text, fmt.Sprintf("More than %d seeds would be needed; allow more by --margin.", mostSeedsAdvised))
	}
	return strings.Join(text, " ")
}

// onAverage says how the mean accuracy of a delay compares with the synchronous run, which is lower by difference.
func onAverage(difference float64) string {
	text := fmt.Sprintf("%.4f", math.Abs(difference))
	switch {
	case text == "0.0000":
		return "equal"
	case difference > 0:
		return text + " higher"
	}
	return text + " lower"
}
