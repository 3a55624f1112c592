package privacy

import (
	"fmt"
	"io"

	"proactivedp/audit"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
)

// drawROC draws the ROC curve of an attack by scores as a PNG. Its axes are logarithmic, because
// attacks with few false positives matter most. Points without a false or a true positive cannot be
// drawn.
func drawROC(w io.Writer, r *audit.ScoresReport) error {
	members, others := float64(r.Members), float64(r.Canaries-r.Members)
	curve := plots.Line{Name: "attack"}
	guess := plots.Line{Name: "guessing", Emphasise: true}
	p := plots.Picture{
		Title: "ROC curve of the attack", XLabel: "false-positive rate", YLabel: "true-positive rate",
		Caption: fmt.Sprintf("%d canaries, %s. TPR with %.10g %% intervals, which hold if the scores of canaries are independent. "+
			"ε at least %s at δ = %s (%s adjacency).", r.Canaries, decimal.Many(r.Members, "member"), 100*r.Confidence,
			decimal.Down(r.EpsilonLowerBound, 4), decimal.Exactly(r.Delta), r.Adjacency),
		Logarithmic: true, YMin: min(1/members, 1/others), YMax: 1,
	}
	last := 0.0
	for i, c := range r.Attack.Curve {
		const step = 1.02 // points closer together cannot be distinguished
		if c.FPR == 0 || c.TPR == 0 || c.FPR < step*last && i+1 < len(r.Attack.Curve) {
			continue
		}
		last = c.FPR
		low, high := audit.ClopperPearson(c.TruePositives, r.Members, (1-r.Confidence)/2)
		curve.Add(c.FPR, c.TPR, max(low, p.YMin), high)
		guess.Add(c.FPR, c.FPR, c.FPR, c.FPR)
	}
	p.Lines = []plots.Line{curve, guess}
	return p.WritePNG(w)
}
