// This file searches a grid for settings that the paper leaves open: the variant of the model, the clipping norm and
// the step size (η₀ and β). Each training is judged by records held out of the training set.
//
//	spec := experiments.PaperSearch("", "mnist")
//	…
//	report, err := experiments.Search(ctx, spec, source, experiments.SearchOptions{Out: dir})

package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// SearchSpec describes a grid search for settings that the paper does not give: the variant of a network, the
// clipping norm and the step size. Every combination in the grid is trained with each noise multiplier in Sigmas. In
// place of a training with noise, a proxy runs: a cheaper training with about the same accuracy. Combinations are
// ranked by their accuracy on training records that were held out, never by the test set.
type SearchSpec struct {
	// Train has the settings of all trainings, except for those in the lists below. It must hold out records (Holdout
	// > 0).
	Train  train.Spec `json:"train"`
	Models []string   `json:"models"` // models that are tried, see train.Spec.Model
	// Clips lists the clipping norms that are tried. If it is empty, they are those of [train.Spec.TriedClips].
	Clips []float64 `json:"clips,omitempty"`
	// Eta0 lists the initial step sizes that are tried. If it is empty, they are those of [train.Spec.TriedSteps] for
	// each model and clipping norm.
	Eta0   []float64 `json:"eta0"`
	Beta   []float64 `json:"beta"`   // values to try of β, a constant of the step size schedules, see train.Spec.Beta
	Sigmas []float64 `json:"sigmas"` // noise multipliers; the settings are ranked for each one separately
	// Scale is the fraction of each training's gradients that is computed, in (0, 1]; use less than 1 for a quick
	// trial.
	Scale float64 `json:"scale"`
	// Proxy is a fraction in (0, 1]. Each training with noise is replaced by a proxy: a training with this fraction
	// of the batch size, and with less noise such that the signal-to-noise ratio is the same (see
	// [train.Spec.Proxy]). 1 means the training itself. Trainings without noise are never replaced.
	Proxy float64 `json:"proxy"`
	Seeds int     `json:"seeds"` // number of seeds; each combination is trained with the seeds 1 to Seeds
}

// The defaults of a search: proxies at a sixteenth of the cost, so that three seeds cost less than one
// whole training.
const (
	usualProxy = 1. / 16
	usualSeeds = 3
)

// PaperSearch returns a search for the clipping norm and the step size of one of the paper's networks on a data set.
// Use it because the paper does not describe its networks completely. If model is "", the search compares all models
// that may be the paper's network for this data set.
func PaperSearch(model, dataset string) SearchSpec {
	s := pool.Of(model, dataset)
	spec := SearchSpec{
		Train: s.Train, Models: []string{s.Train.Model}, Beta: []float64{s.Train.Beta},
		Sigmas: []float64{s.Train.NoiseMultiplier, 0}, Scale: 1, Proxy: usualProxy, Seeds: usualSeeds,
	}
	spec.Train.Holdout = train.UsualHoldout
	if model == "" && s.Train.Model == train.LeNet {
		spec.Models = []string{train.LeNet, train.LeNetReLU}
	}
	return spec
}

// maxRuns is the largest number of runs of a search.
const maxRuns = 100_000

