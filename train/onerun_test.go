package train

import (
	"math"
	"slices"
	"testing"

	"proactivedp/audit"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
)

// rowsOf returns the data set of images that has some of the rows of d, the first of them for training.
func rowsOf(d *data.Dataset, rows []int, train int) *data.Dataset {
	c, images := *d, *d.Images
	c.Label, images.Pixels, c.Train = nil, nil, train
	for _, i := range rows {
		c.Label = append(c.Label, d.Label[i])
		images.Pixels = append(images.Pixels, d.Images.Image(i)...)
	}
	c.Images = &images
	return &c
}

// One training on the features of package scatter is audited by 400 canaries with wrong labels, whose score is
// the negative loss (Steinke, Nasr and Jagielski 2023). The bound from below must not be above the certified ε.
// By chance it would be in at most one of 1,000 trainings with other seeds. The bound of a training with
// hardly any noise must be above this ε, or the attack finds nothing.
func TestOneRunAuditOfScattering(t *testing.T) {
	const canaries, others, tested = 400, 60, 60
	root := rng.New(1)
	all := synth.Digits(root, (canaries+others+tested)*7/6)
	draws := rng.New(2).Stream(rng.Synthetic, 0, 0)
	member := make([]bool, canaries)
	var canary, used []int
	for i := range canaries {
		all.Label[i] = (all.Label[i] + 1 + int32(draws.IntN(9))) % 10
		canary = append(canary, i)
		if member[i] = draws.IntN(2) == 1; member[i] {
			used = append(used, i)
		}
	}
	for i := canaries; i < canaries+others+tested; i++ {
		used = append(used, i)
	}
	d := rowsOf(all, used, len(used)-tested)
	attacked := rowsOf(all, canary, 0)

	spec := smallLeNet()
	spec.Model, spec.FeatureMap, spec.Clients, spec.Delta = Softmax, "scatter", 1, 1e-9
	spec.Clip, spec.SampleSize, spec.GradComps = 0.1, "64", 64*400
	spec.Schedule, spec.Beta, spec.Eta0 = string(sim.ZeroDecay), 0, 0.5
	lower := func(sigma float64) (float64, *Report) {
		spec.NoiseMultiplier = sigma
		p, err := spec.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, m := savedOf(t, p, d)
		logits, err := m.Logits(attacked)
		if err != nil {
			t.Fatal(err)
		}
		scores := audit.Scores{Member: member}
		for i := range canaries {
			z := logits[10*i : 10*i+10]
			sum, most := 0.0, float64(slices.Max(z))
			for _, v := range z {
				sum += math.Exp(float64(v) - most)
			}
			scores.Score = append(scores.Score, float64(z[attacked.Label[i]])-most-math.Log(sum))
		}
		report, err := scores.Audit(audit.ScoresOptions{Delta: spec.Delta, Confidence: 0.999})
		if err != nil {
			t.Fatal(err)
		}
		return report.EpsilonLowerBound, r
	}
	low, r := lower(16)
	e := r.Privacy.Certified.PerRecord.EpsilonUpper
	if e == nil || low > *e {
		t.Fatalf("epsilon is at least %v, certified to be at most %v", low, e)
	}
	if low, _ := lower(0.01); low <= *e {
		t.Errorf("with hardly any noise epsilon is at least %v, which must be above %v: the attack finds nothing", low, *e)
	}
}
