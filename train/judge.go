package train

import (
	"fmt"
	"io"
	"math"

	"proactivedp/data"
	"proactivedp/models"
)

// Judge returns a function that gives the accuracy of parameters on p.Test.
func (p *Prepared) Judge() func(params []float32) float64 { return p.JudgeOn(p.Test) }

// JudgeOn returns a function that gives the accuracy of parameters on rows of p's data.
func (p *Prepared) JudgeOn(rows data.Subset) func(params []float32) float64 {
	scratch := p.Config.Model.NewScratch()
	labels := make([]int32, rows.Len())
	return func(params []float32) float64 {
		return models.Accuracy(p.Config.Model, params, rows.All(), scratch, labels)
	}
}

// JudgedOn says which records the accuracy is of, in words.
func (s Spec) JudgedOn() string {
	if s.Holdout > 0 {
		return "held-out training rows"
	}
	return "test set"
}

// Judgement is what an accuracy has to be seen beside: where one class is frequent, a
// model that has learnt nothing is right as often. Like the accuracy it is about the
// rows that judge, which the ε of the training does not cover.
type Judgement struct {
	MajorityShare float64  `json:"majority_share"` // the accuracy of guessing the most frequent class of these rows
	BeatsMajority bool     `json:"beats_majority"`
	Loss          *float64 `json:"test_loss"` // the mean objective, any penalty included; null if it is not finite
	AUC           *float64 `json:"auc"`       // see models.AUC; null where there is none, as of more than two classes
}

// judgement judges parameters of which the accuracy is known.
func (p *Prepared) judgement(params []float32, accuracy float64) Judgement {
	share := p.Test.MajorityShare()
	j := Judgement{MajorityShare: share, BeatsMajority: accuracy > share}
	m, scratch := p.Config.Model, p.Config.Model.NewScratch()
	if loss := m.Loss(params, p.Test.All(), scratch); !math.IsInf(loss, 0) && !math.IsNaN(loss) {
		j.Loss = &loss
	}
	if area, ok := models.AUC(m, params, p.Test.All(), scratch); ok {
		j.AUC = &area
	}
	return j
}

// MajorityWarning is said of a model that is no better than guessing.
const MajorityWarning = "the model does NOT beat guessing the majority class: its accuracy shows nothing"

// writeText writes the judgement below the accuracy.
func (j Judgement) writeText(w io.Writer) error {
	loss, area := "not finite", "no AUC (it is of two classes)"
	if j.Loss != nil {
		loss = fmt.Sprintf("%.4f", *j.Loss)
	}
	if j.AUC != nil {
		area = fmt.Sprintf("AUC %.4f", *j.AUC)
	}
	if _, err := fmt.Fprintf(w, "beside it       %.4f by guessing the majority class; loss %s, %s\n", j.MajorityShare,
		loss, area); err != nil {
		return err
	}
	if j.BeatsMajority {
		return nil
	}
	_, err := fmt.Fprintf(w, "WARNING         %s\n", MajorityWarning)
	return err
}
