package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"proactivedp/data"
	"proactivedp/data/scatter"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/models/mlp"
	"proactivedp/train"
)

// Head is a choice for a data set of images: a model, and the features that it gets instead of the pixels.
type Head struct {
	Model string `json:"model"`
	// name of the features, see train.Spec.FeatureMap; "" means the pixels
	Features string `json:"features,omitempty"`
}

// String describes the model and its features in words.
func (h Head) String() string {
	if h.Features == "" {
		return h.Model
	}
	return h.Model + " on " + h.Features
}

func (h Head) of(spec train.Spec) train.Spec {
	spec.Model, spec.FeatureMap = h.Model, h.Features
	return spec
}

// Heads returns the combinations of a model and features (see [Head]) that may suit the images d, the most promising
// one first. Pass them to [Compare] to choose one. base is a training with the default model for d, or with the model
// and the features that the user has chosen. model says that the user has chosen the model, so that all heads have
// it, and features says that the user has chosen the features. If both are true, Heads returns only the combination
// in base.
func Heads(base train.Spec, d *data.Dataset, model, features bool) []Head {
	given := Head{base.Model, base.FeatureMap}
	if !model && d.Images != nil && !train.IsNetwork(base.Model) {
		given.Model = train.Softmax // logistic regression takes no images
	}
	dense := base.Model == train.Softmax || mlp.Named(base.Model)
	switch {
	case d.Images == nil || model && (features || !dense):
		return []Head{given}
	case model:
		return []Head{{base.Model, scatter.Name}, given}
	case features:
		return []Head{{train.Softmax, base.FeatureMap}}
	}
	return []Head{{train.Softmax, scatter.Name}, given}
}

// Compared is one line of the result of [Compare]: a [Head] (model and features for images) with the accuracy that
// trial trainings predict for it.
type Compared struct {
	Head
	Accuracy float64 `json:"predicted_accuracy,omitempty"`
	// Left says why this head was not compared with the others, for example that it takes too long. It is "" for a
	// head that was compared, and for a single head, which has nothing to be compared with.
	Left string `json:"not_compared,omitempty"`
}

// Proxies compare heads in at most comparedRounds rounds of a client, and comparedUpdates of all, with a
// noise multiplier of about enoughNoise. Then the accuracy hardly depends on either.
const (
	comparedRounds  = 250
	comparedUpdates = 1000
)

// mostCompared is the largest work of the proxies of a head, in operations as counted by
// train.Prepared.Work. It bounds the time of a comparison to a few minutes.
const mostCompared = 3e12

// Compare predicts the accuracy of each [Head] (model and features for images) by proxies, cheaper trainings that
// predict the accuracy of full ones. It returns the heads with their accuracies, the best first. Use it to choose a
// head before [Propose].
//
// The proxies train on the data themselves with almost no noise, so use Compare only for public data. Confirm that by
// setting o.Probing to [Own]: every other value is an error. r.Rounds is not used.
//
// Heads that cannot be trained, or whose proxies would take more than 3·10^12 operations (a few minutes), are last,
// with the reason in the field Left. If only one head can be compared, no proxy is run and the head has no accuracy.
// If no head can be compared, Compare returns an error. If no setting meets the budget, the error is an
// [*Infeasible]. The expected time is written to the progress writer of o.Trials.
func Compare(ctx context.Context, r Request, heads []Head, o Options) ([]Compared, error) {
	r.Rounds = []int{max(comparedUpdates, r.Base.Clients)}
	if err := errors.Join(r.Validate(), o.checkProbing(Own)); err != nil {
		return nil, err
	}
	all := make([]Compared, len(heads))
	var tried []*comparison
	var names []string
	var errs []error
	seconds := 0.0
	for i, h := range heads {
		all[i].Head = h
		c, err := newComparison(ctx, r, h, o)
		if err == nil {
			err = context.Cause(ctx) // measuring does not look at the context
		}
		if _, infeasible := isInfeasible(err); infeasible || ctx.Err() != nil {
			return nil, err
		}
		if err == nil && c.work > mostCompared {
			err = fmt.Errorf("its proxies would take %.2g operations, more than the limit of %.2g", c.work, mostCompared)
		}
		if err != nil {
			all[i].Left = err.Error()
			errs = append(errs, err)
			continue
		}
		tried, names, seconds = append(tried, c), append(names, h.String()), seconds+c.seconds
	}
	left := func(c Compared) int { return min(len(c.Left), 1) }
	slices.SortStableFunc(all, func(a, b Compared) int { return left(a) - left(b) })
	if len(tried) == 0 {
		return nil, errors.Join(errs...)
	}
	if len(tried) == 1 {
		return all, nil
	}
	if w := o.Trials.Progress; w != nil {
		fmt.Fprintf(w, "comparing %s by proxies on %s: about %s\n", strings.Join(names, ", "), o.Probe.Data().Name,
			report.Duration(seconds/float64(max(o.Trials.Workers, 1))))
	}
	for i, c := range tried { // which are the first of all
		accuracy, err := c.run(ctx)
		if err != nil {
			return nil, err
		}
		all[i].Accuracy = accuracy
	}
	slices.SortStableFunc(all, func(a, b Compared) int { return cmp.Compare(b.Accuracy, a.Accuracy) })
	return all, nil
}

