package verdict

import (
	"fmt"
	"strings"

	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// unknown begins the reason of what has none that was found.
const unknown = "reason unknown; "

// explain says why a statement does not hold, by the experiments that were made.
func (f *Finding) explain() {
	if f.Synthetic {
		f.Verdict, f.Why = Undecided, "run on a synthetic stand-in"
		return
	}
	if f.Scale < 1 {
		f.Verdict = Undecided
		f.Why = fmt.Sprintf("run with %g of the paper's K", f.Scale)
		return
	}
	if f.Verdict != NotReproduced {
		return
	}
	switch {
	case f.Quantity == paper.Kept && strings.HasPrefix(f.Figure, "mnist"):
		noise := f.Clip.Value() * f.Sigma.Value()
		f.Why = fmt.Sprintf("noise of Cσ = %s on every coordinate is too much for this w*: the paper's had larger "+
			"weights, or its noise was scaled by the step size; which is not said",
			report.Fixed(noise, 3))
	case f.Quantity == paper.Kept && strings.HasPrefix(f.Figure, "mushrooms"):
		f.Why = unknown + "without the ridge penalty more is kept (mushrooms-logreg-plain-utility), as its w* is " +
			"larger: how long w* was trained decides it, which the paper does not say of this data set"
	case f.Quantity == paper.Kept:
		f.Why = "the norm of w* decides it: without the ridge penalty (phishing-logreg-plain-utility) it is kept; " +
			"how long w* was trained for this curve is known only from a file name"
	case f.Quantity == paper.Accuracy && f.Claim.Epsilon == "":
		f.Why = "the training without noise ends too early: w* of the utility graph, which is trained longer, " +
			"comes nearer"
	default:
		f.Why = unknown + "see the budget figure of the data set, with step sizes chosen for each budget"
	}
}
