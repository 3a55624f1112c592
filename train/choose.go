package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"proactivedp/data/scatter"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/models"
	"proactivedp/plan"
	"proactivedp/sim"
)

// Open says which settings of a training the user did not give, so that [Prepared.Choose] chooses them: those whose
// field is true. The other settings keep the values of the spec.
type Open struct {
	// These are named like fields of Spec, such as Eta0 (the initial step size) and Schedule (how it falls).
	SampleSize, GradComps, Delta, Clip, Eta0, Schedule bool
	// Noise says that the noise multiplier is not known yet, because it will be computed from ε after the other
	// choices. If Noise is false, Choose uses the spec's NoiseMultiplier.
	Noise bool
	// Epochs and Rounds say how long to train, if GradComps (the number of gradients that one client computes) is
	// true. Epochs = 0 means UsualEpochs. With Rounds = 0, Choose also chooses the number of rounds. With Rounds > 0,
	// SampleSize must be true too, and Choose computes the batch size from Epochs and Rounds.
	Epochs float64
	Rounds int
	// MostSize is the largest batch size that Choose may compute from Rounds, or 0: the number of records of a client.
	MostSize int
}

// UsualEpochs is the default number of epochs, if neither epochs nor rounds are given. In one epoch, a client
// computes as many gradients as it has records.
const UsualEpochs = 20

// UsualEpsilon is the default privacy budget: the largest ε that a record may cost if the user gives neither an ε nor
// a noise multiplier.
const UsualEpsilon = 1

// UsualClip is the default clipping norm: [Prepared.Choose] sets it for most models if the user gives none. Models
// on scattering features of images (package data/scatter) get 0.01 instead: see [Spec.UsualClip].
const UsualClip = 0.3

// These numbers determine the step size of [UsualStep], η₀ = m/(C·s), where C is the clipping norm and s
// the batch size. One step then moves the model by m times the mean of the batch's clipped gradients,
// divided by C. So m depends neither on the length of the features nor on the batch size. It is chosen
// such that the noise of all rounds together moves the model by about the distance chosenWalk. But m is
// at most mostStep, or mostNetworkStep for a network.
//
// For linear regression, weights must be of the right length and not only of the right direction, so m is
// smaller: the noise of all rounds moves the model by about linearWalk, and m is at most
// mostLinearStep/√d for d parameters. If features are in [-1, 1], an example has a norm of at most √d, so one
// step moves no prediction by more than mostLinearStep, the range of scaled targets.
const (
	chosenWalk      = 12
	mostStep        = 32
	mostNetworkStep = 4

	linearWalk     = 1
	mostLinearStep = 2
)

// Softmax regression on features of package scatter, whose norm is about 10, is better if nearly every
// gradient is clipped (docs/extend.md). Then only η₀C matters. The walks of the settings in
// results/mnist-scatter and results/cifar10-scatter are 31 to 65.
const (
	scatterClip = 0.01
	scatterWalk = 40
)

// Scattered reports whether the spec's model trains on scattering features instead of pixels. These are fixed wavelet
// features of an image that need no training (package data/scatter). Spec.FeatureMap chooses them.
func (s Spec) Scattered() bool { return strings.HasPrefix(s.FeatureMap, scatter.Name) }

// UsualClip returns the clipping norm C that [Prepared.Choose] sets for the spec if the user gives none: 0.01 for
// scattering features (fixed wavelet features of images, see [Spec.Scattered]), and otherwise 0.3. If
// Spec.ClassWeights has a weight above 1, C is multiplied by the largest weight. A class weight multiplies a gradient
// before it is clipped. With the same C, the weight would have no effect on gradients that are longer than C anyway.
func (s Spec) UsualClip() float64 {
	if s.Scattered() {
		return s.weighted(scatterClip)
	}
	return s.weighted(UsualClip)
}

func (s Spec) weighted(clip float64) float64 { return decimal.Digits(clip*s.largestWeight(), 6) }

// largestWeight returns the largest class weight, or 1 if none is larger.
func (s Spec) largestWeight() float64 {
	largest := 1.0
	for part := range strings.SplitSeq(s.ClassWeights, ",") {
		w, err := strconv.ParseFloat(part[strings.LastIndex(part, ":")+1:], 64)
		if err == nil && w <= models.MostClassWeight { // others are refused, see parseClassWeights
			largest = max(largest, w)
		}
	}
	return largest
}

