package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// Trial is how well one training ended, judged by the rows that its spec says.
type Trial struct {
	Accuracy float64 `json:"accuracy"` // 0 if the run diverged
	Rows     int     `json:"rows"`     // how many rows judged
	Diverged bool    `json:"diverged"`
}

type trialSpec struct {
	Kind  string     `json:"kind"`
	Train train.Spec `json:"train"`
	Data  string     `json:"data_sha256"`
}

func trialCell(spec train.Spec, source *train.Source) cell {
	return cell{
		spec:    trialSpec{Kind: "trial", Train: spec, Data: source.Hash()},
		code:    spec.CodeVersion(),
		kernels: spec.Kernels(),
		cost:    func(workers int) (train.Cost, error) { return costOf(source, spec, 1, workers) },
		run: func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
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
		},
		check: func(text json.RawMessage) error {
			t, err := decode[Trial](text)
			if err == nil && spec.Holdout > 0 && t.Rows != spec.Holdout {
				err = fmt.Errorf("experiments: finished cell: %d rows, must be %d", t.Rows, spec.Holdout)
			}
			return err
		},
	}
}

// trials runs a training of each spec and returns how they ended, in order.
func (g grid) trials(ctx context.Context, specs []train.Spec, source *train.Source) ([]Trial, int, error) {
	cells := make([]cell, len(specs))
	for i, spec := range specs {
		cells[i] = trialCell(spec, source)
	}
	return results[Trial](ctx, g, cells)
}

// results runs the cells and returns what they gave, in order, and how many were
// computed.
func results[T any](ctx context.Context, g grid, cells []cell) ([]T, int, error) {
	texts, computed, err := g.run(ctx, cells)
	if err != nil {
		return nil, 0, err
	}
	out := make([]T, len(texts))
	for i, text := range texts {
		if out[i], err = decode[T](text); err != nil {
			return nil, 0, err
		}
	}
	return out, computed, nil
}

// TrialOptions says how trainings are run that are cells by themselves.
type TrialOptions struct {
	Folder   string  // where finished ones are kept, one call at a time; "": nowhere
	Workers  int     // how many go on at the same time, if the memory allows
	Scale    float64 // which part of K the trainings run, for errors; 0 stands for 1
	Progress io.Writer
	// the most that the process may take, in bytes; 0: what the machine, control group and GOMEMLIMIT allow
	Memory int64
	// Elsewhere computes trainings in other processes; nil: they are computed here.
	Elsewhere Elsewhere
}

func (o TrialOptions) grid() grid {
	return grid{store: store{o.Folder}, workers: o.Workers, scale: o.Scale, progress: o.Progress,
		memory: o.Memory, elsewhere: o.Elsewhere}
}

// Trials trains every spec, equal ones once, and returns how they ended, in order,
// and how many were computed: those that the folder has are not. Specs are judged by
// the rows they hold out, or by the test set if they hold out none. An interrupted
// call goes on where it was.
func Trials(ctx context.Context, source *train.Source, specs []train.Spec, o TrialOptions) ([]Trial, int, error) {
	return o.grid().trials(ctx, specs, source)
}

// Curves is [Trials] for learning curves of so many points after the first.
func Curves(ctx context.Context, source *train.Source, specs []train.Spec, points int, o TrialOptions) (
	[]*Curve, int, error,
) {
	cells := make([]cell, len(specs))
	for i, spec := range specs {
		cells[i] = curveCell(spec, points, source)
	}
	return results[*Curve](ctx, o.grid(), cells)
}

// Utilities is [Trials] for lines of utility graphs.
func Utilities(ctx context.Context, source *train.Source, specs []UtilitySpec, o TrialOptions) (
	[]*Utility, int, error,
) {
	cells := make([]cell, len(specs))
	for i, spec := range specs {
		cells[i] = utilityCell(spec, source)
	}
	return results[*Utility](ctx, o.grid(), cells)
}
