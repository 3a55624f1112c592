package propose

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"proactivedp/sim"
	"proactivedp/train"
)

// Grid lists values for each part of a setting. Every combination of these values is one setting, see
// [Study.Settings].
type Grid struct {
	Rounds []int `json:"rounds"` // numbers of rounds, those of all clients together
	// Noise lists approximate noise multipliers. The batch size of a setting is the one that allows this noise within
	// the budget, rounded to a whole number. The setting then has the least noise for the rounded size.
	Noise []float64 `json:"noise"`
	Clips []float64 `json:"clips"` // clipping norms
	// Walks determine the initial step sizes. A walk is a distance: how far a training would move the model's d
	// parameters (Euclidean norm) if gradients were 0, so that there were only noise, and step sizes fell linearly to
	// 0. It gives the step size walk/(Cσ√(T·d/3)) for clipping norm C, noise multiplier σ and T rounds of all clients.
	// So with the same walk, all settings let the noise move the model equally far.
	Walks     []float64 `json:"walks"`
	Schedules []string  `json:"schedules"` // schedules of step sizes, see train.Spec.Schedule
	Averages  []string  `json:"averages"`  // averages of models, see train.Spec.Average
}

// Validate returns an error that names every list without a value, because the grid then has no settings.
func (g Grid) Validate() error {
	var errs []error
	for _, l := range []struct {
		name   string
		length int
	}{{"rounds", len(g.Rounds)}, {"noise", len(g.Noise)}, {"clips", len(g.Clips)}, {"walks", len(g.Walks)},
		{"schedules", len(g.Schedules)}, {"averages", len(g.Averages)}} {
		if l.length == 0 {
			errs = append(errs, fmt.Errorf("%s: none, must be at least one", l.name))
		}
	}
	return errors.Join(errs...)
}

// Study is for measuring how good the predictions of this package are: it predicts the accuracy of any settings by
// proxies (cheaper trainings), and says which full trainings to compare with. Its methods are parts of the search
// behind [Propose]. Make a Study with [NewStudy].
type Study struct{ s *searcher }

// errNoStudy is the error for a Study that NewStudy did not make.
var errNoStudy = errors.New("this Study was not made by NewStudy")

// NewStudy returns a [Study] of settings that all have r.Base in common. Its proxies are cheaper trainings with
// almost no noise, on the data themselves, so use a Study only for public data. Confirm that by setting o.Probing to
// [Own]: every other value is an error.
func NewStudy(r Request, o Options) (Study, error) {
	if err := errors.Join(r.Validate(), o.checkProbing(Own)); err != nil {
		return Study{}, err
	}
	s, err := newSearcher(r, o)
	return Study{s}, err
}

// Settings returns the combinations of the grid as settings that cost a record at most epsilon, with the fewest
// gradients first. The batch size of each setting follows from epsilon, the noise multiplier and the number of
// rounds. Combinations for which epsilon does not even allow batches of one record are left out; if none is left, the
// error is an [*Infeasible].
func (t Study) Settings(ctx context.Context, epsilon float64, g Grid) ([]train.Spec, error) {
	if t.s == nil {
		return nil, errNoStudy
	}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	var kinds []kind
	for _, rounds := range g.Rounds {
		for _, noise := range g.Noise {
			kinds = append(kinds, kind{max(1, rounds/t.s.base.Clients), noise})
		}
	}
	outlays, err := t.s.outlays(ctx, epsilon, kinds)
	if err != nil {
		return nil, err
	}
	var all []train.Spec
	for _, l := range outlays {
		for _, clip := range g.Clips {
			for _, walk := range g.Walks {
				for _, schedule := range g.Schedules {
					for _, average := range g.Averages {
						v := variant{t.s.base.FeatureMap, t.s.base.InputScale, sim.Decay(schedule), average}
						all = append(all, t.s.candidate(l, stride{clip, walk}, v).spec)
					}
				}
			}
		}
	}
	return all, nil
}

// Predicted is a setting of a [Study] with the accuracy that its proxies (cheaper trainings) predict.
type Predicted struct {
	Setting train.Spec
	Prediction
	Proxy float64 // batch size of its proxies, as a fraction of the setting's batch size
}

// Predict predicts the accuracy of settings by proxies (cheaper trainings), with r.Seeds seeds for each setting,
// where r is the request of the study. The settings must come from [Study.Settings].
func (t Study) Predict(ctx context.Context, settings []train.Spec) ([]Predicted, error) {
	if t.s == nil {
		return nil, errNoStudy
	}
	if len(settings) == 0 {
		return nil, errors.New("no settings, must be at least one")
	}
	all := make([]*candidate, len(settings))
	for i, spec := range settings {
		size, err := strconv.Atoi(spec.SampleSize)
		if err != nil {
			return nil, fmt.Errorf("sample size = %q, must be constant", spec.SampleSize)
		}
		all[i] = &candidate{spec: spec, outlay: outlay{size: size}}
	}
	if err := t.s.try(ctx, all, t.s.Seeds, 1); err != nil {
		return nil, err
	}
	spread := t.s.spread(all)
	out := make([]Predicted, len(all))
	for i, c := range all {
		out[i] = Predicted{c.spec, t.s.prediction(c, spread), c.fraction}
	}
	return out, nil
}

// HeldOut returns the spec of a full training to compare with the prediction for a setting from [Study.Settings]. The
// spec measures the accuracy on held-out training rows, as the proxies (cheaper trainings that predict it) do. seed,
// from 0 on, selects these rows: the proxies of [Study.Predict] use the same rows for the same seed. HeldOut panics
// if [NewStudy] did not make t.
func (t Study) HeldOut(setting train.Spec, seed int) train.Spec { return t.s.probeOf(setting, seed) }
