package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Probe estimates which accuracies to expect of a task with several amounts of noise (see [Outlook]), by trainings on
// public records. Pass its method Utility to [Run] as [Options].Utility. The records are the task's own data if these
// are public, and otherwise similar data. Make one with [NewProbe] or [NewProbeOn].
type Probe struct {
	Source *train.Source
	Spec   train.Spec   // training on the records of Source, with their data set and features
	Same   bool         // whether the records of Source are the task's own data
	Of     string       // description of the records, for reports
	Graph  Graph        // what to try for the strategies Paper and PaperTarget; the others do not use it
	Trials pool.Options // how the probe runs its trainings, and where it stores their results
}

// Graph has the settings of the paper's utility graph, the accuracy of a model against noise. [Probe.Utility] computes
// it only for the strategies Paper and PaperTarget, which plan by the paper's theorem. As in the paper, it trains a
// model without noise for each clipping norm C in Clips, adds noise N(0, C²σ²) to the model's parameters for each σ
// in Sigmas, and measures the accuracy that is left.
type Graph struct {
	Clips, Sigmas []float64
	Draws         int // number of times that the noise is drawn for each C and σ, for a mean accuracy
	GradComps     int // number of gradients that each client computes in the training without noise
}

// NewProbe returns a [Probe] that trains on the task's own records. They must be public, because the probe's
// trainings reveal them: no (ε, δ) covers these trainings.
func NewProbe(source *train.Source, t Task) Probe {
	p := Probe{Source: source, Spec: t.Spec, Same: true,
		Of: t.Spec.Data + " itself, used without noise: only right for a public benchmark"}
	p.publicly()
	return p
}

// publicly makes the probes of a release draw as simulations do, from a numbered seed and in
// floating point. That takes a fraction of the time. It is safe for these reasons:
//
//   - Low bits of floating-point noise can reveal only the records that are summed. Those of a probe are
//     public, and no ε is claimed for them.
//   - The numbered seed is known to everybody, and shares no stream with the secrets of the stages.
//   - The result of a probe is a function of public records, so the stages may depend on it.
func (p *Probe) publicly() {
	if p.Spec.SeedFromOS {
		p.Spec.SeedFromOS, p.Spec.Exact = false, false
	}
}

// NewProbeOn returns a [Probe] that trains on the data set d instead of the task's own data, for private records. d
// must be public or synthetic, because no (ε, δ) covers the trainings of the probe.
func NewProbeOn(d *data.Dataset, t Task) Probe {
	p := Probe{Source: train.NewSource(d), Spec: t.Spec, Of: d.Name}
	if d.Synthetic {
		p.Of += ", drawn"
	}
	p.Of += ": a hint for settings, not for accuracies"
	p.publicly()
	p.Spec.Data, p.Spec.Features, p.Spec.Split, p.Spec.AtMost = d.Name, 0, "", 0 // d names no persons
	return p
}

// Utility estimates which accuracies to expect of the task in q with several amounts of noise (see [Outlook]). It
// trains on the probe's records. For the strategies Paper and PaperTarget, it trains a model without noise and then
// adds noise to its parameters, as the paper does. For the other strategies, it runs proxies, which are cheaper
// trainings with noise (see [train.Spec.Proxy]).
func (p Probe) Utility(ctx context.Context, q Question) (Outlook, error) {
	if p.Same && q.Task.Spec.MetricOf().Regression() {
		return Outlook{}, fmt.Errorf("a utility graph of the task's own records, must be of other data for model = %q: it could "+
			"not say by how much records differ", q.Task.Spec.Model)
	}
	o := Outlook{Of: p.Of, Same: p.Same, GradComps: q.Task.Spec.GradComps}
	p.say("utility graph: trainings on %s", p.Of)
	var err error
	if q.Task.Strategy.ByTheorem() {
		o.Points, err = p.graph(ctx, q)
	} else {
		o.GradComps = q.SampleSize * q.Rounds
		o.Points, err = p.ladder(ctx, q)
	}
	return o, err
}

