package propose

import (
	"math"

	"proactivedp/train"
)

// The work of a proxy at full fineness, in operations as train.Prepared.Work counts
// them: a second or less. A training with less is its own proxy. Networks do far more
// operations in a second than models whose time goes to their rounds.
const (
	networkWork = 3e10
	convexWork  = 2e8
)

// sampled is how large the noise of sampling may become in a proxy, in squared norm over
// that of the added noise. Dividing s by f multiplies it by 1/f: a sum of s clipped
// gradients is off by at most C²s in mean square, over f² for the scaled steps; the noise
// has dσ²C² in d parameters, as before. It is small, as the noise of sampling is not in
// all directions alike but in those that are learnt.
const sampled = 0.01

// fraction returns the f of a proxy of the prepared training: the least that its
// sampling allows, or more as long as its work is bounded.
func (s *searcher) fraction(p *train.Prepared, size, coarse float64) float64 {
	work := convexWork
	if train.IsNetwork(s.base.Model) {
		work = networkWork
	}
	noise := float64(p.Config.Model.NumParams()) * p.Spec.NoiseMultiplier * p.Spec.NoiseMultiplier
	f := max(size/(size+coarse*sampled*noise), work/coarse/p.Work())
	return min(1, math.Ceil(f*size)/size)
}
