package propose

import (
	"math"

	"proactivedp/train"
)

// The largest work of a proxy at full fineness, in operations as counted by train.Prepared.Work. It
// takes at most about a second. A training with less work is its own proxy. Networks do far more
// operations per second than small models, whose time is dominated by rounds.
const (
	networkWork = 3e10
	convexWork  = 2e8
)

// sampled is the largest ratio of sampling noise to added noise in a proxy, in squared norm. Dividing s
// by f multiplies it by 1/f. A sum of s clipped gradients has a mean squared sampling error of at most
// C²s, which the scaled steps divide by f². The added noise is dσ²C² for d parameters, as before. The
// ratio is small, because sampling noise is concentrated in the directions that are learnt.
const sampled = 0.01

// fraction returns the f of a proxy of the prepared training. It is the least that its sampling noise
// allows, or more if its work stays within the limit.
func (s *searcher) fraction(p *train.Prepared, size, coarse float64) float64 {
	work := convexWork
	if train.IsNetwork(s.base.Model) {
		work = networkWork
	}
	noise := float64(p.Config.Model.NumParams()) * p.Spec.NoiseMultiplier * p.Spec.NoiseMultiplier
	f := max(size/(size+coarse*sampled*noise), work/coarse/p.Work())
	return min(1, math.Ceil(f*size)/size)
}
