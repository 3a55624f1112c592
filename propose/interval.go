package propose

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Coverage is the part of trainings whose test accuracy is to be in the interval, and quantile
// how many standard deviations that is to either side.
const (
	Coverage = 0.9
	quantile = 1.645
)

// proxyBias is what a proxy at f < 1 may be off by, beside what its seeds show. Measured
// over the settings of results/predictions it is smaller.
const proxyBias = 0.002

// interval returns the half-width of the interval around a predicted accuracy: for the
// test accuracy of one training of the setting, with any seed. It puts together, as
// independent, how differently trainings of one setting end (spread, from the seeds),
// how far the rows that judged and the rows of the test set are from all rows
// (binomial), and what the proxy may be off by.
func (s *searcher) interval(c *candidate, spread float64) float64 {
	p, m := c.accuracy, float64(len(c.each))
	variance := spread*spread*(1+1/m) + binomial(p, s.judged(m)) + binomial(p, float64(s.tested))
	if s.Probing == Private {
		noise := s.countSigma() / float64(s.holdout)
		variance += noise * noise
	}
	if c.fraction < 1 {
		variance += proxyBias * proxyBias
	}
	return quantile * math.Sqrt(variance)
}

// judged returns how many rows judged the proxies of m seeds, or fewer. If there are more seeds than
// parts of the rows, as where seeds are doubled, parts judge again, and no row counts twice. On a
// published set the rows of different seeds overlap. Only those of one seed are counted, so the
// interval is too wide.
func (s *searcher) judged(m float64) float64 {
	if s.published() {
		return float64(s.holdout)
	}
	return min(m, float64(s.folds())) * float64(s.holdout)
}

// binomial is the variance of an accuracy on n rows drawn at random, if p is that on all.
func binomial(p, n float64) float64 { return p * (1 - p) / n }

// spread returns the standard deviation of the accuracy of trainings of one setting
// beyond what the rows that judge them explain, pooled over the candidates: each has few
// seeds.
func (s *searcher) spread(all []*candidate) float64 {
	if len(all[0].each) < 2 {
		return 0 // one training shows no spread
	}
	variance, explained := 0.0, 0.0
	for _, c := range all {
		variance += stat.Variance(c.each, nil) / float64(len(all))
		if !s.published() { // each seed was judged by other rows, which overlap on a published set
			explained += binomial(c.accuracy, float64(s.holdout)) / float64(len(all))
		}
	}
	return math.Sqrt(max(0, variance-explained))
}

func mean(x []float64) float64 { return stat.Mean(x, nil) }
