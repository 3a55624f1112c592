package plan

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// largestMean returns the largest mean size that θ allows.
func (c calculator) largestMean() int { return int(float64(c.p.N) / c.p.Theta) }

// most returns the largest count whose product with v, over all rounds that use one record, is at most
// maxCount.
func (c calculator) most(v int) float64 {
	return math.Floor(maxCount / (float64(v) * float64(c.p.copies())))
}

func (c calculator) rateOf(s int) float64 {
	if c.p.Sampling == dp.Allocation {
		return 1 / float64(c.p.batchesOf(s))
	}
	return float64(c.p.largest(s)) / float64(c.p.N)
}

// noise returns the least σ for T rounds of size s. For the closed form this is σ_eq, unless Theorem
// simpleF requires a smaller ε.
func (c calculator) noise(ctx context.Context, s, rounds int) (stop, error) {
	return c.noiseBy(ctx, c.noiseDial(c.startNoise(s, rounds), s, rounds), s, rounds)
}

func (c calculator) noiseDial(start float64, s, rounds int) dial {
	return noiseDial(func(sigma float64) (dp.Bound, error) { return c.price(sigma, s, rounds) }, start, tolerance)
}

func (c calculator) startNoise(s, rounds int) float64 {
	return c.limit().sigma(c.rateOf(s), float64(c.p.copies()*rounds))
}

// noiseBy does the same as noise, with the dial d for the search.
func (c calculator) noiseBy(ctx context.Context, d dial, s, rounds int) (stop, error) {
	if c.p.Method.isClosedForm() {
		d.least = closedform.MinSigma
		sigma, err := closedform.Sigma(c.target, c.p.Delta)
		if sigma = roundUp(sigma); err == nil && d.least <= sigma && sigma <= d.most && c.holds(sigma, s, rounds) {
			return stop{value: sigma, bound: c.p.upper(c.target), met: true}, nil
		}
	}
	return d.turn(ctx, c.target)
}

// holds reports whether Theorem simpleF proves the target ε.
func (c calculator) holds(sigma float64, s, rounds int) bool {
	setting := c.p.setting(sigma, s, rounds, c.p.copies())
	setting.Epsilon = c.target
	cs, err := closedform.Conditions(c.p.Method.form(), setting)
	return err == nil && closedform.Holds(cs, closedform.SimpleF)
}

// rounds returns the largest number of rounds of size s whose cost is at most the target.
func (c calculator) rounds(ctx context.Context, sigma float64, s int) (stop, error) {
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, s, int(v)) },
		safe:  math.Floor, least: 1, most: min(maxSteps, c.most(s)), slope: 0.5, tol: 2 * tolerance,
		start: c.limit().rounds(sigma, c.rateOf(s)) / float64(c.p.copies()),
	}
	if c.p.Sampling == dp.Allocation { // an epoch costs the same from its first round on
		t := float64(c.p.batchesOf(s))
		d.safe, d.least = func(v float64) float64 { return t * math.Floor(v/t) }, t
	}
	return d.turn(ctx, c.target)
}

// size returns the largest size, up to most, for which the given number of rounds costs at most the
// target.
func (c calculator) size(ctx context.Context, sigma float64, rounds, most int) (stop, error) {
	if most < 1 {
		return c.tooUneven(), nil
	}
	q := c.limit().rate(sigma, float64(c.p.copies()*rounds))
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, int(v), rounds) },
		safe:  c.safeSize, least: 1, most: min(float64(most), c.most(rounds)), slope: 1, tol: 2 * tolerance,
		start: q * float64(c.p.N) / c.p.Theta,
	}
	return d.turn(ctx, c.target)
}

// safeSize rounds a size down. By allocation, sizes with the same t cost the same, and the result is the least of
// them.
func (c calculator) safeSize(v float64) float64 {
	s := max(int(v), 1)
	if c.p.Sampling == dp.Allocation {
		s = sizeIn(c.p.N, sizeIn(c.p.N, s))
	}
	return float64(s)
}

// sizeFor returns a size that meets the budget in T = ⌈K/s⌉ rounds, while the next larger size does
// not.
//
// For K/T ≤ s < K/(T-1) there are T rounds, and the cost grows with s. At s = K/(T-1) one round less
// is needed, and the cost drops. So some sizes above the result may also meet the budget. But the
// costs of the largest sizes of these intervals grow from one interval to the next, unless T is small.
// So sizeFor first finds the last interval whose largest size meets the budget, and then the last size
// in the next interval that does.
func (c calculator) sizeFor(ctx context.Context, sigma float64, k int) (stop, error) {
	most := min(c.largestMean(), k)
	if most < 1 {
		return c.tooUneven(), nil
	}
	if c.p.Sampling == dp.Allocation {
		return c.largestOf(ctx, sigma, k, most)
	}
	end := func(s int) int { return min(largestIn(k, roundsOf(k, s)), most) }
	q := c.limit().rateOf(sigma, float64(c.p.copies()*k)/float64(c.p.N))
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, int(v), roundsOf(k, int(v))) },
		safe:  func(v float64) float64 { return float64(end(max(int(v), 1))) },
		start: q * float64(c.p.N) / c.p.Theta, least: 1, most: float64(most), slope: 0.5, tol: tolerance,
	}
	last, err := d.turn(ctx, c.target)
	if err != nil || !last.met || int(last.value) >= most {
		return last, err
	}
	next := int(last.value) + 1
	further := dial{
		price: d.price, safe: math.Floor, start: float64(next), least: float64(next), most: float64(end(next)),
		slope: 1, tol: tolerance,
	}
	if s, err := further.turn(ctx, c.target); err != nil || s.met {
		return s, err
	}
	return last, nil
}

// largestOf does the same as sizeFor by allocation, where a larger size never costs less: it has fewer batches in
// as many epochs.
func (c calculator) largestOf(ctx context.Context, sigma float64, k, most int) (stop, error) {
	q := c.limit().rateOf(sigma, float64(c.p.copies())*c.p.Epochs)
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, int(v), c.p.roundsOf(k, int(v))) },
		safe:  c.safeSize, start: q * float64(c.p.N), least: 1, most: float64(most), slope: 0.5, tol: tolerance,
	}
	return d.turn(ctx, c.target)
}

// tooUneven returns the result for a θ that does not even allow samples of one record on average.
func (c calculator) tooUneven() stop {
	return stop{value: 1, err: fmt.Errorf("theta = %v is above N = %d, so that s = 1 is too large: %w", c.p.Theta,
		c.p.N, dp.ErrNotCovered)}
}