// TriedClips returns the clipping norms that a search for good settings (package experiments) tries for the spec's
// model. For a linear model they are 0.1, 0.3 and 1, or only 0.01 for scattering features (fixed wavelet features of
// images, see [Spec.Scattered]). For a network it is only Spec.Clip: nearly all its gradients are clipped, so that
// only the product of step size and clipping norm matters, and the step size is searched anyway. A class weight above
// 1 multiplies these norms, see [Spec.UsualClip].
func (s Spec) TriedClips() []float64 {
	switch {
	case IsNetwork(s.Model):
		return []float64{s.weighted(s.Clip)}
	case s.Scattered():
		return []float64{s.UsualClip()}
	}
	return []float64{s.weighted(0.1), s.weighted(0.3), s.weighted(1)}
}

// TriedSteps returns the initial step sizes η₀ that a search for good settings (package experiments) tries for the
// spec's model and clipping norm, each twice the one before. size is the mean batch size s. A step size is η₀ =
// m/(C·s·n), where C is the clipping norm, n the number of clients, and m a power of two. m is the distance by
// which one round of all clients moves the parameters if all gradients have the norm C and the same direction. So
// the same values of m are tried for all batch sizes and clipping norms. They are 1/4 to 32 for most models, 1/16
// to 4 for networks, and 1/64 to 2 for linear regression.
func (s Spec) TriedSteps(size float64) []float64 {
	first, last := 0.25, float64(mostStep)
	switch {
	case IsNetwork(s.Model):
		first, last = 0.0625, mostNetworkStep
	case IsRegression(s.Model):
		first, last = 1./64, mostLinearStep
	}
	var steps []float64
	for m := first; m <= last; m *= 2 {
		steps = append(steps, m/(s.Clip*(size*float64(s.Clients))))
	}
	return steps
}

// InitialStep returns a text with the initial step size η₀, by which a client multiplies the noisy sum of its
// gradients. If the batch size is constant, the text also has the learning rate for the mean gradient, as Python
// libraries define it: η₀ times the expected batch size.
func (s Spec) InitialStep() string {
	text := fmt.Sprintf("step size η₀ = %g", s.Eta0)
	if size, err := decimal.Count(s.SampleSize); err == nil {
		text += fmt.Sprintf(", learning rate %.4g", s.Eta0*float64(size))
	}
	return text
}

// Choose returns p's spec with values for the settings that open names, chosen for a training with the privacy budget
// epsilon, and a text for the user that lists the choices. If the batch size is to be chosen, it is the one that the
// planner recommends for epsilon (see [plan.Plan.Recommend]) or, if open.Rounds gives the number of rounds, the
// number of gradients divided by it. Choose does not set a noise multiplier: if open.Noise is true, call
// [Source.Calibrate] with the result. Of the data, Choose uses only the number of records of a client and the numbers
// of features and of model parameters.
func (p *Prepared) Choose(ctx context.Context, open Open, epsilon float64) (Spec, string, error) {
	if err := p.made(); err != nil {
		return Spec{}, "", err
	}
	spec, n := p.Spec, p.Config.Mechanism.DatasetSize
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if open.Delta {
		spec.Delta = dp.DefaultDelta(n)
	}
	copies := 1
	if !p.Config.Partition.Disjoint() {
		copies = spec.Clients
	}
	sigma := spec.NoiseMultiplier
	if open.Noise {
		sigma = math.NaN() // not known yet
	}
	if open.SampleSize || open.GradComps {
		least, why, err := p.size(ctx, &spec, open, epsilon)
		if err != nil {
			return Spec{}, "", err
		}
		if open.Noise && least > 0 {
			sigma = least
		}
		size, constant := 0, false
		if v, err := decimal.Count(spec.SampleSize); err == nil {
			size, constant = v, true
		}
		switch {
		case open.SampleSize && open.GradComps && constant:
			say("batch size %d and %s%s", size, decimal.Many(spec.GradComps/max(size, 1), "step"), why)
		case open.SampleSize:
			say("batch size %s%s", spec.SampleSize, why)
		case constant:
			say("%s%s", decimal.Many(spec.GradComps/max(size, 1), "step"), why)
		default:
			say("%s%s", decimal.Many(spec.GradComps, "gradient computation"), why)
		}
	}
	if open.Schedule {
		spec.Schedule, spec.Beta = string(sim.ZeroDecay), 0
		say("schedule zero (step sizes fall to 0)")
	}
	if open.Clip {
		spec.Clip = spec.UsualClip()
		why := ""
		if w := spec.largestWeight(); w > 1 {
			why = fmt.Sprintf(" (the usual one times the class weight %g)", w)
		}
		say("clipping norm %g%s", spec.Clip, why)
	}
	if open.Eta0 {
		eta0, err := p.step(ctx, spec, sigma, epsilon)
		if err != nil {
			return Spec{}, "", err
		}
		spec.Eta0 = eta0
		say("%s", spec.InitialStep())
	}
	if open.Delta {
		say("δ = %s", decimal.Exactly(spec.Delta))
	}
	if len(said) == 0 {
		return spec, "", nil
	}
	who := decimal.Many(spec.Clients, "client")
	if spec.Clients > 1 && copies == 1 {
		who += ", each"
	} else if copies > 1 {
		who += " that hold the same data,"
	}
	text := fmt.Sprintf("chosen for %s with %s and %s", who, decimal.Many(n, "record"),
		decimal.Many(p.source.data.Features, "feature"))
	if open.Noise && (open.SampleSize || open.Eta0) {
		text += " within ε = " + decimal.Exactly(epsilon)
	}
	return spec, text + ": " + strings.Join(said, ", "), nil
}