// Validate returns an error that lists every problem that can be found without the data. A problem may be listed more
// than once.
func (s SearchSpec) Validate() error {
	parts := errors.Join(CheckPart("scale", s.Scale), CheckPart("proxy", s.Proxy))
	errs := []error{CheckSeeds(s.Seeds), parts, s.Train.Validate()}
	if s.Train.Holdout == 0 {
		errs = append(errs, errors.New("holdout = 0, must be in (0, 1): a search is never judged by the test set"))
	}
	runs := max(s.Seeds, 0)
	with := func(name string, n int, laidOut func(train.Spec) []float64, set func(t *train.Spec, i int)) {
		if n == 0 && laidOut == nil {
			errs = append(errs, fmt.Errorf("%s: none given, must be at least one", name))
		}
		for i := range n {
			t := s.Train
			if len(s.Sigmas) > 0 {
				t.NoiseMultiplier = slices.Max(s.Sigmas) // without noise there is no proxy to check
			}
			set(&t, i)
			err := t.Validate()
			if err == nil && parts == nil {
				_, err = s.trained(s.whole(t))
			}
			errs = append(errs, err)
		}
		if n == 0 && laidOut != nil { // as many as the model with the most has
			for _, model := range s.Models {
				t := s.Train
				t.Model = model
				n = max(n, len(laidOut(t)))
			}
		}
		runs = min(runs*n, maxRuns+1)
	}
	errs = append(errs, CheckOnce("models", s.Models), CheckOnce("clips", s.Clips), CheckOnce("eta0", s.Eta0),
		CheckOnce("beta", s.Beta), CheckOnce("sigmas", s.Sigmas))
	with("models", len(s.Models), nil, func(t *train.Spec, i int) { t.Model = s.Models[i] })
	with("clips", len(s.Clips), train.Spec.TriedClips, func(t *train.Spec, i int) { t.Clip = s.Clips[i] })
	with("eta0", len(s.Eta0), func(t train.Spec) []float64 { return t.TriedSteps(1) }, func(t *train.Spec, i int) { t.Eta0 = s.Eta0[i] })
	with("beta", len(s.Beta), nil, func(t *train.Spec, i int) { t.Beta = s.Beta[i] })
	with("sigmas", len(s.Sigmas), nil, func(t *train.Spec, i int) { t.NoiseMultiplier = s.Sigmas[i] })
	if runs > maxRuns {
		errs = append(errs, fmt.Errorf("the search has more than %d runs, which is the largest number allowed", maxRuns))
	}
	return errors.Join(errs...)
}

func (s SearchSpec) whole(t train.Spec) train.Spec {
	t.GradComps = int(math.Round(float64(t.GradComps) * s.Scale))
	return t
}

// trained returns the training that the search runs in place of the given whole training: its proxy
// if it has noise, and otherwise the training itself.
func (s SearchSpec) trained(whole train.Spec) (train.Spec, error) {
	if whole.NoiseMultiplier == 0 {
		return whole, nil
	}
	proxy, err := whole.Proxy(s.Proxy)
	if err != nil {
		return train.Spec{}, fmt.Errorf("proxy = %v at scale = %v (a proxy of 1 runs whole trainings): %w",
			s.Proxy, s.Scale, err)
	}
	return proxy, nil
}

