package train

import (
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Two runs of one seed, by the two runners, share every sample and all noise;
// only how the clients interleave differs. Two runs agree if their accuracies
// differ by at most agreement, and the runners agree if at least 3 pairs of runs
// in 4 do (on these data, at τ = 1, some 37 in 40 do). allowedDisagreements of
// comparedSeeds pairs may disagree: runners that agree are then called different
// with a probability of at most falseAlarm, by the tail of the binomial
// distribution, however accuracies are distributed.
const (
	agreement     = 0.002
	disagreeing   = 0.25
	comparedSeeds = 40
	falseAlarm    = 1e-6
)

// allowedDisagreements is the least number that a binomial number of
// comparedSeeds at disagreeing exceeds with probability at most falseAlarm.
func allowedDisagreements() int {
	n := comparedSeeds
	tail, term := 0.0, math.Pow(disagreeing, float64(n)) // P(= n)
	for k := n; ; k-- {
		if tail+term > falseAlarm {
			return k
		}
		tail += term
		term *= float64(k) / float64(n-k+1) * (1 - disagreeing) / disagreeing
	}
}

// disagreements trains by both runners, by hogwild with what clients release in
// each of the ways given, and counts for each the seeds whose accuracy does not
// agree with virtual's.
func disagreements(t *testing.T, d *data.Dataset, releases []sim.Substitute) []int {
	t.Helper()
	spec := DefaultSpec()
	spec.Data, spec.GradComps, spec.SampleSize, spec.NoiseMultiplier = d.Name, 2000, "10", 8
	counts := make([]int, len(releases))
	for seed := range comparedSeeds {
		spec.Seed = uint64(seed + 1)
		p, err := spec.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		judge := p.Judge()
		accuracy := func(runner string, release sim.Substitute) float64 {
			p.Spec.Runner, p.Config.Substitute = runner, release
			r, err := p.Run(t.Context(), sim.Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return judge(r.Params)
		}
		want := accuracy(VirtualRunner, nil)
		for i, release := range releases {
			if math.Abs(accuracy(HogwildRunner, release)-want) > agreement {
				counts[i]++
			}
		}
	}
	return counts
}

// Hogwild is as accurate as virtual; biases that are planted in it, with which 37
// or more of 40 seeds disagree, are found.
func TestHogwildIsAsAccurateAsVirtual(t *testing.T) {
	names := []string{"as it is", "a client is silent", "noise is added twice"}
	releases := []sim.Substitute{
		nil,
		func(c *sim.Client, u []float32, ws *sim.Workspace) error {
			if c.ID() == 0 {
				clear(u)
				return nil
			}
			return c.Release(u, ws)
		},
		func(c *sim.Client, u []float32, ws *sim.Workspace) error {
			err := c.Release(u, ws)
			f32.Widen(ws.Sum(), u)
			c.AddNoise(u, ws.Sum(), ws)
			return err
		},
	}
	for name, load := range map[string]func(*testing.T) *data.Dataset{
		"synth-phishing": func(*testing.T) *data.Dataset { return synth.Phishing(rng.New(1)) },
		"phishing":       func(t *testing.T) *data.Dataset { return realData(t, "phishing") },
	} {
		t.Run(name, func(t *testing.T) {
			allowed := allowedDisagreements()
			for i, n := range disagreements(t, load(t), releases) {
				t.Logf("hogwild, %s: of %d seeds %d disagree with virtual, %d may", names[i], comparedSeeds, n, allowed)
				if differ := n > allowed; differ != (i > 0) {
					t.Errorf("hogwild, %s: called different: %t", names[i], differ)
				}
			}
		})
	}
}

// The binomial tail by logarithms of the gamma function, which is another way
// than allowedDisagreements'.
func TestAllowedDisagreements(t *testing.T) {
	tail := func(from int) float64 {
		sum := 0.0
		for k := from; k <= comparedSeeds; k++ {
			lg := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
			sum += math.Exp(lg(comparedSeeds) - lg(k) - lg(comparedSeeds-k) + float64(k)*math.Log(disagreeing) +
				float64(comparedSeeds-k)*math.Log1p(-disagreeing))
		}
		return sum
	}
	c := allowedDisagreements()
	if above, at := tail(c+1), tail(c); above > falseAlarm || at <= falseAlarm {
		t.Errorf("%d allowed: more have probability %v, as many or more %v", c, above, at)
	}
}