// size sets the open batch size and gradient computations, and returns the least noise for them, or 0
// if it is not known, and why they were chosen.
func (p *Prepared) size(ctx context.Context, spec *Spec, open Open, epsilon float64) (float64, string, error) {
	n := p.Config.Mechanism.DatasetSize
	epochs := float64(UsualEpochs)
	if open.Epochs > 0 {
		epochs = open.Epochs
	}
	if !open.GradComps {
		epochs = float64(spec.GradComps) / float64(n)
	}
	if !open.SampleSize {
		if open.Rounds > 0 {
			return 0, "", fmt.Errorf("rounds = %d, must be 0 with a given batch size", open.Rounds)
		}
		sizes, err := dp.ParseSizes(spec.SampleSize)
		if err != nil {
			return 0, "", err
		}
		spec.GradComps = max(sizes.At(0), int(math.Ceil(epochs*float64(n))))
		if size, err := decimal.Count(spec.SampleSize); err == nil && size >= 1 { // whole rounds
			rounds, ok := plan.Rounds(epochs, p.Config.Mechanism.EventOf(size))
			if !ok || rounds > decimal.MaxWhole/size {
				return 0, "", fmt.Errorf("epochs = %v of %d records in batches of %d are too many steps", epochs, n, size)
			}
			spec.GradComps = rounds * size
		}
		return 0, fmt.Sprintf(" (%g epochs)", epochs), nil
	}
	if open.GradComps && open.Rounds > 0 {
		size := max(1, int(math.Round(epochs*float64(n)/float64(open.Rounds))))
		if most := cmp.Or(open.MostSize, n); size > most {
			size, epochs = most, float64(most)*float64(open.Rounds)/float64(n)
		}
		spec.SampleSize, spec.GradComps = strconv.Itoa(size), size*open.Rounds
		return 0, fmt.Sprintf(" (%.3g epochs)", epochs), nil
	}
	delta := cmp.Or(spec.Delta, p.Delta)
	// A plan is for a record. A person with K records costs about K times its ε, so that the same batch sizes are good.
	of, whom := epsilon/float64(max(spec.AtMost, 1)), ""
	if spec.AtMost > 1 {
		whom = fmt.Sprintf(" for a record, which is that for a person divided by %d", spec.AtMost)
	}
	planned, err := plan.Solve(ctx, plan.Request{N: n, Epochs: epochs, Epsilon: of, Delta: delta,
		Clients: spec.Clients, Shared: !p.Config.Partition.Disjoint()})
	if err != nil {
		return 0, "", err
	}
	if err := planned.Recommend(ctx); err != nil {
		return 0, "", err
	}
	b := planned.Recommended
	if b == nil {
		return 0, "", infeasible(fmt.Sprintf("no batch size fits ε = %s%s at δ = %s with %s: %s; give --batch-size and --steps, "+
			"a larger ε or more records", decimal.Exactly(of), whom, decimal.Exactly(delta), decimal.Many(n, "record"), planned.Reason))
	}
	spec.SampleSize = strconv.Itoa(b.SampleSize)
	if open.GradComps {
		spec.GradComps = b.SampleSize * b.Rounds
	}
	if spec.AtMost > 1 {
		return 0, fmt.Sprintf(" (%g epochs)", epochs), nil // the plan's σ is that of a record
	}
	return *b.Sigma, fmt.Sprintf(" (%g epochs; %s)", epochs, b.Reason), nil
}

