package experiments

import (
	"context"
	"fmt"
	"strconv"

	"proactivedp/data/scatter"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
)

// sampledRun is a training whose batches are drawn in several ways: epochs of batches rounds each, at
// each of some certified ε.
type sampledRun struct {
	batches, epochs int
	features        string
	epsilons        []float64
}

var sampledRuns = map[string]sampledRun{
	"phishing": {batches: 35, epochs: 20, epsilons: []float64{0.1, 0.3, 1, 3}},
	"mnist":    {batches: 30, epochs: 8, features: scatter.Name, epsilons: []float64{0.3, 1, 3}},
}

// sampledDelta is the δ of all these trainings.
const sampledDelta = 1e-5

// samplingFigure shows the accuracy of Poisson samples, of random allocation and of samples of a fixed
// size, with the noise that each needs for the same ε.
func (s experiment) samplingFigure() Figure {
	return s.pricedFigure(s.Train.Data+"-sampling", "Accuracy by the way of drawing batches, at equal certified ε", s.bySampling, nil,
		func(f *figureConfig, all []priced, p *plots.Picture) string {
			run := sampledRuns[s.Train.Data]
			p.Title = f.data().Name + ": how batches are drawn"
			p.Rows = samplingRows(all)
			p.Caption = fmt.Sprintf("One client, %d epochs of %d batches, δ = %g, certified by pld. Poisson sampling and random "+
				"allocation: add-or-remove adjacency; fixed size: replace-one. σ is the least for ε, and the step size is the usual "+
				"one for this σ. Shown: %s%s. Numbered seeds: a simulation, no release.",
				run.epochs, run.batches, sampledDelta, spreadText(f.seeds), f.note())
			return ""
		})
}

func (s experiment) bySampling(ctx context.Context, f *figureConfig) ([]priced, error) {
	run := sampledRuns[s.Train.Data]
	var all []priced
	for _, series := range []struct {
		name     string
		sampling dp.Sampling
	}{{"Poisson sampling", dp.Poisson}, {"random allocation", dp.Allocation}, {"fixed size", dp.FixedSize}} {
		more, err := f.series(ctx, series.name, len(run.epsilons), func(i int) (train.Spec, error) {
			return s.sampled(ctx, f, run, series.sampling, run.epsilons[i])
		})
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// sampled returns the training with one way of drawing batches, and the least noise for ε.
func (s experiment) sampled(
	ctx context.Context, f *figureConfig, run sampledRun, sampling dp.Sampling, epsilon float64,
) (train.Spec, error) {
	spec := s.Train
	spec.Clients, spec.Delta, spec.NoiseMultiplier = 1, sampledDelta, 1
	spec.Schedule, spec.Beta = string(sim.ZeroDecay), 0
	if run.features != "" {
		spec.Model, spec.FeatureMap = train.Softmax, run.features
	}
	p, err := f.source.Prepare(spec) // for the number of records
	if err != nil {
		return spec, err
	}
	if spec.Sampling = string(sampling); sampling == dp.Allocation {
		spec.Batches = run.batches
	}
	size := (p.Config.Mechanism.DatasetSize + run.batches - 1) / run.batches
	spec.SampleSize, spec.GradComps = strconv.Itoa(size), size*run.batches*run.epochs
	if spec, err = f.part(spec); err != nil {
		return spec, err
	}
	return f.usual(ctx, spec, epsilon)
}

// usual returns the spec, whose sample size is constant, with the least noise for ε and with the clipping norm and the
// step size that train chooses for this noise without looking at the data.
func (f *figureConfig) usual(ctx context.Context, spec train.Spec, epsilon float64) (train.Spec, error) {
	spec.Clip = spec.UsualClip()
	spec, err := f.source.CalibrateSeeds(ctx, spec, f.seeds, epsilon)
	if err != nil {
		return spec, err
	}
	p, err := f.source.Prepare(spec)
	if err != nil {
		return spec, err
	}
	run := p.Config.Run()
	spec.Eta0 = train.UsualStep(spec, p.Config.Model.NumParams(), spec.NoiseMultiplier, float64(run.Max),
		run.Rounds*spec.Clients)
	return spec, nil
}

// samplingRows returns the table below the picture.
func samplingRows(all []priced) [][]string {
	rows := [][]string{{"", "s", "T", "σ", "step size η₀", "test accuracy", "certified"}}
	for _, p := range all {
		mean, sd := report.Spread(p.accuracy)
		rows = append(rows, []string{p.Series, p.Train.SampleSize, strconv.Itoa(p.Privacy.PerClient.Rounds),
			decimal.Up(p.Train.NoiseMultiplier, 4), report.Number(p.Train.Eta0), report.SpreadText(mean, sd, len(p.accuracy)),
			epsilonAtMost(p.Privacy.Certified.PerRecord.EpsilonUpper)})
	}
	return rows
}