// UsualSteps returns a [Utility] for tasks without public records. It uses no records and trains nothing, so it
// predicts no accuracies. For each of several amounts of noise it only suggests settings: the task's clipping norm and
// step size if these are given, and otherwise those of [train.Spec.UsualClip] (0.3 for most models) and
// [train.UsualStep]. Of source, which has the task's data, it uses only the number of the model's parameters. The
// strategies Paper and PaperTarget are an error, because they need predicted accuracies.
func UsualSteps(source *train.Source) Utility {
	return func(_ context.Context, q Question) (Outlook, error) {
		if q.Task.Strategy.ByTheorem() || !(q.Least > 0) {
			return Outlook{}, fmt.Errorf("strategy = %q, must be another one: it needs a utility graph", q.Task.Strategy)
		}
		spec := q.Task.Spec
		spec.SampleSize, spec.GradComps = "1", q.Rounds
		p, err := source.Prepare(spec)
		if err != nil {
			return Outlook{}, err
		}
		o := Outlook{Of: "the usual steps, for which no records were used", GradComps: q.SampleSize * q.Rounds}
		for i := range rungs + 1 {
			at := Point{Clip: cmp.Or(q.Task.Clip, spec.UsualClip()), Sigma: q.Least * math.Pow(rung, float64(i)), Eta0: q.Task.Eta0}
			if at.Eta0 == 0 {
				spec.Clip = at.Clip
				at.Eta0 = train.UsualStep(spec, p.Config.Model.NumParams(), at.Sigma, float64(q.SampleSize), q.Rounds*spec.Clients)
			}
			o.Points = append(o.Points, at)
		}
		return o, nil
	}
}

// say prints the progress of the utility graph. There is no progress bar, because each training depends
// on earlier results.
func (p Probe) say(format string, args ...any) {
	if p.Trials.Progress != nil {
		fmt.Fprintf(p.Trials.Progress, format+"\n", args...)
	}
}

// bearable is the fraction of its accuracy that a model trained without noise must keep when noise of σ
// is added, so that σ is in the range R_i (see Outlook.reach). The paper reads from its utility graphs the σ at which at most 10 % is
// lost (Section "Experiments"). This noise is not scaled by the step size, so it costs more accuracy
// than the noise in training.
const bearable = 0.9

// graph returns the points of the paper's utility graph, the mean of those of a few trained models. If σ is in R_i, the
// expected accuracy is that without noise.
func (p Probe) graph(ctx context.Context, q Question) ([]Point, error) {
	plain, clips := p.Spec, p.Graph.Clips
	plain.GradComps = p.Graph.GradComps
	if q.Task.Eta0 != 0 {
		plain.Eta0 = q.Task.Eta0
	}
	if q.Task.Clip != 0 {
		clips = []float64{q.Task.Clip}
	}
	var specs []pool.UtilitySpec
	for seed := range uint64(probeSeeds) {
		if seed > 0 {
			plain.Run = probeRuns + seed
		}
		for _, clip := range clips {
			plain.Clip = clip
			spec := pool.UtilitySpec{Train: plain, Sigmas: p.Graph.Sigmas, Draws: p.Graph.Draws}
			if err := spec.Validate(); err != nil {
				return nil, err
			}
			specs = append(specs, spec)
		}
	}
	o, err := p.trials(float64(len(specs)), plain)
	if err != nil {
		return nil, err
	}
	lines, _, err := pool.Utilities(ctx, p.Source, specs, o)
	if err != nil {
		return nil, err
	}
	var points []Point
	for i, clip := range clips {
		for j, sigma := range p.Graph.Sigmas {
			var accuracy, fraction, whole float64
			for k := i; k < len(lines); k += len(clips) {
				at := lines[k].Points[j]
				accuracy += at.MeanAccuracy / probeSeeds
				fraction += at.Fraction / probeSeeds
				whole += lines[k].Accuracy / probeSeeds
			}
			if fraction >= bearable {
				accuracy = whole
			}
			if sigma > 0 {
				points = append(points, Point{clip, sigma, plain.Eta0, accuracy})
			}
		}
	}
	return points, nil
}

