package pld

import (
	"math"
	"slices"
)

// usualNodes is about the number of nodes of all cells.
const usualNodes = 100

const (
	// manySpecs is the number of different rounds above which parameters are chosen from a sketch with at most as
	// many rounds. Above maxAlone the rounds are in cells, and the sketch has at most roughSpecs.
	manySpecs, maxAlone, roughSpecs = 128, 1536, 40
)

// sketched returns about the same rounds with fewer different ones, or nil if there are few already or
// nothing is gained. A rough sketch has fewer.
func sketched(specs []spec, rough bool) []spec {
	if len(specs) <= manySpecs {
		return nil
	}
	var whole float64 // Σ count/σ² of the rounds with q = 1, which are together one Gaussian
	var kept []spec
	for _, s := range specs {
		switch {
		case s.given != nil:
			kept = append(kept, s)
		case s.q == 1:
			whole += s.count / (s.sigma * s.sigma)
		}
	}
	if whole > 0 {
		kept = append(kept, spec{q: 1, sigma: 1 / math.Sqrt(whole), count: 1})
	}
	most := manySpecs
	if rough {
		most = roughSpecs
	}
	for width := 0.02; ; width *= 1.3 {
		index := map[[2]float64]int{}
		few := slices.Clone(kept)
		for _, s := range specs {
			if s.given != nil || s.q == 1 {
				continue
			}
			// A moment of the loss changes faster with σ than with q, and fastest if σ is small.
			cell := [2]float64{math.Floor(math.Log(s.q) / (4 * width)), math.Floor((math.Log(s.sigma) - 2/s.sigma) / width)}
			i, ok := index[cell]
			if !ok {
				if rough && len(index) == most { // there are too many
					index[cell] = len(few)
					break
				}
				index[cell] = len(few)
				few = append(few, s)
				continue
			}
			f := &few[i]
			f.count += s.count
			f.q = math.Sqrt(f.q*f.q + (s.q*s.q-f.q*f.q)*s.count/f.count)
			f.sigma += (s.sigma - f.sigma) * s.count / f.count
		}
		if len(index) > most {
			continue
		}
		if len(few) < len(specs) { // so a sketch of sketches ends
			return few
		}
		return nil
	}
}
