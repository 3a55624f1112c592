package propose

import (
	"cmp"
	"math"
	"strconv"

	"proactivedp/train"
)

// What is tried of step sizes is the length that the noise alone would make the model
// walk, ν = η₀Cσ√(Td/3) for d parameters, T rounds of all clients and steps that fall to
// 0: the best is of one size for all outlays of one budget, and between these for the
// models here.
var triedWalks = []float64{1.5, 3, 6, 12, 24, 48, 96, 192}

// Clipping norms that are tried for models of which gradients are often shorter than the
// clip. Of networks only η₀C counts, and the clip is that of the base.
var triedClips = []float64{0.1, 0.3, 1}

// stride is what decides a setting's steps, for any outlay.
type stride struct{ clip, walk float64 }

// strides returns those that are tried.
func (s *searcher) strides() []stride {
	clips := triedClips
	if train.IsNetwork(s.base.Model) {
		clips = []float64{s.base.Clip}
	}
	var all []stride
	for _, clip := range clips {
		for _, walk := range triedWalks {
			all = append(all, stride{clip, walk})
		}
	}
	return all
}

// near returns the strides like this one, to be tried for another budget.
func (s stride) near() []stride {
	return []stride{s, {s.clip, s.walk / 2}, {s.clip, 2 * s.walk}}
}

// candidate is a setting with what its proxies found.
type candidate struct {
	spec     train.Spec // the setting at full size, on the data
	outlay   outlay
	stride   stride
	fraction float64   // f of the last proxies
	each     []float64 // accuracies of the last proxies, one a seed
	accuracy float64   // their mean
}

// candidate returns the setting of an outlay and a stride. Its step size has three
// digits.
func (s *searcher) candidate(l outlay, st stride) *candidate {
	spec := l.of(s.base)
	spec.Clip = st.clip
	rounds := float64(l.rounds * s.base.Clients)
	spec.Eta0 = digits(st.walk/(st.clip*l.sigma*math.Sqrt(rounds*float64(s.params)/3)), 3)
	return &candidate{spec: spec, outlay: l, stride: st}
}

// gradients returns how many gradients all clients compute.
func (c *candidate) gradients() int { return c.spec.GradComps * c.spec.Clients }

// digits returns v > 0 rounded to so many digits.
func digits(v float64, n int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// byAccuracy orders candidates, the most accurate first.
func byAccuracy(a, b *candidate) int { return cmp.Compare(b.accuracy, a.accuracy) }

// rankStep is the difference in accuracy that is not worth more gradients.
const rankStep = 0.001

// byRank orders candidates as they are proposed: by accuracy in steps of rankStep, of
// equal ones the fewest gradients first.
func byRank(a, b *candidate) int {
	return cmp.Or(
		cmp.Compare(math.Round(b.accuracy/rankStep), math.Round(a.accuracy/rankStep)),
		cmp.Compare(a.gradients(), b.gradients()),
		byAccuracy(a, b),
	)
}
