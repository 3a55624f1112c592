package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/internal/strictjson"
	"proactivedp/sim"
	"proactivedp/sim/clock"
	"proactivedp/train"
)

// cellSpec has the settings of a cell that an Of function made. As JSON, it is the spec of a [Job], and a part of the
// cell's key.
type cellSpec struct {
	Kind   string       `json:"kind"`
	Train  *train.Spec  `json:"train,omitempty"`
	Spec   *UtilitySpec `json:"spec,omitempty"` // of a utility graph, instead of Train
	Data   string       `json:"data_sha256"`
	Points int          `json:"points,omitempty"` // of a curve
	Looks  int          `json:"looks,omitempty"`  // of a timed cell
	Rounds int          `json:"rounds,omitempty"` // of a window: how many rounds of each client are shown
	// Machine is the machine of a real clock, so that other machines do not use its times. It is "" for the virtual
	// clock, which is the same on all machines.
	Machine string `json:"machine,omitempty"`
}

// training returns the training of the cell.
func (s cellSpec) training() train.Spec {
	if s.Spec != nil {
		return s.Spec.Train
	}
	return *s.Train
}

// maxViews bounds the number of measurements of a training.
const maxViews = 1 << 20

// checkViews returns an error if the cell's number of measurements is out of range.
func (s cellSpec) checkViews() error {
	for _, of := range []struct {
		kind, name string
		n          int
	}{{"curve", "points", s.Points}, {"timed", "looks", s.Looks}, {"window", "rounds", s.Rounds}} {
		if s.Kind == of.kind {
			return dp.CheckCount(of.name, of.n, 1, maxViews)
		}
	}
	return nil
}

// checked returns the cell. If its number of measurements is out of range, the cell fails.
func (c Cell) checked() Cell {
	if err := c.Spec.(cellSpec).checkViews(); err != nil {
		c.Cost = func(int) (train.Cost, error) { return train.Cost{}, err }
		c.Run = func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) { return nil, err }
	}
	return c
}

// readSpec reads the spec of a job.
func readSpec(text json.RawMessage) (cellSpec, error) {
	var s cellSpec
	if err := strictjson.Decode(text, &s); err != nil {
		return s, fmt.Errorf("job: %w", err)
	}
	switch s.Kind {
	case "trial", "curve", "timed", "window", "utility":
	default:
		return s, fmt.Errorf("job: a cell of kind %q must be computed by the process that needs it", s.Kind)
	}
	if utility := s.Kind == "utility"; utility != (s.Spec != nil) || utility == (s.Train != nil) {
		return s, fmt.Errorf("job: a cell of kind %q must have the spec of a utility graph or a training, and not both", s.Kind)
	}
	return s, errors.Join(s.checkViews(), checkFiles(s.training()))
}

// checkFiles returns an error if the training reads an additional file: a trace for its clock, or initial
// weights. Another process must not decide which files are read here.
func checkFiles(s train.Spec) error {
	if s.Initial != "" {
		return fmt.Errorf("job: initial = %q is a file, which must be read by the process that needs the cell", s.Initial)
	}
	for _, text := range []string{s.Compute, s.Latency} {
		if d, err := clock.ParseDuration(text); err == nil && d.Kind == clock.Traced {
			return fmt.Errorf("job: %s is a file, which must be read by the process that needs the cell", text)
		}
	}
	return nil
}
