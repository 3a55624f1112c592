package train

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"proactivedp/sim"
)

// noAverage says that the last model is the only one.
const noAverage = "none"

// average says which mean of the broadcasts v̂_1 to v̂_T a run keeps beside its last model.
// It is computed from what is sent to all clients, so that it costs no privacy.
type average struct {
	decay float64 // D: each broadcast weighs D times the next one; 0: all that count weigh the same
	share float64 // F: the broadcasts of the last ⌈F·T⌉ rounds count; 0: there is no mean
}

// parseAverage reads "" or "none", "ema:D" with D in (0, 1) (an exponential moving average
// whose weights sum to 1 from the first broadcast on) or "tail:F" with F in (0, 1] (the
// mean of the last share F of the rounds; Polyak and Juditsky 1992 have all of them).
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

// Averages reports whether the spec asks for an average beside the last model.
func (s Spec) Averages() bool { return s.Average != "" && s.Average != noAverage }

// averager is an average as it is made.
type averager struct {
	average
	from  int       // the first k that counts
	count int       // how many broadcasts have been counted
	mean  []float64 // of these
}

// newAverager returns the run's average at its start; nil if it has none.
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

// observe returns an observer that counts a broadcast, and then shows it to next, which
// may be nil.
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

// add counts a broadcast.
func (a *averager) add(v []float32) {
	a.count++
	weight := 1 / float64(a.count)
	if a.decay > 0 { // (1 − D)/(1 − Dⁿ): that of the n-th, if the weights of all n sum to 1
		weight = (1 - a.decay) / -math.Expm1(float64(a.count)*math.Log(a.decay))
	}
	for i, x := range v {
		a.mean[i] += float64(weight * (float64(x) - a.mean[i]))
	}
}

// params returns the averaged model.
func (a *averager) params() []float32 {
	params := make([]float32, len(a.mean))
	for i, x := range a.mean {
		params[i] = float32(x)
	}
	return params
}
