package models

import (
	"cmp"
	"math"
	"slices"

	"proactivedp/data"
)

// Scorer is a Model of two classes that can rank examples, as [AUC] needs.
type Scorer interface {
	Model
	// Scores sets scores[i] to a number that grows with the probability that example i is of class
	// 1, such as the logit.
	Scores(scores []float64, params []float32, b data.Batch, scratch Scratch)
}

// AUC returns the area under the ROC curve of a model on the batch. This is the probability that an
// example of class 1 gets a higher score than one of class 0, where a tie counts half (Mann and
// Whitney 1947). Guessing gives 0.5. Unlike accuracy, it does not grow with the share of a class.
// ok is false if there is no such area: the model is not a Scorer, the labels are all of one class
// or beyond two classes, or a score is NaN.
func AUC(m Model, params []float32, b data.Batch, scratch Scratch) (area float64, ok bool) {
	scorer, ok := m.(Scorer)
	if !ok || b.Len() == 0 || b.Data.Classes != 2 {
		return 0, false
	}
	type scored struct {
		score float64
		label int32
	}
	scores := make([]float64, b.Len())
	scorer.Scores(scores, params, b, scratch)
	all := make([]scored, b.Len())
	for i, s := range scores {
		if math.IsNaN(s) {
			return 0, false
		}
		all[i] = scored{s, b.Label(i)}
	}
	slices.SortFunc(all, func(x, y scored) int { return cmp.Compare(x.score, y.score) })
	below, ones, pairs := 0.0, 0.0, 0.0 // examples of class 0 so far, of class 1, pairs in order
	for i := 0; i < len(all); {
		var tied [2]float64
		for score := all[i].score; i < len(all) && all[i].score == score; i++ {
			tied[all[i].label]++
		}
		pairs += tied[1] * (below + tied[0]/2)
		below += tied[0]
		ones += tied[1]
	}
	if below == 0 || ones == 0 {
		return 0, false
	}
	return pairs / (below * ones), true
}
