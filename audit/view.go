package audit

import (
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
)

// lens computes how an adversary reads a release: its component in the direction of the canary, which
// is record 0, minus the mean component of the other records. If the canaries are those of a person, all have this
// direction.
type lens struct {
	direction  []float32 // of norm 1
	background float64   // mean of all other records together
}

// newLens returns the lens for the setting's gradients at the initial parameters. The steps are so
// small that the gradients stay the same until the end.
func newLens(s setting) (lens, error) {
	m := s.model
	params, scratch := make([]float32, m.NumParams()), m.NewScratch()
	m.Init(params, rng.New(0).Stream(rng.Init, 0, 0))
	canary, others := make([]float32, len(params)), make([]float32, len(params))
	first := s.rows()[0]
	alone, rest := data.Batch{Data: s.data, Rows: first.Rows[:1]}, data.Batch{Data: s.data, Rows: first.Rows[s.canaries():]}
	if err := m.ClippedGradSum(canary, params, alone, clip, scratch); err != nil {
		return lens{}, err
	}
	if err := m.ClippedGradSum(others, params, rest, clip, scratch); err != nil {
		return lens{}, err
	}
	scale(canary, float32(1/math.Sqrt(f32.SumSquares(canary))))
	return lens{canary, dot(others, canary)}, nil
}

// view has the numbers that the adversary computes from one run, by client and round. Each client
// writes only to its own elements, so clients may write at the same time.
type view struct {
	lens
	rounds int
	places float64
	rate   []float64 // sample rate of each release, which is public
	along  []float64 // component of each release in the canary's direction
	silent []bool    // whether each release was entirely zero
}

func newView(l lens, s setting) *view {
	n := s.clients * s.rounds
	return &view{
		lens: l, rounds: s.rounds, places: float64(s.places),
		rate: make([]float64, n), along: make([]float64, n), silent: make([]bool, n),
	}
}

func (v *view) see(c *sim.Client, u []float32, _ *sim.Workspace) error {
	at := c.ID()*v.rounds + c.Round()
	v.rate[at] = float64(c.Size()) / v.places
	v.along[at] = dot(u, v.direction) - v.rate[at]*v.background
	v.silent[at] = !slices.ContainsFunc(u, func(x float32) bool { return x != 0 })
	return nil
}
