package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// Trial is the accuracy at the end of a training, measured on the held-out rows or, if the spec holds out none, on
// the test set.
type Trial struct {
	Accuracy float64 `json:"accuracy"` // 0 if the run diverged
	Rows     int     `json:"rows"`     // how many rows the accuracy was measured on
	Diverged bool    `json:"diverged"`
}

// OfTrial returns the cell whose result is a [Trial]: the accuracy at the end of a training of spec on source.
func OfTrial(spec train.Spec, source *train.Source) Cell {
	c := cellOf(cellSpec{Kind: "trial", Train: &spec}, source)
	c.Cost = func(workers int) (train.Cost, error) { return CostOf(source, spec, 1, workers) }
	c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
		p, err := source.Prepare(spec)
		if err != nil {
			return nil, err
		}
		r, _, err := p.RunKept(ctx, perf, p.Progress(progress), keep.For(p, nil))
		if errors.Is(err, models.ErrDiverged) {
			return &Trial{Rows: p.Test.Len(), Diverged: true}, nil
		}
		if err != nil {
			return nil, err
		}
		return &Trial{Accuracy: p.Judge()(r.Model()), Rows: p.Test.Len()}, nil
	}
	c.Check = func(text json.RawMessage) error {
		t, err := Decode[Trial](text)
		if err != nil {
			return err
		}
		p, err := source.Prepare(spec)
		if err == nil && t.Rows != p.Test.Len() {
			err = fmt.Errorf("finished cell: %d rows, must be %d", t.Rows, p.Test.Len())
		}
		return err
	}
	return c
}

// each computes the cell of every spec and returns the results, in order, and the work that they took.
func each[T, S any](ctx context.Context, o Options, specs []S, of func(S) Cell) ([]T, Spent, error) {
	cells := make([]Cell, len(specs))
	for i, spec := range specs {
		cells[i] = of(spec)
	}
	texts, spent, err := Run(ctx, cells, o)
	if err != nil {
		return nil, spent, err
	}
	out, err := DecodeAll[T](texts)
	return out, spent, err
}

// Trials trains every spec on source and returns the accuracies at the end, in the order of specs, and the work that
// they took. Equal specs are trained once. Finished trainings are kept in o.Folder, so a call after an interruption
// continues.
func Trials(ctx context.Context, source *train.Source, specs []train.Spec, o Options) ([]Trial, Spent, error) {
	return each[Trial](ctx, o, specs, func(s train.Spec) Cell { return OfTrial(s, source) })
}

// Curves trains every spec on source and returns the learning curves in the order of specs, and the work that they
// took. Each curve has points+1 accuracies: one at the start, and as many later ones as points says, evenly spaced in
// the number of gradients. Finished trainings are kept in o.Folder, see [Trials].
func Curves(ctx context.Context, source *train.Source, specs []train.Spec, points int, o Options) (
	[]*Curve, Spent, error,
) {
	return each[*Curve](ctx, o, specs, func(s train.Spec) Cell { return OfCurve(s, points, source) })
}

// Utilities computes one line of a utility graph for each spec, on the data of source: the accuracies that a model,
// trained without noise, keeps when noise is added to its parameters (see [UtilitySpec]). It returns the lines in the
// order of specs, and the work that they took. Finished lines are kept in o.Folder, see [Trials].
func Utilities(ctx context.Context, source *train.Source, specs []UtilitySpec, o Options) (
	[]*Utility, Spent, error,
) {
	return each[*Utility](ctx, o, specs, func(s UtilitySpec) Cell { return OfUtility(s, source) })
}