// The noise multipliers of the ladder. Each rung is this factor times the one before.
const (
	rung  = 1.4142135623730951
	rungs = 8
)

// The trainings of the ladder. From each rung's first step size, at most this many others are tried.
// Their run numbers are not used by any release. The split and the partition are those of the task, so
// that no test record of the task is used.
const (
	climbs     = 4
	probeSeeds = 3
	probeRuns  = 1 << 62
)

// ladder finds the best step size and clipping norm at the least noise. Then it increases the noise,
// and finds the best step size and its accuracy for each noise, until no client's target is reached.
func (p Probe) ladder(ctx context.Context, q Question) ([]Point, error) {
	if !(q.Least > 0) {
		return nil, errors.New("a utility graph needs the least noise of a stage, but it is missing")
	}
	scale, err := p.scaled(q)
	if err != nil {
		return nil, err
	}
	least := 1.0
	for _, c := range q.Task.Clients {
		least = min(least, p.score(c.Accuracy))
	}
	clips := []float64{p.Spec.Clip}
	if q.Task.Strategy == Tight {
		clips = p.Spec.TriedClips()
	}
	if q.Task.Clip != 0 {
		clips = []float64{q.Task.Clip}
	}
	var starts []Point
	for _, clip := range clips {
		if q.Task.Eta0 != 0 {
			starts = append(starts, Point{Clip: clip, Sigma: q.Least, Eta0: q.Task.Eta0})
			continue
		}
		spec := p.Spec
		spec.Clip = clip
		for i, eta0 := range spec.TriedSteps(float64(q.SampleSize)) {
			if i%2 == 0 { // climb tries those between them
				starts = append(starts, Point{Clip: clip, Sigma: q.Least, Eta0: rounded(eta0)})
			}
		}
	}
	if err := p.judge(ctx, scale, starts); err != nil {
		return nil, err
	}
	var best Point
	for ofClip := range slices.Chunk(starts, len(starts)/len(clips)) {
		at, err := p.climb(ctx, q, scale, mostAccurate(ofClip))
		if err != nil {
			return nil, err
		}
		if best.Sigma == 0 || at.Accuracy > best.Accuracy {
			best = at
		}
	}
	points := []Point{best}
	p.sayPoint(best)
	if q.Task.Strategy == Default {
		return points, nil
	}
	for range rungs {
		next := []Point{{Clip: best.Clip, Sigma: rung * best.Sigma, Eta0: best.Eta0}}
		if err := p.judge(ctx, scale, next); err != nil {
			return nil, err
		}
		at, err := p.climb(ctx, q, scale, next[0])
		if err != nil {
			return nil, err
		}
		points, best = append(points, at), at
		p.sayPoint(best)
		if at.Accuracy < least {
			break
		}
	}
	return points, nil
}

// sayPoint prints a point. It prints the accuracy only if that can be expected of the task.
func (p Probe) sayPoint(at Point) {
	accuracy := fmt.Sprintf("%s %.4f", p.Spec.MetricName(), at.Accuracy)
	if !p.Same { // readers would expect this accuracy
		accuracy = "best step size"
	}
	p.say("utility graph: %s at σ = %s, C = %v, η₀ = %v", accuracy, decimal.Up(at.Sigma, 5), at.Clip, at.Eta0)
}

