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

func (c calculator) limit() limit { return limitOf(c.target, c.p.Delta, c.p.Adjacency) }

func (c calculator) rateOf(s int) float64 { return float64(c.p.largest(s)) / float64(c.p.N) }

// noise returns the least σ for T rounds of size s. For the closed form this is σ_eq, unless Theorem
// simpleF requires a smaller ε.
func (c calculator) noise(ctx context.Context, s, rounds int) (stop, error) {
	return c.noiseFrom(ctx, c.startNoise(s, rounds), s, rounds)
}

func (c calculator) startNoise(s, rounds int) float64 {
	return c.limit().sigma(c.rateOf(s), float64(c.p.copies()*rounds))
}

// noiseFrom is like noise, with a guess to start from.
func (c calculator) noiseFrom(ctx context.Context, start float64, s, rounds int) (stop, error) {
	price := func(sigma float64) (dp.Bound, error) { return c.price(sigma, s, rounds) }
	d := noiseDial(price, start, tolerance)
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

// rounds returns the largest number of rounds of size s.
func (c calculator) rounds(ctx context.Context, sigma float64, s int) (stop, error) {
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, s, int(v)) },
		safe:  math.Floor, least: 1, most: min(maxSteps, c.most(s)), slope: 0.5, tol: 2 * tolerance,
		start: c.limit().rounds(sigma, c.rateOf(s)) / float64(c.p.copies()),
	}
	return d.turn(ctx, c.target)
}

// size returns the largest size, up to most, for T rounds.
func (c calculator) size(ctx context.Context, sigma float64, rounds, most int) (stop, error) {
	if most < 1 {
		return c.tooUneven(), nil
	}
	q := c.limit().rate(sigma, float64(c.p.copies()*rounds))
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, int(v), rounds) },
		safe:  math.Floor, least: 1, most: min(float64(most), c.most(rounds)), slope: 1, tol: tolerance,
		start: q * float64(c.p.N) / c.p.Theta,
	}
	return d.turn(ctx, c.target)
}

// sizeFor returns a size that meets the budget in T = ⌊K/s⌋ rounds, while the next larger size does
// not.
//
// For s between K/(T+1) and K/T the number of rounds is constant, and the cost grows with s. Just above
// K/T the cost drops, because computations are left over. The cost is therefore only nearly monotone,
// and some larger sizes may meet the budget. At the ends ⌊K/T⌋ of these intervals it is monotone,
// except for few rounds. So sizeFor first finds the last end within the budget, and then the last size
// before the next end.
func (c calculator) sizeFor(ctx context.Context, sigma float64, k int) (stop, error) {
	most := min(c.largestMean(), k)
	if most < 1 {
		return c.tooUneven(), nil
	}
	end := func(s int) int { return min(k/(k/s), most) }
	q := c.limit().rateOf(sigma, float64(c.p.copies()*k)/float64(c.p.N))
	d := dial{
		price: func(v float64) (dp.Bound, error) { return c.price(sigma, int(v), k/int(v)) },
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

// tooUneven is the result if θ does not even allow samples of one record on average.
func (c calculator) tooUneven() stop {
	return stop{value: 1, err: fmt.Errorf("theta = %v is above N = %d, so that s = 1 is too large: %w", c.p.Theta,
		c.p.N, dp.ErrNotCovered)}
}
