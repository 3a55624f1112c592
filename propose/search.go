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
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// searcher holds the state of a search.
type searcher struct {
	Request
	Options
	base    train.Spec
	records int            // of one client
	weights string         // class weights of the proxies
	copies  int            // number of clients that hold a record
	params  map[string]int // number of parameters of the model on the probed data, by its features
	delta   float64        // δ of a record
	group   int            // of the trainings' mechanism, see dp.Mechanism
	tested  float64        // number of test rows of the data on which the sampling error depends, see models.Metric.Rows
	holdout int            // number of rows that judge the first proxy; others have about as many
	judges  float64        // number of these rows on which the sampling error depends

	trials   map[train.Spec]pool.Trial // results, by the spec of the proxy
	computed int                       // number of trials that had to be run
	work     float64                   // work of all trials, as counted by train.Prepared.Work
	bar      *report.Bar               // the part of the search that is done, in thousandths of a whole training
	units    float64                   // that part
	planned  float64                   // about what the whole search takes
	least    sync.Map                  // from a kind of setting to its leastCost
	laid     sync.Map                  // from a budget and a kind to the outlay, which a frontier needs again

	// script trains the proxies of a search for the user's trainer. It is nil for models of this program.
	script func(ctx context.Context, all []*candidate, seeds int) error
}

func newSearcher(r Request, o Options) (*searcher, error) {
	if err := o.checkProbing(Own, Other, Private); err != nil {
		return nil, err
	}
	s := &searcher{Request: r, Options: o, base: r.Base, trials: map[train.Spec]pool.Trial{},
		params: map[string]int{}}
	s.base.SampleSize, s.base.GradComps, s.base.NoiseMultiplier = "1", 1, 1
	s.base.Schedule, s.base.Beta = string(sim.ZeroDecay), 0
	p, err := o.Data.Prepare(s.base)
	if err == nil {
		s.weights, err = s.base.WeightsOn(o.Data.Data(), o.Probe.Data())
	}
	if err != nil {
		return nil, err
	}
	metric := s.base.MetricOf()
	if metric.Regression() {
		s.base.Metric = metric.String()
	}
	s.records, s.group, s.delta, s.copies = p.Config.Mechanism.DatasetSize, p.Config.Mechanism.Group, p.Delta, 1
	s.tested = float64(metric.Rows(p.Test.ClassCounts()))
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
		s.holdout, s.judges = p.Test.Len(), float64(metric.Rows(p.Test.ClassCounts()))
		if guess := p.Baseline(p.Test); s.TargetAccuracy != 0 && s.goal() <= s.score(guess) {
			must, text := "above", decimal.Down(guess, 4)
			if metric.Smaller() {
				must, text = "below", metric.Text(guess)
			}
			return nil, fmt.Errorf("target %s = %v, must be %s %s, which %s has without looking at the features",
				s.base.MetricName(), s.TargetAccuracy, must, text, o.Probe.Data().Name)
		}
	}
	return s, nil
}

// usualFolds is 1/[train.UsualHoldout].
const usualFolds int = 1 / train.UsualHoldout

// folds returns the number of parts into which the training rows of the probed data are split. A proxy
// holds out one part. That is a sixth of the rows, or less if there are so many matched seeds that they
// could not all hold out different parts.
func (s *searcher) folds() int {
	if s.Probing == Private {
		return usualFolds // the trials of a selection are judged by the same rows
	}
	return max(usualFolds, s.Seeds+1)
}

