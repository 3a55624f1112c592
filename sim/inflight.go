package sim

import (
	"fmt"
	"math"

	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// roundingOfUpdates is by how much an update may be longer than in exact arithmetic,
// relative to its parts: each of its coordinates is rounded to float32 once.
const roundingOfUpdates = 1e-6

// checkUpdates reports an update on its way, in a state that was read, which v's
// mechanism cannot have released: without the round's noise, which the root and the
// round decide, it is longer than C times the records that were sampled. So an edited σ
// is seen, wherever more than their gradients is left of the noise.
func (v *Virtual) checkUpdates(s *virtualState) error {
	if v.cfg.Substitute != nil {
		return nil // what that sends is not the mechanism's
	}
	var ws Workspace
	for i := range s.queue {
		e := &s.queue[i]
		if !e.kind.update() {
			continue
		}
		c := v.clients[e.client]
		rest, most := c.withoutNoise(int(e.number), e.vector.X, &ws), c.longestSum(int(e.number), &ws)
		slack := roundingOfUpdates * (most + math.Sqrt(f32.SumSquares(e.vector.X)))
		if !(rest <= most+slack) {
			return fmt.Errorf("event %d: the update of client %d in round %d has norm %.4g without its noise of σ = %v, must "+
				"be at most %.4g", i, e.client, e.number, rest, c.mech.NoiseMultiplier, most)
		}
	}
	return nil
}

// withoutNoise returns the norm of what u is without the noise of the client's round.
func (c *Client) withoutNoise(round int, u []float32, ws *Workspace) float64 {
	noise := make([]float32, len(u))
	c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), round)
	c.mech.Noise(noise, &ws.noise)
	sum := 0.0
	for j, n := range noise {
		d := float64(u[j]) - float64(n)
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// longestSum is the largest norm of a sum of the client's clipped gradients in a round.
// How many there are is known unless the client adapts, to times that are not kept.
func (c *Client) longestSum(round int, ws *Workspace) float64 {
	if c.adapt != 0 {
		return float64(c.mech.DatasetSize) * c.mech.ClipNorm
	}
	c.root.Reseed(&ws.sampling, rng.Sampling, uint32(c.id), round)
	ws.rows = c.mech.SampleOf(ws.rows[:0], c.mech.Sizes.At(round), &ws.sampling, &ws.sample)
	return float64(len(ws.rows)) * c.mech.ClipNorm
}