// comparison is the search for the best step size of a head.
type comparison struct {
	*searcher
	scouts        []*candidate
	work, seconds float64
}

// Of the scouts, which have one seed, the best ones are tried with all seeds.
const comparedFinalists = 2

func newComparison(ctx context.Context, r Request, h Head, o Options) (*comparison, error) {
	r.Base, r.Seeds = h.of(r.Base), MinSeeds
	if r.Epsilon == 0 {
		r.Epsilon = scoutedEpsilon
	}
	s, err := newSearcher(r, o)
	if err != nil {
		return nil, err
	}
	laid, err := s.outlays(ctx, r.Epsilon, []kind{{min(comparedRounds, r.Rounds[0]/r.Base.Clients), enoughNoise}})
	if err != nil {
		return nil, err
	}
	c := &comparison{searcher: s}
	views := s.views()
	if train.IsNetwork(h.Model) {
		views = views[len(views)-1:] // inputs in [0, 1] are smaller than the best, see triedScale
	}
	for _, v := range views {
		c.scouts = append(c.scouts, s.candidates(v, s.strides(), laid[0])...)
	}
	for _, l := range []lot{{float64(len(c.scouts)), slowEffort.first}, {comparedFinalists * float64(r.Seeds), slowEffort.middle}} {
		seconds, work, err := s.expected(c.scouts[0], l.coarse)
		if err != nil {
			return nil, err
		}
		c.work += l.number * work
		c.seconds += l.number * seconds
	}
	return c, nil
}

// run returns the accuracy of the head with its best step size.
func (c *comparison) run(ctx context.Context) (float64, error) {
	found, err := c.rung(ctx, c.scouts, 1, slowEffort.first, comparedFinalists)
	if err != nil {
		return 0, err
	}
	found, err = c.rung(ctx, found[:min(len(found), comparedFinalists)], c.Seeds, slowEffort.middle, 1)
	if err != nil {
		return 0, err
	}
	return found[0].accuracy, nil
}

// expected returns the seconds of a candidate's proxy of the coarseness on one processor of this machine, or 0
// if its progress is not shown, and its work.
func (s *searcher) expected(c *candidate, coarse float64) (seconds, work float64, err error) {
	probed, err := s.probed(s.Seeds)
	if err != nil {
		return 0, 0, err
	}
	small, work, err := s.shrink(c, probed, coarse)
	if err != nil || s.Options.Trials.Progress == nil {
		return 0, work, err
	}
	p, err := s.Probe.Prepare(s.probeOf(small, 0))
	if err != nil {
		return 0, 0, err
	}
	seconds, err = p.SecondsAlone()
	return seconds, work, err
}

// evidence says why softmax regression on scatter is the first head.
const evidence = "the most accurate on MNIST and CIFAR-10 at ε = 1 and 3 (results/mnist-scatter, results/cifar10-scatter)"

// ByEvidence returns a sentence for the user that names the model and its scattering features (package scatter:
// fixed wavelet features of images). It gives the reason for these features: with them, softmax regression has the best
// accuracies in the folder results of this repository. Use it if [Compare] did not run proxies to choose the head.
func (h Head) ByEvidence() string {
	if h.Model != train.Softmax {
		return fmt.Sprintf("the model is %v: with these features, softmax regression is %s", h, evidence)
	}
	return fmt.Sprintf("the model is %v, %s", h, evidence)
}

// ComparedText returns a text for the user that says which model and features were chosen, and why. compared is the
// result of [Compare], and metric names what its accuracies measure, see train.Spec.Metric.
func ComparedText(metric string, compared []Compared) string {
	best := compared[0]
	var parts []string
	switch {
	case best.Accuracy > 0:
		parts = append(parts, fmt.Sprintf("the model is %v, for which coarse proxies have %s %s", best.Head,
			train.Spec{Metric: metric}.MetricName(), decimal.FixedDown(best.Accuracy, 4)))
	case best.Features == scatter.Name:
		parts = append(parts, best.ByEvidence())
	default:
		parts = append(parts, fmt.Sprintf("the model is %v", best.Head))
	}
	for _, c := range compared[1:] {
		if c.Left == "" {
			parts = append(parts, fmt.Sprintf("for %v %s", c.Head, decimal.FixedDown(c.Accuracy, 4)))
		} else {
			parts = append(parts, fmt.Sprintf("%v is not compared, because %s", c.Head, c.Left))
		}
	}
	return strings.Join(parts, "; ")
}