// checkBase reports fields of the base that a proposal does not support.
func checkBase(b train.Spec) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if dp.Sampling(b.Sampling) != dp.Poisson {
		fail("sampling = %q, must be %q", b.Sampling, dp.Poisson)
	}
	if b.Runner != train.VirtualRunner {
		fail("runner = %q, must be %q: a proposal must be reproducible", b.Runner, train.VirtualRunner)
	}
	if b.Adapt != 0 {
		fail("adapt = %v, must be 0: the proposal plans the sample sizes", b.Adapt)
	}
	if b.Holdout != 0 {
		fail("holdout = %v, must be 0: the search chooses the rows that judge", b.Holdout)
	}
	if b.BoundsEpsilon != 0 {
		fail("bounds epsilon = %v, must be 0: the ε of a proposal does not include private bounds", b.BoundsEpsilon)
	}
	return errors.Join(errs...)
}

// effort is how thorough a search is.
type effort struct {
	few       int // number of seeds of the first rungs
	scouted   int // number of strides that are tried on all outlays
	refined   int // number of good settings of which variants are tried
	finalists int // least number of settings that get all their seeds
	// A proxy of coarseness c may do only 1/c of the work, with c times the sampling noise. These are
	// the values for the first rungs, for the first rung with all seeds, and for a frontier. Reported
	// settings have proxies of coarseness 1.
	first, middle, frontier float64
	farthest                float64 // largest ε of a frontier, divided by the target epsilon
}

// Slow proxies take seconds rather than fractions of a second, and more for larger ε: with less
// added noise, less sampling noise is allowed.
var (
	convexEffort = effort{few: 4, scouted: 6, refined: 3, finalists: 8, first: 4, middle: 4, frontier: 4, farthest: 4}
	slowEffort   = effort{few: 1, scouted: 2, refined: 1, first: 16, middle: 8, frontier: 16, farthest: 2}
)

// slow reports whether proxies of a model take seconds: those of networks, and those of linear models
// on the many features of package scatter.
func slow(base train.Spec) bool { return train.IsNetwork(base.Model) || base.Scattered() }

// lot is a number of proxies of a coarseness.
type lot struct{ number, coarse float64 }

// plan shows the progress of a search that makes about this many calls of search, and a frontier. It counts
// the candidates of the rungs; a frugal search may try fewer. For slow proxies it first says how long they
// take at most.
func (s *searcher) plan(ctx context.Context, epsilon float64, searches int) error {
	e := s.effort()
	few, seeds, scouts, kinds := float64(e.few), float64(s.Seeds), len(s.views())*len(s.strides()), len(s.kinds())
	kept := 2*e.finalists + mostFrugal
	calls := float64(searches)
	lots := []lot{
		{calls * few * float64(scouts+min(scouts, e.scouted+mostFrugal)*kinds+kept*(1+e.refined)), e.first},
		{calls * seeds * float64(kept), e.middle},
		{calls * seeds * float64(e.finalists+mostFrugal), 1},
		{float64(len(ladder)*len(triedNoise)) * float64(3*e.few+s.Seeds), e.frontier},
	}
	if !slow(s.base) {
		lots = append(lots, lot{calls * seeds * float64(e.finalists*mostDoubled) / 4, 1}) // some of the doublings of settled
	}
	s.planned = 0
	for _, l := range lots {
		s.planned += l.number / l.coarse
	}
	if w := s.Options.Trials.Progress; w != nil && slow(s.base) {
		laid, err := s.outlays(ctx, epsilon, s.kinds())
		if err != nil {
			return err
		}
		number, seconds := 0.0, 0.0
		for _, l := range lots {
			one, _, err := s.expected(s.candidate(laid[len(laid)/2], s.strides()[0], s.plain()), l.coarse)
			if err != nil {
				return err
			}
			number, seconds = number+l.number, seconds+l.number*one
		}
		fmt.Fprintf(w, "proxies: at most about %.0f, which take about %s\n", number,
			report.Duration(seconds/float64(max(s.Options.Trials.Workers, 1))))
	}
	s.bar = report.NewLines(s.Options.Trials.Progress, "proxies", int64(1000*s.planned))
	return nil
}

