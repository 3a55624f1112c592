package propose

import (
	"math"

	"proactivedp/data"
	"proactivedp/internal/decimal"
)

// A search compares scores, of which a larger one is better. The score of a proxy is its accuracy, or the value of
// another metric. Errors (rmse, mae) are multiplied by −1.

func (s *searcher) score(value float64) float64 {
	switch metric := s.base.MetricOf(); {
	case metric.Smaller():
		return -value
	case metric.Regression():
		return max(value, -1) // smaller ones would only widen the spread
	}
	return value
}

// value returns the value of the metric that has the score.
func (s *searcher) value(score float64) float64 {
	if s.base.MetricOf().Smaller() {
		return -score
	}
	return score
}

// worst returns the score of a proxy that diverged.
func (s *searcher) worst() float64 {
	switch metric := s.base.MetricOf(); {
	case metric.Smaller():
		return -4 * s.unit()
	case metric.Regression():
		return -1
	}
	return 0
}

// goal returns the score of the target, or −∞ without a target.
func (s *searcher) goal() float64 {
	if s.TargetAccuracy == 0 {
		return math.Inf(-1)
	}
	return s.score(s.TargetAccuracy)
}

// bounds returns the bounds of the targets.
func (s *searcher) bounds() data.TargetBounds {
	if t := s.Probe.Data().Targets; t != nil {
		return t.Bounds
	}
	return data.TargetBounds{}
}

// unit returns what a difference of 1 in accuracy corresponds to. For errors it is a quarter of the range of the
// targets, about their standard deviation.
func (s *searcher) unit() float64 {
	if !s.base.MetricOf().Smaller() {
		return 1
	}
	b := s.bounds()
	return b.High/4 - b.Low/4
}

// text formats the value that has the score. An accuracy is rounded down, so that it promises no more.
func (s *searcher) text(score float64) string {
	if metric := s.base.MetricOf(); metric.Regression() {
		return metric.Text(s.value(score))
	}
	return decimal.FixedDown(score, 4)
}

// short says on which side of its target an insufficient value is.
func (s *searcher) short() string {
	if s.base.MetricOf().Smaller() {
		return "above"
	}
	return "below"
}

// prediction returns the prediction of a candidate from its proxies.
func (s *searcher) prediction(c *candidate, spread float64) Prediction {
	half, value := s.interval(c, spread), s.value(c.accuracy)
	p := Prediction{Accuracy: value, Low: max(0, value-half), High: min(1, value+half)}
	switch metric := s.base.MetricOf(); {
	case metric.Smaller():
		p.High = min(4*s.unit(), value+half)
	case metric.Regression():
		p.Low = value - half
	}
	return p
}

// values returns the metric of each proxy of a candidate.
func (s *searcher) values(c *candidate) []float64 {
	all := make([]float64, len(c.each))
	for i, v := range c.each {
		all[i] = s.value(v)
	}
	return all
}
