package train

import (
	"fmt"
	"io"
	"math"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/models"
)

// Judge returns a function that computes the accuracy of a model on p.Test.
func (p *Prepared) Judge() func(params []float32) float64 { return p.JudgeOn(p.Test) }

// JudgeOn returns a function that computes the accuracy of a model on rows of p's data.
func (p *Prepared) JudgeOn(rows data.Subset) func(params []float32) float64 {
	scratch := p.Config.Model.NewScratch()
	labels := make([]int32, rows.Len())
	return func(params []float32) float64 {
		return models.Accuracy(p.Config.Model, params, rows.All(), scratch, labels)
	}
}

// JudgedOn describes the records on which the accuracy is computed.
func (s Spec) JudgedOn() string {
	if s.Holdout > 0 {
		return "held-out training rows"
	}
	return "test set"
}

// JudgedRows describes the rows on which an accuracy is computed. If few of them are distinct, the
// accuracy is not reliable: [data.SplitByRecord] puts all copies of a record on one side, so another
// seed can give a very different accuracy.
type JudgedRows struct {
	TestRows     int `json:"test_rows"`
	DistinctRows int `json:"distinct_rows"` // number of distinct records among them
	MostCopies   int `json:"most_copies"`   // number of copies of the most frequent record
}

// RowsOf computes the JudgedRows of rows.
func RowsOf(rows data.Subset) JudgedRows {
	distinct, copies := rows.Distinct()
	return JudgedRows{rows.Len(), distinct, copies}
}

// A report warns if there are fewer distinct rows than fewDistinct, or if one record is a larger
// part than largestShare.
const (
	fewDistinct  = 200
	largestShare = 0.1
)

// Warning returns a warning if the test or held-out rows are too few or too similar, with advice.
// Otherwise it returns "".
func (r JudgedRows) Warning(heldOut bool) string {
	share := float64(r.MostCopies) / float64(r.TestRows)
	if r.TestRows == 0 || r.DistinctRows >= fewDistinct && share <= largestShare {
		return ""
	}
	of, why, larger := "test row", " and, with --split by-record, all copies of each",
		"a separate test file (--test)"
	if heldOut {
		of, why, larger = "held-out row", "", "a larger part (--holdout)"
	}
	return fmt.Sprintf("%s, %d distinct, the most frequent is %.3g %% of them: the accuracy may be very different "+
		"with another seed, which picks other records%s. Use %s, more records, or the mean over seeds (train --seeds)",
		decimal.Many(r.TestRows, of), r.DistinctRows, 100*share, why, larger)
}

// Judgement has the numbers that a reader needs to interpret an accuracy. If one class is frequent,
// a model that has learnt nothing can have a high accuracy too. Like the accuracy, these numbers
// depend on the test or held-out rows, which the ε of the training does not cover.
type Judgement struct {
	MajorityShare float64  `json:"majority_share"` // the accuracy of always predicting the most frequent class of these rows
	BeatsMajority bool     `json:"beats_majority"`
	Loss          *float64 `json:"test_loss"` // the mean objective, including any penalty; null if it is not finite
	AUC           *float64 `json:"auc"`       // see models.AUC; null if it is not defined, as for more than two classes
}

// judgement returns the Judgement of the model params, whose accuracy the caller has already
// computed.
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

// MajorityWarning is the warning about a model that is no better than predicting the most frequent
// class.
const MajorityWarning = "the model is NOT better than always predicting the most frequent class: its accuracy shows nothing"

// writeText writes the judgement as a line of a report, to follow the line with the accuracy.
func (j Judgement) writeText(w io.Writer) error {
	loss, area := "not finite", "no AUC (only two classes have one)"
	if j.Loss != nil {
		loss = fmt.Sprintf("%.4f", *j.Loss)
	}
	if j.AUC != nil {
		area = fmt.Sprintf("AUC %.4f", *j.AUC)
	}
	if _, err := fmt.Fprintf(w, "baseline        %.4f by always predicting the most frequent class; loss %s, %s\n", j.MajorityShare,
		loss, area); err != nil {
		return err
	}
	if j.BeatsMajority {
		return nil
	}
	_, err := fmt.Fprintf(w, "WARNING         %s\n", MajorityWarning)
	return err
}
