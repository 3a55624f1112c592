package sim

import (
	"math"
	"slices"
	"testing"

	"proactivedp/rng"
)

func exact(c *Config) { c.Mechanism.Exact = true }

// An exact round releases the rounded sum of its sample plus its noise: if the noise is subtracted, the
// sum is left, up to float32 rounding. Sample and noise differ from those of a simulation in floating
// point.
func TestExactRoundsReleaseTheirSum(t *testing.T) {
	for _, option := range []option{exact, func(*Config) {}} {
		cfg := small(t, option)
		c, err := NewClient(cfg, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		ws, d := NewWorkspace(cfg.Model), cfg.Model.NumParams()
		c.Begin()
		u, noise, sum := make([]float32, d), make([]float32, d), make([]float64, d)
		if err := c.Compute(u, ws); err != nil {
			t.Fatal(err)
		}
		if err := c.GradSum(sum, c.Sample(ws), ws); err != nil {
			t.Fatal(err)
		}
		cfg.Mechanism.Noise(noise, cfg.Roots.Clients[1].Stream(rng.Noise, 1, 0))
		for j := range u {
			if rest := float64(u[j]) - float64(noise[j]); math.Abs(rest-sum[j]) > 1e-6*(1+math.Abs(float64(u[j]))) {
				t.Fatalf("coordinate %d: %v without its noise, the sum is %v", j, rest, sum[j])
			}
		}
	}
}

// A seed gives the same bits with any number of workers, and other bits than without exact noise.
func TestExactRunsAreRepeatable(t *testing.T) {
	want := runVirtual(t, small(t, exact), Perf{})
	if got := runVirtual(t, small(t, exact), Perf{Workers: 2, MinWork: 1}); !slices.Equal(got.Params, want.Params) {
		t.Error("two workers give other bits")
	}
	if plain := runVirtual(t, small(t), Perf{}); slices.Equal(plain.Params, want.Params) {
		t.Error("exact samples and noise are those of a simulation")
	}
}
