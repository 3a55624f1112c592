package propose

import (
	"cmp"
	"math"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/sim"
	"proactivedp/train"
)

// The walks ν that are tried. ν = η₀Cσ√(Td/3) is the length of the model's path if there is only noise,
// for d parameters, T rounds of all clients and step sizes that fall to 0. It determines the step size.
// The best ν is about the same for all outlays of one budget, and lies in this range for the models
// here.
var triedWalks = []float64{1.5, 3, 6, 12, 24, 48, 96, 192}

// regressionWalk divides the walks for linear regression, whose weights must be of the right length: larger steps miss it.
const regressionWalk = 24

// stride is a clipping norm and a walk (see triedWalks). Together with an outlay it determines the step
// sizes of a setting.
type stride struct{ clip, walk float64 }

// strides returns the strides that are tried.
func (s *searcher) strides() []stride {
	var all []stride
	for _, clip := range s.base.TriedClips() {
		for _, walk := range triedWalks {
			if train.IsRegression(s.base.Model) {
				walk /= regressionWalk
			}
			all = append(all, stride{clip, walk})
		}
	}
	return all
}

// near returns similar strides, to be tried for another budget.
func (s stride) near() []stride {
	return []stride{s, s.times(0.5), s.times(2)}
}

// times returns the stride with its walk multiplied by factor.
func (s stride) times(factor float64) stride { return stride{s.clip, factor * s.walk} }

// variant is the part of a setting that costs neither privacy nor gradients.
type variant struct {
	features string // see train.Spec.FeatureMap
	scale    float64
	schedule sim.Decay
	average  string
}

// plain returns the variant that every search begins with.
func (s *searcher) plain() variant {
	return variant{s.base.FeatureMap, s.base.InputScale, sim.ZeroDecay, s.base.Average}
}

// triedFeatures replace the pixels in softmax regression if the base has no features.
var triedFeatures = []string{"hog:4:8", "hog:4:9"}

// triedScale is the input scale of a network if the base gives no scale. Pixels in [0, 1] are smaller
// than the first layer's best inputs, and clipped gradients do not show this.
const triedScale = 3

// triedAverages are tried if the base has no average. With step sizes that fall to 0, they protect
// against a step size that is too large; with constant step sizes they replace the decrease.
var triedAverages = []string{"tail:0.5", "tail:0.25"}

// views returns the input variants of the model. Each has its own best steps.
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

// others returns the variants that are tried for a good setting, with the same inputs.
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

// candidate is a setting with the results of its proxies.
type candidate struct {
	spec     train.Spec // the setting at full size, on the data
	outlay   outlay
	stride   stride
	variant  variant
	fraction float64   // f of the last proxies
	each     []float64 // scores of the last proxies, one for each seed: usually their accuracies, see searcher.score
	accuracy float64   // their mean
}

// candidate returns the setting of an outlay, a stride and a variant. Its step size has three digits.
func (s *searcher) candidate(l outlay, st stride, v variant) *candidate {
	spec := l.of(s.base)
	spec.Clip, spec.FeatureMap, spec.InputScale = st.clip, v.features, v.scale
	spec.Schedule, spec.Average = string(v.schedule), v.average
	rounds := float64(l.rounds * s.base.Clients)
	spec.Eta0 = decimal.Digits(st.walk/(st.clip*l.sigma*math.Sqrt(rounds*float64(s.params[v.features])/3)), 3)
	return &candidate{spec: spec, outlay: l, stride: st, variant: v}
}

// candidates returns the settings of every outlay with every stride.
func (s *searcher) candidates(v variant, strides []stride, laid ...outlay) []*candidate {
	var all []*candidate
	for _, l := range laid {
		for _, st := range strides {
			all = append(all, s.candidate(l, st, v))
		}
	}
	return all
}

// gradients returns the number of gradients that all clients compute.
func (c *candidate) gradients() int { return c.spec.GradComps * c.spec.Clients }

// byAccuracy orders candidates by decreasing accuracy.
func byAccuracy(a, b *candidate) int { return cmp.Compare(b.accuracy, a.accuracy) }

// rankStep is the largest difference in accuracy that does not justify more gradients, in searcher.unit.
const rankStep = 0.002

// ranked returns the candidates in the order of proposals. Of those within step of the most
// accurate, the one with the fewest gradients comes first. The rest is ordered in the same way.
func ranked(all []*candidate, step float64) []*candidate {
	left := slices.SortedStableFunc(slices.Values(all), byAccuracy)
	for from := 0; from < len(left); {
		n := slices.IndexFunc(left[from:], func(c *candidate) bool { return c.accuracy < left[from].accuracy-step })
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
