package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// Timed is the accuracy of a run at several times of its clock. Use it to see how long a training takes to reach an
// accuracy. Evaluation j, from 0 to looks (the argument of [OfTimed]), is of the server's model when it contains the
// fraction j/looks of all updates of the clients. So the same number of updates lies between consecutive evaluations,
// but not the same time.
type Timed struct {
	Rounds   int        `json:"rounds"`    // rounds of each client
	TestRows int        `json:"test_rows"` // how many rows the model is evaluated on
	Clock    sim.Time   `json:"clock"`     // time on the clock at the end of the run
	At       []sim.Time `json:"at"`        // time of each evaluation
	Accuracy []float64  `json:"accuracy"`
	Diverged bool       `json:"diverged,omitempty"` // whether the run diverged; accuracies after that are 0
	// Staleness has the number of rounds, of all clients, for each lag: i − k for round i of a client whose newest
	// global model had the number k.
	Staleness sim.Staleness `json:"staleness"`
	Busy      []sim.Time    `json:"busy"`             // time that each client spent computing
	Absent    []sim.Time    `json:"absent,omitempty"` // time that each client was away; nil if no client leaves
	Done      []sim.Time    `json:"done"`             // when each client's last round ended
	Paid      *Paid         `json:"paid,omitempty"`   // what an adaptive run released and cost; nil for other runs
}

// OfTimed returns the cell whose result is a [Timed] of a training of spec on source, on a virtual or real clock. The
// model is evaluated looks+1 times: at the start, and each time another fraction 1/looks of all updates has arrived.
func OfTimed(spec train.Spec, looks int, source *train.Source) Cell {
	c := clockCellOf(cellSpec{Kind: "timed", Train: &spec, Looks: looks}, source)
	c.Cost = func(workers int) (train.Cost, error) {
		p, err := source.Prepare(spec)
		if err != nil {
			return train.Cost{}, err
		}
		c := p.Cost(looks+1, workers)
		if spec.Runner == train.HogwildRunner {
			c.Memory += int64(looks+1) * 4 * int64(p.Config.Model.NumParams()) // all copies are evaluated at the end
		}
		return c, nil
	}
	c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), _ train.Keep) (any, error) {
		p, err := source.Prepare(spec)
		if err != nil {
			return nil, err
		}
		if spec.Runner == train.HogwildRunner {
			return runOnRealClock(ctx, p, looks, progress)
		}
		return runTimed(ctx, p, perf, looks, progress)
	}
	c.Check = func(text json.RawMessage) error {
		t, err := Decode[Timed](text)
		if err == nil && (len(t.At) != looks+1 || len(t.Accuracy) != looks+1) {
			err = fmt.Errorf("finished cell: %d and %d looks, must be %d", len(t.At), len(t.Accuracy),
				looks+1)
		}
		return err
	}
	return c.checked()
}

// runTimed trains on the virtual clock and evaluates the model during the run.
func runTimed(ctx context.Context, p *train.Prepared, perf sim.Perf, looks int,
	progress func(part float64)) (*Timed, error) {
	v, err := sim.NewVirtual(p.Config, perf, p.Progress(progress))
	if err != nil {
		return nil, err
	}
	run := p.Config.Run()
	t := &Timed{Rounds: run.Rounds, TestRows: p.Test.Len(), Done: make([]sim.Time, p.Config.Clients())}
	v.Record(func(h sim.Happening) {
		if h.Kind == sim.RoundEnds {
			t.Done[h.Client] = h.At
		}
	})
	judge := p.Judge()
	updates := int64(run.Rounds) * int64(p.Config.Clients())
	// Looks happen between events. They never stop the run.
	look := func() bool {
		due := func() bool {
			j := len(t.At)
			return j <= looks && int64(v.Updates()) >= int64(j)*updates/int64(looks)
		}
		if !due() {
			return false
		}
		for accuracy := judge(v.Model()); due(); {
			t.At, t.Accuracy = append(t.At, v.Now()), append(t.Accuracy, accuracy)
		}
		return false
	}
	_, err = v.RunUntil(ctx, look)
	var result *sim.Result
	if err == nil {
		look()
		result, err = v.Run(ctx)
	}
	if errors.Is(err, models.ErrDiverged) {
		t.diverge(looks, v.Now())
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.Clock, t.Staleness, t.Busy = result.Clock, result.Staleness, result.Busy
	if slices.Max(result.Absent) > 0 {
		t.Absent = result.Absent
	}
	if p.Config.Adapt != 0 {
		if t.Paid, err = paidFor(ctx, p, result); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// diverge sets the remaining looks of a run that diverged at the time now: their accuracy is 0.
func (t *Timed) diverge(looks int, now sim.Time) {
	t.Diverged, t.Clock, t.Staleness, t.Busy, t.Done = true, now, nil, nil, nil
	for len(t.At) <= looks {
		t.At, t.Accuracy = append(t.At, now), append(t.Accuracy, 0)
	}
	t.Accuracy[looks] = 0
}

// Waiting returns the fraction of its time, in [0, 1], that a client spent waiting for the server: neither in a round
// nor away. Its time is that from the start to the end of its last round. client is its number, from 0. For a run
// that diverged, Waiting returns 0.
func (t *Timed) Waiting(client int) float64 {
	if t.Diverged || t.Done[client] == 0 {
		return 0
	}
	took := t.Busy[client]
	if t.Absent != nil {
		took += t.Absent[client]
	}
	return 1 - float64(took)/float64(t.Done[client])
}

// Idle returns the fraction of their time, in [0, 1], that clients spent waiting for the server: the mean of
// [Timed.Waiting] over all clients.
func (t *Timed) Idle() float64 {
	sum := 0.0
	for client := range t.Busy {
		sum += t.Waiting(client) / float64(len(t.Busy))
	}
	return sum
}

// Lag returns the mean and the largest lag of the rounds of all clients. The lag of a round is i − k, where i is the
// number of the round, and k that of the newest global model that the client had received.
func (t *Timed) Lag() (mean float64, most int) {
	rounds, sum := 0, 0
	for lag, n := range t.Staleness {
		if n > 0 {
			rounds, sum, most = rounds+n, sum+n*lag, lag
		}
	}
	return float64(sum) / float64(max(rounds, 1)), most
}

// AccuracyAt returns the accuracy of the last evaluation at or before the time now on the run's clock. Use it to
// compare runs at the same time.
func (t *Timed) AccuracyAt(now sim.Time) float64 {
	accuracy := t.Accuracy[0]
	for j, at := range t.At {
		if at > now {
			break
		}
		accuracy = t.Accuracy[j]
	}
	return accuracy
}

// Reaches returns the time on the run's clock of the first evaluation with an accuracy of at least target. It returns
// false if no evaluation has such an accuracy, or if the run diverged.
func (t *Timed) Reaches(target float64) (sim.Time, bool) {
	if t.Diverged {
		return 0, false
	}
	for j, accuracy := range t.Accuracy {
		if accuracy >= target {
			return t.At[j], true
		}
	}
	return 0, false
}
