package propose

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"proactivedp/models"
)

// Coverage is the confidence of the predicted intervals: the fraction of trainings whose test accuracy should be in
// the interval. The interval reaches a number of standard deviations of the prediction's error to either side of the
// prediction. For classifiers this number is 1.645, the 95 % quantile of a normal distribution ([models.Quantile]),
// because a formula gives the error from the choice of the held-out and test rows (models.Metric.Variance). For
// regression there is no formula, and the standard deviation is only estimated, from the n seeds of a setting. The
// number is then larger: the 95 % quantile of Student's t distribution with n − 1 degrees of freedom.
const Coverage = 0.9

// proxyBias is the error of a proxy at f < 1 in addition to the spread over its seeds. The measured
// error in results/predictions is smaller.
const proxyBias = 0.002

// interval returns the half-width of the interval around a predicted accuracy. The interval is for the
// test accuracy of one training of the setting with any seed. Three independent errors add up: the
// spread of trainings of one setting over seeds, the sampling error of the rows that judge and of the
// test rows (see models.Metric.Variance), and the bias of the proxy.
func (s *searcher) interval(c *candidate, spread float64) float64 {
	p, m := c.accuracy, float64(len(c.each))
	metric := s.base.MetricOf()
	if metric.Regression() {
		// Nothing bounds the sampling error, so it is not removed from the spread. Other rows judge each seed, so the spread
		// contains that of as many rows; test rows may be fewer.
		variance := spread*spread*(1/m+max(1, s.judges/s.tested)) + proxyBias*proxyBias*s.unit()*s.unit()
		return distuv.StudentsT{Sigma: 1, Nu: max(m-1, 1)}.Quantile((1+Coverage)/2) * math.Sqrt(variance)
	}
	variance := spread*spread*(1+1/m) + metric.Variance(p, s.judged(m)) + metric.Variance(p, s.tested)
	if s.Probing == Private {
		noise := s.countSigma() / float64(s.holdout)
		variance += noise * noise
	}
	if c.fraction < 1 {
		variance += proxyBias * proxyBias
	}
	return models.Quantile * math.Sqrt(variance)
}

// judged returns how many rows, as models.Metric.Rows counts them, judged the proxies of m seeds, or a lower
// bound. If there are more seeds
// than parts of the rows, as after seeds are doubled, some parts judge again, but no row counts twice.
// In a published set the rows of different seeds overlap. Then only those of one seed count, so the
// interval is too wide.
func (s *searcher) judged(m float64) float64 {
	if s.published() {
		return s.judges
	}
	return min(m, float64(s.folds())) * s.judges
}

// spread returns the standard deviation of the accuracy of trainings of one setting, after the sampling
// error of the rows that judge is removed. It is pooled over the candidates, because each has few
// seeds.
func (s *searcher) spread(all []*candidate) float64 {
	if len(all[0].each) < 2 {
		return 0 // one training has no spread
	}
	variance, explained := 0.0, 0.0
	for _, c := range all {
		variance += stat.Variance(c.each, nil) / float64(len(all))
		if !s.published() && !s.base.MetricOf().Regression() { // other rows judge each seed; in a published set they overlap
			explained += s.base.MetricOf().Variance(c.accuracy, s.judges) / float64(len(all))
		}
	}
	return math.Sqrt(max(0, variance-explained))
}

func mean(x []float64) float64 { return stat.Mean(x, nil) }