// advance adds work that was done. The whole is not shown as done before the search has ended.
func (s *searcher) advance(units float64) {
	if s.bar != nil {
		s.units = min(s.units+units, 0.99*s.planned)
		s.bar.Set(int64(1000 * s.units))
	}
}

// finish shows that the search has ended.
func (s *searcher) finish() { s.bar.Set(int64(1000 * s.planned)) }

// effort returns the effort for the model.
func (s *searcher) effort() effort {
	e := convexEffort
	if slow(s.base) {
		e = slowEffort
	}
	e.finalists = max(e.finalists, s.Count)
	return e
}

// search returns the best settings at ε in the order of proposals, by successive halving. First,
// strides are tried on one outlay, because a stride that is good for one is good for the others. Then
// the good ones are tried on all outlays, and then variants of the best and strides between those
// tried. The candidates in known, which are known to be good, join when all candidates get all seeds.
func (s *searcher) search(ctx context.Context, epsilon float64, known []*candidate) ([]*candidate, error) {
	laid, err := s.outlays(ctx, epsilon, s.kinds())
	if err != nil {
		return nil, err
	}
	scout := laid[len(laid)/2]
	var all []*candidate
	for _, v := range s.views() {
		all = append(all, s.candidates(v, s.strides(), scout)...)
	}
	e := s.effort()
	if all, err = s.rung(ctx, all, e.few, e.first, e.scouted); err != nil {
		return nil, err
	}
	var crossed []*candidate
	for _, c := range all {
		crossed = append(crossed, s.candidates(c.variant, []stride{c.stride}, laid...)...)
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

// If the accuracy of a setting varies so much over seeds that the standard error of the mean of the
// best exceeds half a rankStep, the better half gets twice as many seeds, at most mostDoubled times.
// Otherwise the first would be the luckiest.
const mostDoubled = 4

// settled returns the candidates in the order of proposals. all is sorted by accuracy.
func (s *searcher) settled(ctx context.Context, all []*candidate) ([]*candidate, error) {
	seeds, left := s.Seeds, all
	var rest []*candidate
	for range mostDoubled {
		if stat.StdDev(left[0].each, nil)/math.Sqrt(float64(seeds)) < s.unit()*rankStep/2 || len(left) < 2 ||
			slow(s.base) {
			break
		}
		half := (len(left) + 1) / 2
		better := append(slices.Clip(left[:half]), s.frugal(left[:half], left[half:])...)
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
	step := s.unit() * rankStep
	return append(ranked(left, step), ranked(rest, step)...), nil
}

// like returns other variants of the candidates, with the same and a longer stride, and the candidates
// with slightly shorter and longer strides.
func (s *searcher) like(all []*candidate) []*candidate {
	var out []*candidate
	for _, c := range all {
		shorter, longer := c.stride.times(math.Sqrt2/2), c.stride.times(math.Sqrt2)
		out = append(out, s.candidates(c.variant, []stride{shorter, longer}, c.outlay)...)
		for _, v := range c.variant.others(s.base) {
			out = append(out, s.candidates(v, []stride{c.stride, longer}, c.outlay)...)
		}
	}
	return out
}

// merged returns the candidates of both lists without duplicates.
func merged(all, more []*candidate) []*candidate {
	for _, c := range more {
		if !slices.ContainsFunc(all, func(o *candidate) bool { return o.spec == c.spec }) {
			all = append(all, c)
		}
	}
	return all
}

// rung is one step of the successive halving: it tries the candidates with the given number of seeds and
// keeps the best.
func (s *searcher) rung(ctx context.Context, all []*candidate, seeds int, coarse float64, keep int) (
	[]*candidate, error,
) {
	if err := s.try(ctx, all, seeds, coarse); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, byAccuracy)
	keep = min(max(keep, 1), len(all))
	return append(slices.Clip(all[:keep]), s.frugal(all[:keep], all[keep:])...), nil
}

// Candidates that are not among the best also stay if they are less accurate by less than worthwhile
// and need fewer gradients than all better ones. At most mostFrugal of them stay. A setting that seems
// slightly less accurate with few seeds may be as accurate with all.
const (
	worthwhile = 3 * rankStep
	mostFrugal = 4
)

// frugal returns these candidates of rest. Both lists are sorted by accuracy.
func (s *searcher) frugal(best, rest []*candidate) []*candidate {
	byGradients := func(a, b *candidate) int { return cmp.Compare(a.gradients(), b.gradients()) }
	least := slices.MinFunc(best, byGradients).gradients()
	var out []*candidate
	for _, c := range rest {
		if c.accuracy > best[0].accuracy-s.unit()*worthwhile && len(out) < mostFrugal && c.gradients() < least {
			out, least = append(out, c), c.gradients()
		}
	}
	return out
}

// try runs the proxies of the candidates with the given number of seeds.
func (s *searcher) try(ctx context.Context, all []*candidate, seeds int, coarse float64) error {
	if s.script != nil {
		return s.script(ctx, all, seeds)
	}
	specs := make([]train.Spec, 0, len(all)*seeds)
	work := 0.0
	probed, err := s.probed(seeds)
	if err != nil {
		return err
	}
	for _, c := range all {
		small, part, err := s.shrink(c, probed, coarse)
		if err != nil {
			return err
		}
		work += part * float64(seeds)
		for seed := range seeds {
			specs = append(specs, s.probeOf(small, seed))
		}
	}
	trials, err := s.run(ctx, specs, work)
	if err != nil {
		return err
	}
	s.advance(float64(len(specs)) / coarse)
	for i, c := range all {
		s.enter(c, trials[i*seeds:(i+1)*seeds])
	}
	return nil
}

// shrink sets the fraction of a candidate's proxies, and returns their spec and their work. probed is the
// number of records of a client of the proxies.
func (s *searcher) shrink(c *candidate, probed int, coarse float64) (small train.Spec, work float64, err error) {
	size := float64(c.outlay.size)
	most := min(1, float64(probed)/size) // a proxy cannot sample more records than it has
	largest, err := c.spec.Proxy(most)
	if err != nil {
		return train.Spec{}, 0, err
	}
	p, err := s.Probe.Prepare(s.probeOf(largest, 0))
	if err != nil {
		return train.Spec{}, 0, err
	}
	part := p.ProxyFraction(most*size, coarse)
	c.fraction = most * part
	small, err = c.spec.Proxy(c.fraction)
	return small, part * p.Work(), err
}

// probed returns the smallest number of records of a client among the proxies of the given number of
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

// enter sets the results of the candidate's proxies.
func (s *searcher) enter(c *candidate, trials []pool.Trial) {
	c.each = make([]float64, len(trials))
	for i, t := range trials {
		if c.each[i] = s.score(t.Accuracy); t.Diverged {
			c.each[i] = s.worst()
		}
	}
	c.accuracy = mean(c.each)
}

// run returns the trials of the specs. Each spec is run once. work is the largest work of a spec.
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

// probeOf returns the spec of the proxy with the given number, on the probed data. It is a separate
// release, so it shares no noise with the training itself. If a seed decides which rows are test rows,
// the proxy keeps the seed, because with another one it would use test rows of the training; instead,
// each proxy holds out other rows. For a data set with a published test set the seeds differ, so that a
// network starts elsewhere and other rows are held out.
func (s *searcher) probeOf(spec train.Spec, number int) train.Spec {
	spec.Data, spec.Delta = s.Probe.Data().Name, 0
	if s.Probing != Own && s.Probing != Private { // a private trial is split like the training
		spec.Features, spec.Split = 0, ""
		spec.ClassWeights = s.weights
		spec.AtMost = 0 // the probed data names no persons, and no (ε, δ) covers a proxy
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

// published reports whether the probed data have a published test set.
func (s *searcher) published() bool { return s.Probe.Data().Train > 0 }