// scaled returns the training of the probe at a point. It may be smaller than a training with the
// question's s and T, but has about the same accuracy, see train.Spec.Proxy.
func (p Probe) scaled(q Question) (func(Point, uint64) (train.Spec, error), error) {
	of := func(at Point, seed uint64) train.Spec {
		spec := p.Spec
		spec.Run = probeRuns + seed
		spec.Clip, spec.Eta0, spec.NoiseMultiplier = at.Clip, at.Eta0, at.Sigma
		spec.SampleSize, spec.GradComps = strconv.Itoa(q.SampleSize), q.SampleSize*q.Rounds
		return spec
	}
	whole, size := of(Point{Clip: 1, Eta0: 1, Sigma: q.Least}, 0), float64(q.SampleSize)
	one := whole
	one.SampleSize, one.GradComps = "1", q.Rounds
	probed, err := p.Source.Prepare(one)
	if err != nil {
		return nil, err
	}
	f := min(1, float64(probed.Config.Mechanism.DatasetSize)/size) // a proxy cannot sample more records than it has
	if whole, err = whole.Proxy(f); err != nil {
		return nil, err
	}
	if probed, err = p.Source.Prepare(whole); err != nil {
		return nil, err
	}
	f *= probed.ProxyFraction(f*size, probeCoarseness)
	return func(at Point, seed uint64) (train.Spec, error) {
		spec := of(at, seed)
		if f == 1 {
			return spec, nil
		}
		return spec.Proxy(f)
	}, nil
}

// probeCoarseness is the coarseness of the trainings of the ladder, see train.Prepared.ProxyFraction.
const probeCoarseness = 16

// climb doubles or halves the step size of a judged point as long as the accuracy increases, unless the
// task has a step size. It returns the best point.
func (p Probe) climb(ctx context.Context, q Question, scaled func(Point, uint64) (train.Spec, error), best Point) (Point, error) {
	if q.Task.Eta0 != 0 {
		return best, nil
	}
	for _, factor := range []float64{2, 0.5} {
		moved := false
		for range climbs {
			next := []Point{best}
			next[0].Eta0 *= factor
			if err := p.judge(ctx, scaled, next); err != nil {
				return best, err
			}
			if !(next[0].Accuracy > best.Accuracy) {
				break
			}
			best, moved = next[0], true
		}
		if moved {
			break
		}
	}
	return best, nil
}

// mostAccurate returns the first of the most accurate points.
func mostAccurate(points []Point) Point {
	return slices.MaxFunc(points, func(a, b Point) int { return cmp.Compare(a.Accuracy, b.Accuracy) })
}

// judge sets the accuracies of the points on held-out records, each the mean over the seeds. A training
// that diverged has accuracy 0, so that its step size is not chosen.
func (p Probe) judge(ctx context.Context, scaled func(Point, uint64) (train.Spec, error), points []Point) error {
	var specs []train.Spec
	for _, at := range points {
		for seed := range uint64(probeSeeds) {
			spec, err := scaled(at, seed)
			if err != nil {
				return err
			}
			specs = append(specs, spec)
		}
	}
	o, err := p.trials(float64(len(specs)), specs[0])
	if err != nil {
		return err
	}
	found, _, err := pool.Trials(ctx, p.Source, specs, o)
	if err != nil {
		return err
	}
	for i := range points {
		sum := 0.0
		for _, t := range found[i*probeSeeds : (i+1)*probeSeeds] {
			if !t.Diverged {
				sum += p.score(t.Accuracy)
			}
		}
		points[i].Accuracy = sum / probeSeeds
	}
	return nil
}

// score returns a value of the metric on the scale of [Point].Accuracy.
func (p Probe) score(value float64) float64 {
	var b *data.TargetBounds
	if t := p.Source.Data().Targets; t != nil {
		b = &t.Bounds
	}
	return p.Spec.MetricOf().Score(value, b)
}

// trials returns the options for the given number of trainings of this kind. It adds a progress bar if
// they take long.
func (p Probe) trials(number float64, like train.Spec) (pool.Options, error) {
	o := p.Trials
	run, err := p.Source.Prepare(like)
	if err != nil {
		return o, err
	}
	if number*run.Work() < report.LongRun {
		o.Progress = nil
	}
	return o, nil
}