// infeasible is a plan.Infeasible with a text of its own.
type infeasible string

func (e infeasible) Error() string { return string(e) }
func (infeasible) Unwrap() error   { return new(plan.Infeasible) }

// step returns the step size η₀ for noise sigma, or for the noise that ε needs if sigma is NaN. It has
// three digits.
func (p *Prepared) step(ctx context.Context, spec Spec, sigma, epsilon float64) (float64, error) {
	sizes, err := dp.ParseSizes(spec.SampleSize)
	if err != nil {
		return 0, err
	}
	config, run := *p.Config, *p
	config.Mechanism.Sizes, config.Mechanism.ClipNorm, config.GradComps = sizes, spec.Clip, spec.GradComps
	run.Config, run.Delta = &config, cmp.Or(spec.Delta, p.Delta)
	if math.IsNaN(sigma) {
		calibrated, err := run.Calibrate(ctx, epsilon)
		if err != nil {
			return 0, err
		}
		sigma = calibrated.Spec.NoiseMultiplier
	}
	ran := config.Run()
	size := float64(ran.Computed) / float64(max(ran.Rounds, 1))
	return UsualStep(spec, config.Model.NumParams(), sigma, size, ran.Rounds*spec.Clients), nil
}

// UsualStep returns the initial step size η₀ that [Prepared.Choose] sets if the user gives none, rounded to three
// digits. It assumes that the step size falls linearly to 0 during the training. It returns the largest η₀ for which
// both of these distances stay within a limit:
//
//   - how far the noise of all rounds together moves the model's parameters (as a Euclidean norm);
//   - how far the gradients of one round move the parameters, if all gradients have the clipping norm and point in the
//     same direction.
//
// The limits depend on the kind of model. For linear regression, the second limit is also divided by √params, because
// with more parameters, the same distance can change a prediction more. So if the features are in [-1, 1], one round
// changes no prediction by more than the range of the targets.
//
// From spec, UsualStep takes the model, the features and the clipping norm. params is the number of parameters,
// sigma the noise multiplier, size the mean batch size, and rounds the number of rounds of all clients together.
func UsualStep(spec Spec, params int, sigma, size float64, rounds int) float64 {
	furthest, most := float64(chosenWalk), float64(mostStep)
	switch {
	case IsRegression(spec.Model):
		furthest, most = linearWalk, mostLinearStep/math.Sqrt(float64(params))
	case IsNetwork(spec.Model):
		most = mostNetworkStep
	case spec.Scattered():
		furthest = scatterWalk
	}
	walk := sigma * math.Sqrt(float64(max(rounds, 1))*float64(params)/3)
	return decimal.Digits(min(furthest*size/walk, most)/(spec.Clip*size), 3)
}

// enoughHeldOut is how many held-out records a client needs to judge a model. The standard deviation of
// an accuracy of 0.9 is then 1.3 points.
const enoughHeldOut = 500

// smallBudget is the ε below which half as many records are held out. The accuracy then grows nearly in
// proportion to the number of records that train, and it varies between seeds by several points, more
// than the sampling error of the held-out records.
const smallBudget = 0.5

// DefaultHoldout returns the fraction of a client's n training records that is held out of training, to measure
// the accuracy of models, if the user does not give the fraction (Spec.Holdout). It is the smaller of [UsualHoldout]
// (a sixth) and 500/n: with about 500 held-out records, the standard deviation of an accuracy of 0.9 is only 0.013. If
// epsilon, the privacy budget ε of the training, is below 0.5, the fraction is halved, because every training record
// matters more there.
func DefaultHoldout(n int, epsilon float64) float64 {
	part := min(UsualHoldout, decimal.Digits(enoughHeldOut/float64(max(n, 1)), 2))
	if epsilon < smallBudget {
		part /= 2
	}
	return part
}
