package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"

	"proactivedp/dp"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// searcher is a request made concrete.
type searcher struct {
	Request
	Options
	base    train.Spec
	records int            // of a client
	copies  int            // how many clients hold a record
	params  map[string]int // of the model, on the probed data, by the features that it is shown
	delta   float64        // δ of a record
	tested  int            // rows of the test set of the data
	holdout int            // rows of the probed data that judge the first proxy; others have about as many

	trials   map[train.Spec]pool.Trial // what was found, by the proxy's spec
	computed int                       // of these, those that had to be run
	work     float64                   // of all of these, as train.Prepared.Work counts it
	told     *report.Count             // how many there are
	least    sync.Map                  // from a kind to its leastCost
	laid     sync.Map                  // from a budgeted kind to its outlay, since a frontier asks again
}

func newSearcher(r Request, o Options) (*searcher, error) {
	if err := o.checkProbing(Own, Other, Private); err != nil {
		return nil, err
	}
	s := &searcher{Request: r, Options: o, base: r.Base, trials: map[train.Spec]pool.Trial{},
		params: map[string]int{}, told: report.NewCount(o.Trials.Progress, "proxies")}
	s.base.SampleSize, s.base.GradComps, s.base.NoiseMultiplier = "1", 1, 1
	s.base.Schedule, s.base.Beta = string(sim.ZeroDecay), 0
	p, err := o.Data.Prepare(s.base)
	if err != nil {
		return nil, err
	}
	s.records, s.delta, s.tested, s.copies = p.Config.Mechanism.DatasetSize, p.Delta, p.Test.Len(), 1
	if !p.Config.Partition.Disjoint() {
		s.copies = s.base.Clients
	}
	for _, v := range s.views() {
		shown := s.base
		shown.FeatureMap = v.features
		if p, err = o.Probe.Prepare(s.probeOf(shown, 0)); err != nil {
			return nil, err
		}
		s.params[v.features] = p.Config.Model.NumParams()
		s.holdout = p.Test.Len()
	}
	return s, nil
}

// usualFolds is how many parts of [train.UsualHoldout] there are.
const usualFolds int = 1 / train.UsualHoldout

// folds returns how many parts the training rows of the probed data have, of which a proxy holds
// out one: a sixth of the rows, or less where there are so many matched seeds that each of them
// could not hold out another part.
func (s *searcher) folds() int {
	if s.Probing == Private {
		return usualFolds // the trials of a selection share the rows that judge
	}
	return max(usualFolds, s.Seeds+1)
}

// checkBase reports what a proposal cannot take as given.
func checkBase(b train.Spec) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if dp.Sampling(b.Sampling) != dp.Poisson {
		fail("sampling = %q, must be %q", b.Sampling, dp.Poisson)
	}
	if b.Runner != train.VirtualRunner {
		fail("runner = %q, must be %q: a proposal can be made again", b.Runner, train.VirtualRunner)
	}
	if b.Adapt != 0 {
		fail("adapt = %v, must be 0: sample sizes are planned here", b.Adapt)
	}
	if b.Holdout != 0 {
		fail("holdout = %v, must be 0: which rows judge is decided here", b.Holdout)
	}
	return errors.Join(errs...)
}

// effort is how much a search tries.
type effort struct {
	few       int // seeds of the first rungs
	scouted   int // how many strides are tried on all outlays
	refined   int // of how many good settings others like them are tried
	finalists int // how many settings have all their proxies at least, however few are shown
	// How much less work the proxies of the first rungs are, of the one in which all seeds
	// are tried first and of a frontier, and how much more noise of sampling they may have.
	// What is shown rests on proxies that are not coarse, coarseness 1.
	first, middle, frontier float64
	farthest                float64 // ε of a frontier, over the target epsilon
}

// A network's proxies take seconds and not a fraction of one, and more of them the larger ε
// is: the noise of sampling, which they must stay above, grows beside less added noise.
var (
	convexEffort  = effort{few: 4, scouted: 6, refined: 3, finalists: 8, first: 4, middle: 4, frontier: 4, farthest: 4}
	networkEffort = effort{few: 1, scouted: 2, refined: 1, first: 16, middle: 8, frontier: 16, farthest: 2}
)

// effort returns that of the model.
func (s *searcher) effort() effort {
	e := convexEffort
	if train.IsNetwork(s.base.Model) {
		e = networkEffort
	}
	e.finalists = max(e.finalists, s.Count)
	return e
}

