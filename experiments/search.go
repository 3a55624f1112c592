package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// SearchSpec is a grid search over what the paper does not give of its networks:
// the model's variant and the step size. Every point is trained with each noise
// multiplier and judged by records held out of the training set, never by the
// test set.
type SearchSpec struct {
	Train  train.Spec `json:"train"` // all that is the same in all runs; Holdout ≥ 1
	Models []string   `json:"models"`
	Eta0   []float64  `json:"eta0"`
	Beta   []float64  `json:"beta"`
	Sigmas []float64  `json:"sigmas"`
	Scale  float64    `json:"scale"` // which part of K is run, in (0, 1]
	Seeds  int        `json:"seeds"` // seeds 1 to this one are run
}

// heldOut says that a search holds out one in so many training records: of MNIST
// as many as there are test images.
const heldOut = 6

// PaperSearch returns the search for a data set of the paper's networks, over all
// models for it if none is named.
func PaperSearch(model, dataset string) SearchSpec {
	s := settingOf(model, dataset)
	spec := SearchSpec{
		Train: s.train, Models: []string{s.train.Model}, Eta0: s.eta0, Beta: s.beta,
		Sigmas: []float64{s.train.NoiseMultiplier, 0}, Scale: 1, Seeds: 1,
	}
	spec.Train.Holdout = s.paper.N / heldOut
	if model == "" && s.train.Model == mnistModel {
		spec.Models = []string{train.LeNet, train.LeNetReLU}
	}
	return spec
}

// HoldOut makes the search hold out the same part of the training rows that the
// data set has.
func (s *SearchSpec) HoldOut(d *data.Dataset) (err error) {
	s.Train.Holdout, err = HoldOut(s.Train, d)
	return err
}

// HoldOut returns how many training rows are held out where nothing is said: a sixth.
func HoldOut(s train.Spec, d *data.Dataset) (int, error) {
	train, _, err := s.SplitRows(d, rng.New(s.Seed))
	return train.Len() / heldOut, err
}

// maxRuns bounds the runs of a search.
const maxRuns = 100_000

// Validate reports every problem that shows without the data, some of them more
// than once.
func (s SearchSpec) Validate() error {
	errs := []error{checkSeeds(s.Seeds), checkScale(s.Scale), s.Train.Validate()}
	if s.Train.Holdout < 1 {
		errs = append(errs, fmt.Errorf("experiments: holdout = %d, must be at least 1: a search is never judged by "+
			"the test set", s.Train.Holdout))
	}
	runs := max(s.Seeds, 0)
	with := func(name string, n int, set func(t *train.Spec, i int)) {
		if n == 0 {
			errs = append(errs, fmt.Errorf("experiments: %s: none given, must be at least one", name))
		}
		for i := range n {
			t := s.Train
			set(&t, i)
			errs = append(errs, t.Validate())
		}
		runs = min(runs*n, maxRuns+1)
	}
	errs = append(errs, repeats("models", s.Models), repeats("eta0", s.Eta0), repeats("beta", s.Beta),
		repeats("sigmas", s.Sigmas))
	with("models", len(s.Models), func(t *train.Spec, i int) { t.Model = s.Models[i] })
	with("eta0", len(s.Eta0), func(t *train.Spec, i int) { t.Eta0 = s.Eta0[i] })
	with("beta", len(s.Beta), func(t *train.Spec, i int) { t.Beta = s.Beta[i] })
	with("sigmas", len(s.Sigmas), func(t *train.Spec, i int) { t.NoiseMultiplier = s.Sigmas[i] })
	if runs > maxRuns {
		errs = append(errs, fmt.Errorf("experiments: the search has more than %d runs, which is the most", maxRuns))
	}
	return errors.Join(errs...)
}

// repeats reports a value that a list has twice: its runs would be the same.
func repeats[T comparable](name string, list []T) error {
	seen := map[T]bool{}
	for _, v := range list {
		if seen[v] {
			return fmt.Errorf("experiments: %s: %v is listed twice", name, v)
		}
		seen[v] = true
	}
	return nil
}

// points lists the grid but for the seeds, noise multipliers outermost.
func (s SearchSpec) points() []train.Spec {
	var out []train.Spec
	for _, sigma := range s.Sigmas {
		for _, model := range s.Models {
			for _, eta0 := range s.Eta0 {
				for _, beta := range s.Beta {
					t := steps{eta0, beta, sim.Decay(s.Train.Schedule)}.of(s.Train)
					t.Model, t.NoiseMultiplier, t.GradComps = model, sigma, scaled(t.GradComps, s.Scale)
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// found is a point of a search with its trials, one a seed.
type found struct {
	spec     train.Spec
	trials   []Trial
	mean, sd float64 // of the accuracies, where a diverged run counts as 0
}

// search runs the grid.
func (s SearchSpec) search(ctx context.Context, g grid, source *train.Source) (all []found, computed int, err error) {
	var specs []train.Spec
	points := s.points()
	for _, spec := range points {
		for seed := range s.Seeds {
			spec.Seed = uint64(seed + 1)
			specs = append(specs, spec)
		}
	}
	trials, computed, err := g.trials(ctx, specs, source)
	if err != nil {
		return nil, 0, err
	}
	for i, spec := range points {
		f := found{spec: spec, trials: trials[i*s.Seeds : (i+1)*s.Seeds]}
		var accuracy []float64
		for _, t := range f.trials {
			accuracy = append(accuracy, t.Accuracy)
		}
		f.mean, f.sd = meanSD(accuracy)
		all = append(all, f)
	}
	return all, computed, nil
}

// best returns the points with this noise multiplier, the best first; of equal
// ones the first of the grid.
func best(all []found, sigma float64) []found {
	var out []found
	for _, f := range all {
		if f.spec.NoiseMultiplier == sigma {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b found) int { return cmp.Compare(b.mean, a.mean) })
	return out
}
