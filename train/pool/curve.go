package pool

import (
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/sim"
	"proactivedp/train"
)

// Curve is the learning curve of one training: the accuracy on the test or held-out rows after several numbers of
// gradients. Accuracy[j] is measured on the first global model that contains at least Target[j] gradients of every
// client. At[j] ≥ Target[j] is how many gradients of every client this model contains.
type Curve struct {
	Target   []int     `json:"target"`
	At       []int     `json:"at"`
	Accuracy []float64 `json:"accuracy"`
}

// OfCurve returns the cell whose result is a [Curve] of a training of spec on source. The curve has points+1
// evaluations: one at the start, and points later ones that are evenly spaced in the number of gradients, up to the
// end.
func OfCurve(spec train.Spec, points int, source *train.Source) Cell {
	c := cellOf(cellSpec{Kind: "curve", Train: &spec, Points: points}, source)
	c.Cost = func(workers int) (train.Cost, error) { return CostOf(source, spec, points+1, workers) }
	c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
		p, err := source.Prepare(spec)
		if err != nil {
			return nil, err
		}
		return watch(ctx, p, perf, points, progress, keep)
	}
	c.Check = func(text json.RawMessage) error {
		c, err := Decode[Curve](text)
		if err != nil {
			return err
		}
		if n := points + 1; len(c.Target) != n || len(c.At) != n || len(c.Accuracy) != n {
			return fmt.Errorf("finished cell: %d, %d and %d points, must be %d", len(c.Target),
				len(c.At), len(c.Accuracy), n)
		}
		return nil
	}
	return c.checked()
}

// watch trains and evaluates broadcasts at evenly spaced points, from 0 to the gradient computations
// of the whole run. Checkpoints also save the points so far.
func watch(ctx context.Context, p *train.Prepared, perf sim.Perf, points int, progress func(part float64),
	keep train.Keep) (*Curve, error) {
	run := p.Config.Run()
	judge := p.Judge()
	c := &Curve{}
	if keep = keep.For(p, c); keep.From == nil {
		*c = Curve{}
	}
	initial := p.Config.InitialModel()
	target := func(j int) int { return int(int64(j) * int64(run.Computed) / int64(points)) }
	next := len(c.Target)
	report := p.Progress(progress)
	show := func(b sim.Broadcast) {
		report(b)
		if next > points || b.GradComps < target(next) {
			return
		}
		accuracy := judge(b.V)
		for ; next <= points && target(next) <= b.GradComps; next++ {
			c.Target = append(c.Target, target(next))
			c.At = append(c.At, b.GradComps)
			c.Accuracy = append(c.Accuracy, accuracy)
		}
	}
	show(sim.Broadcast{V: initial})
	if _, _, err := p.RunKept(ctx, perf, show, keep); err != nil {
		return nil, err
	}
	return c, nil
}