// search returns the best settings at ε in the order in which they are proposed, by
// successive halving. Strides are scouted on one outlay, as what is good for one is good
// for the others; then the good ones are tried on all; then variants of the best, and
// strides between those tried. Those that are known to be good join them where all have
// all seeds.
func (s *searcher) search(ctx context.Context, epsilon float64, known []*candidate) ([]*candidate, error) {
	laid, err := s.outlays(ctx, epsilon, s.kinds())
	if err != nil {
		return nil, err
	}
	scout := laid[len(laid)/2]
	var all []*candidate
	for _, v := range s.views() {
		for _, st := range s.strides() {
			all = append(all, s.candidate(scout, st, v))
		}
	}
	e := s.effort()
	if all, err = s.rung(ctx, all, e.few, e.first, e.scouted); err != nil {
		return nil, err
	}
	var crossed []*candidate
	for _, c := range all {
		for _, l := range laid {
			crossed = append(crossed, s.candidate(l, c.stride, c.variant))
		}
	}
	if crossed, err = s.rung(ctx, crossed, e.few, e.first, 2*e.finalists); err != nil {
		return nil, err
	}
	crossed = merged(crossed, s.like(crossed[:min(e.refined, len(crossed))]))
	if crossed, err = s.rung(ctx, crossed, e.few, e.first, 2*e.finalists); err != nil {
		return nil, err
	}
	crossed = merged(crossed, known)
	for _, coarse := range []float64{e.middle, 1} {
		if crossed, err = s.rung(ctx, crossed, s.Seeds, coarse, e.finalists); err != nil {
			return nil, err
		}
	}
	return s.settled(ctx, crossed)
}

// Where trainings of one setting end so differently that with the seeds they had the mean of
// the best is not sure to half of a rankStep (one standard error), the better half gets
// twice the seeds, mostDoubled times at most: else the first would be the luckiest.
const mostDoubled = 4

// settled returns the candidates, the most accurate first, in the order in which they are
// proposed.
func (s *searcher) settled(ctx context.Context, all []*candidate) ([]*candidate, error) {
	seeds, left := s.Seeds, all
	var rest []*candidate
	for range mostDoubled {
		if stat.StdDev(left[0].each, nil)/math.Sqrt(float64(seeds)) < rankStep/2 || len(left) < 2 ||
			train.IsNetwork(s.base.Model) {
			break
		}
		half := (len(left) + 1) / 2
		better := append(slices.Clip(left[:half]), frugal(left[:half], left[half:])...)
		for _, c := range left[half:] {
			if !slices.Contains(better, c) {
				rest = append(rest, c)
			}
		}
		left = better
		seeds *= 2
		if err := s.try(ctx, left, seeds, 1); err != nil {
			return nil, err
		}
		slices.SortStableFunc(left, byAccuracy)
	}
	return append(ranked(left), ranked(rest)...), nil
}

// like returns other variants of the candidates, with their stride and a longer one, and
// strides a little shorter and longer.
func (s *searcher) like(all []*candidate) []*candidate {
	var out []*candidate
	for _, c := range all {
		for _, st := range []stride{c.stride.times(math.Sqrt2 / 2), c.stride.times(math.Sqrt2)} {
			out = append(out, s.candidate(c.outlay, st, c.variant))
		}
		for _, v := range c.variant.others(s.base) {
			for _, st := range []stride{c.stride, c.stride.times(math.Sqrt2)} {
				out = append(out, s.candidate(c.outlay, st, v))
			}
		}
	}
	return out
}

// merged returns the candidates of both lists, each setting once.
func merged(all, more []*candidate) []*candidate {
	for _, c := range more {
		if !slices.ContainsFunc(all, func(o *candidate) bool { return o.spec == c.spec }) {
			all = append(all, c)
		}
	}
	return all
}

// rung tries the candidates with so many seeds and keeps the best.
func (s *searcher) rung(ctx context.Context, all []*candidate, seeds int, coarse float64, keep int) (
	[]*candidate, error,
) {
	if err := s.try(ctx, all, seeds, coarse); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, byAccuracy)
	keep = min(max(keep, 1), len(all))
	return append(slices.Clip(all[:keep]), frugal(all[:keep], all[keep:])...), nil
}

// Of candidates that are not among the best those stay, too, that are less than worthwhile
// below and take fewer gradients than all that are better, and of these at most mostFrugal:
// what seems a little less accurate with few seeds may be as accurate with all.
const (
	worthwhile = 3 * rankStep
	mostFrugal = 4
)

