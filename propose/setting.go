package propose

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"proactivedp/sim"
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
	return []stride{s, s.times(0.5), s.times(2)}
}

// times returns the stride with so many times the walk.
func (s stride) times(factor float64) stride { return stride{s.clip, factor * s.walk} }

// variant is what a setting has that costs neither privacy nor gradients.
type variant struct {
	features string // see train.Spec.FeatureMap
	scale    float64
	schedule sim.Decay
	average  string
}

// plain returns the variant that all search begins with.
func (s *searcher) plain() variant {
	return variant{s.base.FeatureMap, s.base.InputScale, sim.ZeroDecay, s.base.Average}
}

// triedFeatures take the place of pixels in softmax regression, where none are given.
var triedFeatures = []string{"hog:4:8", "hog:4:9"}

// triedScale is that of a network's inputs, where none is given: pixels in [0, 1] are small
// beside what its first layer could take, and clipped gradients say nothing of their size.
const triedScale = 3

// triedAverages are tried where none is given. With a step size that falls to 0 they are
// insurance against one that is too large, with a constant one they take its place.
var triedAverages = []string{"tail:0.5", "tail:0.25"}

// views returns what may be shown to the model, each of which has its own steps.
func (s *searcher) views() []variant {
	all := []variant{s.plain()}
	if s.base.Model == train.Softmax && s.base.FeatureMap == "" && s.Probe.Data().Images != nil {
		for _, features := range triedFeatures {
			v := s.plain()
			v.features = features
			all = append(all, v)
		}
	}
	if train.IsNetwork(s.base.Model) && s.base.InputScale == 0 {
		v := s.plain()
		v.scale = triedScale
		all = append(all, v)
	}
	return all
}

// others returns the variants that are tried of a good setting, for the same view.
func (v variant) others(base train.Spec) []variant {
	var all []variant
	add := func(change func(*variant)) {
		other := v
		change(&other)
		all = append(all, other)
	}
	add(func(o *variant) { o.schedule = sim.CosineDecay })
	if !base.Averages() {
		for _, average := range triedAverages {
			add(func(o *variant) { o.average = average })
		}
		add(func(o *variant) { o.schedule, o.average = sim.NoDecay, triedAverages[0] })
	}
	return all
}

// candidate is a setting with what its proxies found.
type candidate struct {
	spec     train.Spec // the setting at full size, on the data
	outlay   outlay
	stride   stride
	variant  variant
	fraction float64   // f of the last proxies
	each     []float64 // accuracies of the last proxies, one a seed
	accuracy float64   // their mean
}

// candidate returns the setting of an outlay, a stride and a variant. Its step size has
// three digits.
func (s *searcher) candidate(l outlay, st stride, v variant) *candidate {
	spec := l.of(s.base)
	spec.Clip, spec.FeatureMap, spec.InputScale = st.clip, v.features, v.scale
	spec.Schedule, spec.Average = string(v.schedule), v.average
	rounds := float64(l.rounds * s.base.Clients)
	spec.Eta0 = digits(st.walk/(st.clip*l.sigma*math.Sqrt(rounds*float64(s.params[v.features])/3)), 3)
	return &candidate{spec: spec, outlay: l, stride: st, variant: v}
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
const rankStep = 0.002

// ranked returns the candidates as they are proposed: of those within rankStep of the most
// accurate the fewest gradients first, and then what is left in the same way.
func ranked(all []*candidate) []*candidate {
	left := slices.SortedStableFunc(slices.Values(all), byAccuracy)
	for from := 0; from < len(left); {
		n := slices.IndexFunc(left[from:], func(c *candidate) bool { return c.accuracy < left[from].accuracy-rankStep })
		if n < 0 {
			n = len(left) - from
		}
		slices.SortStableFunc(left[from:from+n], func(a, b *candidate) int {
			return cmp.Compare(a.gradients(), b.gradients())
		})
		from += n
	}
	return left
}