// points lists the grid without the seeds, by noise multiplier first, with the training that is run for
// each point.
func (s SearchSpec) points() ([]found, error) {
	var out []found
	for _, sigma := range s.Sigmas {
		for _, model := range s.Models {
			steps, err := s.steps(model)
			if err != nil {
				return nil, err
			}
			for _, t := range steps {
				t.NoiseMultiplier = sigma
				f := found{spec: s.whole(t)}
				if f.run, err = s.trained(f.spec); err != nil {
					return nil, err
				}
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// steps returns the trainings of a model that differ in the clipping norm, η₀ and β.
func (s SearchSpec) steps(model string) ([]train.Spec, error) {
	t := s.Train
	t.Model = model
	sizes, err := dp.ParseSizes(t.SampleSize)
	if err != nil {
		return nil, err
	}
	run := dp.Cut(sizes, t.GradComps)
	clips := s.Clips
	if len(clips) == 0 {
		clips = t.TriedClips()
	}
	var out []train.Spec
	for _, t.Clip = range clips {
		all := s.Eta0
		if len(all) == 0 {
			for _, eta0 := range t.TriedSteps(float64(run.Computed) / float64(max(run.Rounds, 1))) {
				all = append(all, decimal.Digits(eta0, 4))
			}
		}
		for _, t.Eta0 = range all {
			for _, t.Beta = range s.Beta {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// clipped reports whether several clipping norms are tried.
func clipped(all []found) bool {
	return slices.ContainsFunc(all, func(f found) bool { return f.spec.Clip != all[0].spec.Clip })
}

// found is a point of a search with its trials, one for each seed.
type found struct {
	spec     train.Spec // the whole training
	run      train.Spec // what was run for it: itself or its proxy
	trials   []pool.Trial
	mean, sd float64 // of the accuracies; a diverged run counts as 0
}

// proxy returns the f of the training that was run, or 1 for a whole training. It differs slightly from
// the requested f, because sample sizes are integers.
func (f found) proxy() float64 {
	if f.run == f.spec {
		return 1
	}
	return f.run.NoiseMultiplier / f.spec.NoiseMultiplier
}

// how returns a text about the training that was run for f: the whole training or its proxy.
func (f found) how() string {
	switch {
	case f.spec.NoiseMultiplier == 0:
		return fmt.Sprintf("trained completely, with K = %d gradients for each client, because the cheaper trainings (proxies) scale the noise, and here there is none", f.run.GradComps)
	case f.run == f.spec:
		return fmt.Sprintf("trained completely, with K = %d gradients for each client", f.run.GradComps)
	}
	return fmt.Sprintf("trained by proxies (f = %.4g): batch size s = %s, K = %d gradients for each client, noise multiplier fσ and step size η₀/f, in as many rounds",
		f.proxy(), f.run.SampleSize, f.run.GradComps)
}

func (s SearchSpec) search(ctx context.Context, source *train.Source, o pool.Options) (
	all []found, spent pool.Spent, err error,
) {
	all, err = s.points()
	if err != nil {
		return nil, spent, err
	}
	if err := sayTime(source, all, s.Seeds, o); err != nil {
		return nil, spent, err
	}
	var specs []train.Spec
	for _, f := range all {
		for seed := range s.Seeds {
			f.run.Seed = uint64(seed + 1)
			specs = append(specs, f.run)
		}
	}
	trials, spent, err := pool.Trials(ctx, source, specs, o)
	if err != nil {
		return nil, spent, err
	}
	for i := range all {
		f := &all[i]
		f.trials = trials[i*s.Seeds : (i+1)*s.Seeds]
		var accuracy []float64
		for _, t := range f.trials {
			accuracy = append(accuracy, t.Accuracy)
		}
		f.mean, f.sd = report.Spread(accuracy)
	}
	return all, spent, nil
}

// sayTime writes how long the runs of the points take on this machine, if they run here and this is not short. Runs
// that are already finished take no time.
func sayTime(source *train.Source, all []found, seeds int, o pool.Options) error {
	if o.Progress == nil || o.Elsewhere != nil {
		return nil
	}
	type kind struct { // of runs that take equally long
		model string
		sigma float64
	}
	number, first := map[kind]int{}, map[kind]*train.Prepared{}
	work, seconds := 0.0, 0.0
	for _, f := range all {
		k := kind{f.run.Model, f.run.NoiseMultiplier}
		if number[k]++; first[k] == nil {
			p, err := source.Prepare(f.run)
			if err != nil {
				return err
			}
			if p.Fits(sim.Perf{}, o.Memory) != nil {
				return nil // measuring needs as much memory; the pool refuses the run and says why
			}
			first[k] = p
		}
		work += float64(seeds) * first[k].Work()
	}
	if work < report.LongRun {
		return nil
	}
	for k, p := range first {
		one, err := p.SecondsAlone()
		if err != nil {
			return err
		}
		seconds += float64(number[k]*seeds) * one
	}
	fmt.Fprintf(o.Progress, "search: %d runs, which take at most about %s\n", len(all)*seeds,
		report.Duration(seconds/float64(max(o.Workers, 1))))
	return nil
}

// best returns the points with this noise multiplier, best first. Equal ones are in the order of the
// grid.
func best(all []found, sigma float64) []found {
	out := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.spec.NoiseMultiplier != sigma })
	slices.SortStableFunc(out, func(a, b found) int { return cmp.Compare(b.mean, a.mean) })
	return out
}