// frugal returns those of the rest; both lists have the most accurate first.
func frugal(best, rest []*candidate) []*candidate {
	byGradients := func(a, b *candidate) int { return cmp.Compare(a.gradients(), b.gradients()) }
	least := slices.MinFunc(best, byGradients).gradients()
	var out []*candidate
	for _, c := range rest {
		if c.accuracy > best[0].accuracy-worthwhile && len(out) < mostFrugal && c.gradients() < least {
			out, least = append(out, c), c.gradients()
		}
	}
	return out
}

// try runs the proxies of the candidates with so many seeds.
func (s *searcher) try(ctx context.Context, all []*candidate, seeds int, coarse float64) error {
	specs := make([]train.Spec, 0, len(all)*seeds)
	work := 0.0
	probed, err := s.probed(seeds)
	if err != nil {
		return err
	}
	for _, c := range all {
		size := float64(c.outlay.size)
		most := min(1, float64(probed)/size) // a proxy samples no more than the records it has
		largest, err := c.spec.Proxy(most)
		if err != nil {
			return err
		}
		p, err := s.Probe.Prepare(s.probeOf(largest, 0))
		if err != nil {
			return err
		}
		part := s.fraction(p, most*size, coarse)
		c.fraction = most * part
		work += part * p.Work() * float64(seeds)
		small, err := c.spec.Proxy(c.fraction)
		if err != nil {
			return err
		}
		for seed := range seeds {
			specs = append(specs, s.probeOf(small, seed))
		}
	}
	trials, err := s.run(ctx, specs, work)
	if err != nil {
		return err
	}
	for i, c := range all {
		c.enter(trials[i*seeds : (i+1)*seeds])
	}
	return nil
}

// probed returns the smallest number of records of a client of a proxy, with the given number of
// seeds.
func (s *searcher) probed(seeds int) (int, error) {
	fewest := math.MaxInt
	for seed := range seeds {
		p, err := s.Probe.Prepare(s.probeOf(s.base, seed))
		if err != nil {
			return 0, err
		}
		fewest = min(fewest, p.Config.Mechanism.DatasetSize)
	}
	return fewest, nil
}

// enter sets what the proxies found.
func (c *candidate) enter(trials []pool.Trial) {
	c.each = make([]float64, len(trials))
	for i, t := range trials {
		c.each[i] = t.Accuracy
	}
	c.accuracy = mean(c.each)
}

// run returns the trials of the specs, each run once, of so much work at the most.
func (s *searcher) run(ctx context.Context, specs []train.Spec, work float64) ([]pool.Trial, error) {
	o := s.Options.Trials
	if work < report.LongRun {
		o.Progress = nil
	}
	missing := slices.DeleteFunc(slices.Clone(specs), func(spec train.Spec) bool {
		_, done := s.trials[spec]
		return done
	})
	found, spent, err := pool.Trials(ctx, s.Probe, missing, o)
	if err != nil {
		return nil, err
	}
	s.computed += spent.Computed
	s.told.Done(s.computed)
	for i, t := range found {
		if _, known := s.trials[missing[i]]; !known {
			p, err := s.Probe.Prepare(missing[i])
			if err != nil {
				return nil, err
			}
			s.work += p.Work()
		}
		s.trials[missing[i]] = t
	}
	out := make([]pool.Trial, len(specs))
	for i, spec := range specs {
		out[i] = s.trials[spec]
	}
	return out, nil
}

// probeOf returns the spec as it is tried on the probed data with the matched seed of
// this number: as another release than the training itself, so that the two share no
// noise. Where a seed decides which rows the test set has, the seed stays, as another's
// proxies would look at rows of this one's test set, and each proxy holds out other rows.
// Of a set that was published with its test set the seeds differ, with which a network
// begins elsewhere and other rows are held out.
func (s *searcher) probeOf(spec train.Spec, number int) train.Spec {
	spec.Data, spec.Delta = s.Probe.Data().Name, 0
	if s.Probing != Own {
		spec.Features, spec.Split = 0, ""
	}
	spec.Holdout = 1 / float64(s.folds())
	spec.SeedFromOS, spec.Run = false, s.base.Run+1+uint64(number)
	if s.published() {
		spec.Seed += uint64(number)
	} else {
		spec.Fold = number % s.folds()
	}
	return spec
}

// published reports whether the probed data was published with a test set.
func (s *searcher) published() bool { return s.Probe.Data().Train > 0 }
