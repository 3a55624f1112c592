package train

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/sim"
)

// Proxy returns the settings of a cheaper training, called a proxy, that has about the same accuracy as a training of
// s. Use it to compare settings without running each of them in full (Sander, Stock, Sablayrolles, "TAN without a
// burn", arXiv 2210.03403, Section 3). f in (0, 1] is the fraction of the cost. [Prepared.ProxyFraction] returns a
// good f.
//
// The batch size s and the noise multiplier σ are multiplied by f, the step size η₀ is divided by f, and the number
// of rounds T stays the same. A round moves the parameters by η₀(G + σCn), where G is the sum of the batch's clipped
// gradients, C the clipping norm, and n standard normal noise. G and σ shrink by f and η₀ grows by 1/f, so the signal
// η₀G and the noise η₀σCn stay the same. Only the sampling error is larger, because the batch is smaller.
//
// β, the constant of the step size schedules linear and sqrt, is changed so that the step size falls in the same way
// over the rounds: it is divided by f for linear and by √f for sqrt. Batch sizes are rounded to whole records, and
// the ratio of the rounded sizes is used instead of f for everything else.
//
// A proxy has little noise, so it costs far more privacy than the training whose accuracy it predicts: do not publish
// it as private. Its target ε is removed. With f = 1, Proxy returns s itself. Otherwise it is an error if s has no
// noise, if a batch would have less than one record, or if s has settings that depend on the number of gradients in a
// round (the delay sqrt, adaptive batch sizes).
func (s Spec) Proxy(f float64) (Spec, error) {
	if f == 1 {
		return s, nil
	}
	in, err := s.parse()
	if err != nil {
		return Spec{}, err
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("proxy: "+format, args...)) }
	if !(f > 0 && f <= 1) {
		fail("part of a sample = %v, must be in (0, 1]", f)
	}
	if !(s.NoiseMultiplier > 0) {
		fail("sigma = %v, must be above 0: a run without noise has no proxy", s.NoiseMultiplier)
	}
	if in.delay == (sim.SquareRoot{}) {
		fail("delay = %q counts gradients, must be one that counts rounds", s.Delay)
	}
	if s.Adapt != 0 {
		fail("adapt = %v changes sample sizes, must be 0", s.Adapt)
	}
	if err := errors.Join(errs...); err != nil {
		return Spec{}, err
	}
	run := dp.Cut(in.sizes, s.GradComps)
	if err := dp.CheckCount("rounds", run.Rounds, 1, dp.MaxRounds); err != nil {
		return Spec{}, fmt.Errorf("proxy: %w", err)
	}
	sizes := partOf(in.sizes, f)
	computed := 0
	for i := range run.Rounds {
		size := sizes.At(i)
		if size < 1 {
			return Spec{}, fmt.Errorf("proxy: part = %v of the %d records sampled in round %d, must be at "+
				"least half a record", f, in.sizes.At(i), i)
		}
		computed += size
	}
	f = float64(computed) / float64(run.Computed)
	s.SampleSize, s.GradComps = sizes.String(), computed
	s.NoiseMultiplier *= f
	s.TargetEpsilon = 0
	s.Eta0 /= f
	switch in.steps.Decay {
	case sim.LinearDecay:
		s.Beta /= f
	case sim.SqrtDecay:
		s.Beta /= math.Sqrt(f)
	}
	return s, s.Validate()
}

// partOf returns the sizes multiplied by f and rounded to whole records.
func partOf(s dp.Sizes, f float64) dp.Sizes {
	part := func(n int) int { return int(math.Round(f * float64(n))) }
	switch s := s.(type) {
	case dp.PolynomialSizes: // is rounded down
		return dp.PolynomialSizes{First: f*s.First + 0.5, Slope: f * s.Slope, Power: s.Power}
	case dp.ListSizes:
		list := make(dp.ListSizes, len(s))
		for i, n := range s {
			list[i] = part(n)
		}
		return list
	}
	return dp.ConstantSizes(part(s.At(0)))
}

// The largest work of a proxy at full fineness, in operations as counted by Prepared.Work. It takes at
// most about a second. A training with less work is its own proxy. Networks do far more operations per
// second than small models, whose time is dominated by rounds.
const (
	networkWork = 3e10
	convexWork  = 2e8
)

// sampled is the largest ratio of sampling noise to added noise in a proxy, in squared norm. Dividing s
// by f multiplies it by 1/f. A sum of s clipped gradients has a mean squared sampling error of at most
// C²s, which the scaled steps divide by f². The added noise is dσ²C² for d parameters, as before. The
// ratio is small, because sampling noise is concentrated in the directions that are learnt.
const sampled = 0.01

// ProxyFraction returns a good fraction f, in (0, 1], to pass to [Spec.Proxy]. With it, Spec.Proxy makes a proxy:
// a cheaper training, with f times the batch size of p, that predicts the accuracy of p. Smaller batches add
// sampling noise. f is the smallest fraction with which the sampling noise has at most about 1 % of the variance
// of the noise for privacy. But f is never so small that the proxy does less work than a fixed amount, which takes
// at most about a second. size is p's mean batch size, in records.
//
// coarse ≥ 1 makes proxies cheaper and less accurate: it multiplies the 1 %, and divides the fixed amount of work.
// Use 1 for the final comparison of settings.
func (p *Prepared) ProxyFraction(size, coarse float64) float64 {
	work := convexWork
	if IsNetwork(p.Spec.Model) {
		work = networkWork
	}
	noise := float64(p.Config.Model.NumParams()) * p.Spec.NoiseMultiplier * p.Spec.NoiseMultiplier
	f := max(size/(size+coarse*sampled*noise), work/coarse/p.Work())
	return min(1, math.Ceil(f*size)/size)
}
