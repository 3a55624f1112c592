package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"proactivedp/train"
)

// scalePoint is the cost of a training with given numbers of clients and parameters.
type scalePoint struct {
	Runner     string  `json:"runner"`
	Model      string  `json:"model"`
	Processors int     `json:"processors"`
	Clients    int     `json:"clients"`
	Params     int     `json:"parameters"`
	Updates    int     `json:"client_rounds"`
	Rate       float64 `json:"client_rounds_per_second"` // by wall-clock time
	// These are the nanoseconds of processor time for a client round: the median over the runs, the
	// smallest and the largest.
	Nanoseconds float64 `json:"processor_ns"`
	Least       float64 `json:"processor_ns_least"`
	Most        float64 `json:"processor_ns_most"`
	Gradient    float64 `json:"gradient_ns"` // the part of it that the gradient takes; 0 if not measured
	MiB         float64 `json:"peak_mib"`    // the peak resident memory of the process
}

// lawful reports whether the law is fitted to the point.
func (p scalePoint) lawful() bool { return p.Runner == train.VirtualRunner && p.Model == train.Ridge }

// scaleLaw says how the cost grows with the number n of clients and the number d of parameters.
//
// The processor time of a client round is a + b·log₂n + c·d + (e + f·d)·m. The term with log₂n is for the queue of
// events. m = log₂ max(1, 4(n+3)d/Cache) says by how many doublings the clients' models, the server's, a broadcast
// and an update together exceed a fast memory of Cache bytes. The memory is Base + n·(Client + Vectors·4d).
type scaleLaw struct {
	A     float64 `json:"a_ns"`
	B     float64 `json:"b_ns"`
	C     float64 `json:"c_ns"`
	E     float64 `json:"e_ns"`
	F     float64 `json:"f_ns"`
	Cache float64 `json:"cache_bytes"` // the power of 2 for which the law fits best
	Time  lawFit  `json:"time_residuals"`

	Base    float64 `json:"base_bytes"`
	Client  float64 `json:"client_bytes"`
	Vectors float64 `json:"vectors_per_client"`
	Memory  lawFit  `json:"memory_residuals"`
}

// lawFit says how well a law fits its points: relative residuals.
type lawFit struct {
	RMS   float64 `json:"rms"`
	Worst float64 `json:"worst"`
}

// Nanoseconds returns the time of a round by the law.
func (l *scaleLaw) Nanoseconds(clients, params int) float64 {
	t := timeTerms(clients, params, l.Cache)
	return l.A*t[0] + l.B*t[1] + l.C*t[2] + l.E*t[3] + l.F*t[4]
}

func (l *scaleLaw) MiB(clients, params int) float64 {
	t := memoryTerms(clients, params)
	return (l.Base*t[0] + l.Client*t[1] + l.Vectors*t[2]) / (1 << 20)
}

func timeTerms(clients, params int, cache float64) []float64 {
	n, d := float64(clients), float64(params)
	m := math.Log2(max(1, 4*(n+3)*d/cache))
	return []float64{1, math.Log2(n), d, m, d * m}
}

func memoryTerms(clients, params int) []float64 {
	n, d := float64(clients), float64(params)
	return []float64{1, n, n * 4 * d}
}

// A fast memory may have 2^minCache to 2^maxCache bytes.
const minCache, maxCache = 15, 30

// fitScale fits the laws to the points by least squares of the relative residuals. The points must
// be of one runner and of a model whose gradient costs nearly the same for every d.
func fitScale(points []scalePoint) (*scaleLaw, error) {
	var l scaleLaw
	for log := minCache; log <= maxCache; log++ {
		cache := math.Ldexp(1, log)
		c, fit, err := leastSquares(points, func(p scalePoint) ([]float64, float64) {
			return timeTerms(p.Clients, p.Params, cache), p.Nanoseconds
		})
		if err != nil {
			continue // no model exceeds such a large memory
		}
		if l.Cache == 0 || fit.RMS < l.Time.RMS {
			l = scaleLaw{A: c[0], B: c[1], C: c[2], E: c[3], F: c[4], Cache: cache, Time: fit}
		}
	}
	if l.Cache == 0 {
		return nil, fmt.Errorf("%d points do not determine how the time of a round grows", len(points))
	}
	c, fit, err := leastSquares(points, func(p scalePoint) ([]float64, float64) {
		return memoryTerms(p.Clients, p.Params), p.MiB * (1 << 20)
	})
	if err != nil {
		return nil, err
	}
	l.Base, l.Client, l.Vectors, l.Memory = c[0], c[1], c[2], fit
	return &l, nil
}

// leastSquares returns the coefficients for which the sums of the points' terms are nearest to their
// values, in relative terms.
func leastSquares(points []scalePoint, of func(scalePoint) (terms []float64,
	value float64)) ([]float64, lawFit, error) {
	var rows []float64
	for _, p := range points {
		terms, value := of(p)
		for _, t := range terms {
			rows = append(rows, t/value)
		}
	}
	n := len(points)
	if n == 0 || len(rows)/n > n {
		return nil, lawFit{}, fmt.Errorf("%d points are too few for a law", n)
	}
	a, ones := mat.NewDense(n, len(rows)/n, rows), mat.NewVecDense(n, nil)
	for i := range n {
		ones.SetVec(i, 1)
	}
	var c, got mat.VecDense
	if err := c.SolveVec(a, ones); err != nil {
		return nil, lawFit{}, fmt.Errorf("fit of a law: %w", err)
	}
	got.MulVec(a, &c)
	got.SubVec(&got, ones)
	return c.RawVector().Data, lawFit{RMS: mat.Norm(&got, 2) / math.Sqrt(float64(n)),
		Worst: mat.Norm(&got, math.Inf(1))}, nil
}
