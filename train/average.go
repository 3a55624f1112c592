package train

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"proactivedp/sim"
)

// noAverage means that there is only the last model.
const noAverage = "none"

// average describes the mean of the broadcasts v̂_1 to v̂_T that a run keeps in addition to its last model. All
// broadcasts are sent to all clients anyway, so their mean costs no privacy.
type average struct {
	decay float64 // D: each broadcast weighs D times the next one; 0 means equal weights
	share float64 // F: the broadcasts of the last ⌈F·T⌉ rounds count; 0 means no mean
}

// parseAverage reads "" or "none", "ema:D" with D in (0, 1), or "tail:F" with F in (0, 1]. ema is an
// exponential moving average whose weights sum to 1 from the first broadcast on. tail is the mean of
// the last share F of the rounds (Polyak and Juditsky 1992 use all rounds).
func parseAverage(text string) (average, error) {
	if text == "" || text == noAverage {
		return average{}, nil
	}
	kind, number, _ := strings.Cut(text, ":")
	x, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && kind == "ema" && x > 0 && x < 1:
		return average{decay: x, share: 1}, nil
	case err == nil && kind == "tail" && x > 0 && x <= 1:
		return average{share: x}, nil
	}
	return average{}, fmt.Errorf("average = %q, must be %s, ema:D with D in (0, 1) or tail:F with F in (0, 1]",
		text, noAverage)
}

// Averages reports whether a run of the spec also computes an averaged model (the mean of several of the run's global
// models, see Spec.Average) in addition to the last global model.
func (s Spec) Averages() bool { return s.Average != "" && s.Average != noAverage }

// averager computes an average while the run broadcasts.
type averager struct {
	average
	from  int       // the first k that counts
	count int       // how many broadcasts are in the mean
	mean  []float64 // mean of these broadcasts
}

// newAverager returns the run's averager at its start, or nil if the spec asks for no average.
func (p *Prepared) newAverager() (*averager, error) {
	a, err := parseAverage(p.Spec.Average)
	if err != nil || a.share == 0 {
		return nil, err
	}
	rounds := p.Config.Run().Rounds
	return &averager{
		average: a, from: rounds - int(math.Ceil(a.share*float64(rounds))) + 1,
		mean: make([]float64, p.Config.Model.NumParams()),
	}, nil
}

// observe returns an observer that adds each broadcast and then calls next, which may be nil.
func (a *averager) observe(next sim.Observer) sim.Observer {
	return func(b sim.Broadcast) {
		if b.K >= a.from {
			a.add(b.V)
		}
		if next != nil {
			next(b)
		}
	}
}

func (a *averager) add(v []float32) {
	a.count++
	weight := 1 / float64(a.count)
	if a.decay > 0 { // (1 − D)/(1 − Dⁿ) is the weight of the n-th, if the weights of all n sum to 1
		weight = (1 - a.decay) / -math.Expm1(float64(a.count)*math.Log(a.decay))
	}
	for i, x := range v {
		a.mean[i] += float64(weight * (float64(x) - a.mean[i]))
	}
}

func (a *averager) params() []float32 {
	params := make([]float32, len(a.mean))
	for i, x := range a.mean {
		params[i] = float32(x)
	}
	return params
}
