package propose

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Private probing uses the data itself, by private selection. It makes a random number of private
// trainings with random step sizes and judges each by a noised count of held-out records. Only the best
// one is released. Part of the target epsilon pays for this, and the rest for the training with the
// steps that were found.
const (
	selectionShare = 0.5 // of the target epsilon
	countNoise     = 30  // standard deviation of the noise that is added to a trial's number of correct predictions, times the target epsilon
)

// selection makes 10 trials on average, with a geometric distribution.
var selection = rdp.Selection{Shape: 1, Gamma: 0.1}

// PrivateProbe describes a private search for settings (see [Private]), and the ε that it costs a record. A random
// number of private trainings (trials) was run, each with a noised accuracy, and only the best one was released.
type PrivateProbe struct {
	// Selection has the parameters of the distribution from which the number of trials was drawn.
	Selection  rdp.Selection `json:"selection"`
	Mean       float64       `json:"expected_trials"` // expected number of trials; their actual number is not released
	TrialSigma float64       `json:"trial_sigma"`     // noise multiplier of each trial
	// CountSigma is the standard deviation of the noise that is added to a trial's number of correct predictions on
	// held-out records. The trial with the largest noisy number is the best one.
	CountSigma float64  `json:"count_sigma"`
	Alone      dp.Bound `json:"alone"` // ε of a record for the search without the proposed training
	// Together is the ε of a record for the search and the proposed training together. It is at most the target
	// epsilon.
	Together dp.Bound `json:"together"`
}

// proposePrivately proposes the setting that private selection finds.
func (s *searcher) proposePrivately(ctx context.Context) (*Report, error) {
	l, trial, err := s.layOutTrials(ctx)
	if err != nil {
		return nil, err
	}
	training := func(sigma float64) []dp.Event { return s.rounds(l, sigma, s.records) }
	cost := func(after []dp.Event) (dp.Bound, error) { return selection.Epsilon(ctx, trial, after, s.delta) }
	sigma, err := leastSigma(l.sigma, s.Epsilon, func(sigma float64) (dp.Bound, error) { return cost(training(sigma)) })
	if err != nil {
		return nil, err
	}
	alone, err := cost(nil)
	if err != nil {
		return nil, err
	}
	together, err := cost(training(sigma))
	if err != nil {
		return nil, err
	}
	trialSigma := trial[0].NoiseMultiplier
	best, accuracy, err := s.selectPrivately(ctx, outlay{l.size, l.rounds, trialSigma, l.kind})
	if err != nil {
		return nil, err
	}
	c := s.candidate(outlay{l.size, l.rounds, sigma, l.kind}, best, s.plain())
	c.fraction, c.accuracy, c.each = 1, accuracy, []float64{accuracy}
	r, err := s.report(ctx, s.Epsilon, []*candidate{c}, nil)
	if err != nil {
		return nil, err
	}
	r.Probe.Trainings, r.Probe.Computed = 0, 0 // their number is not released
	r.Probe.Private = &PrivateProbe{
		Selection: selection, Mean: selection.Mean(), TrialSigma: trialSigma, CountSigma: s.countSigma(), Alone: alone,
		Together: together,
	}
	return r, nil
}

// layOutTrials returns the outlay of the trials and of the training, and the events of a trial. A
// selection of such trials costs at most its share of the target epsilon.
func (s *searcher) layOutTrials(ctx context.Context) (outlay, []dp.Event, error) {
	kinds := s.kinds()
	k := kinds[len(kinds)/2]
	part := selectionShare / selection.Mean()
	l, err := s.layOut(ctx, s.Epsilon*part, k)
	if err != nil {
		return l, nil, err
	}
	if l.size == 0 {
		return l, nil, s.tooPrivate(ctx, s.Epsilon, part, k)
	}
	l.size = min(l.size, s.records-s.holdout)
	trial := func(sigma float64) []dp.Event {
		count := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: s.countSigma(), Rate: 1,
			Count: 1}
		return append(s.rounds(l, sigma, s.records-s.holdout), count)
	}
	sigma, err := leastSigma(l.sigma, s.Epsilon*selectionShare, func(sigma float64) (dp.Bound, error) {
		return selection.Epsilon(ctx, trial(sigma), nil, s.delta)
	})
	if err != nil {
		return l, nil, err
	}
	return l, trial(sigma), nil
}

// rounds returns the events of a training with the outlay and the noise multiplier, for clients with
// the given number of records.
func (s *searcher) rounds(l outlay, sigma float64, records int) []dp.Event {
	return []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: l.size,
		DatasetSize: records, Count: l.rounds * s.copies,
	}}
}

// countSigma returns the standard deviation of the noise that is added to the number of correctly
// labelled held-out records. That number changes by at most 1 if a record is added or removed, because
// a hash of the record itself decides whether it is held out. The number of held-out records is assumed
// to be public, like N.
func (s *searcher) countSigma() float64 { return countNoise / s.Epsilon }

// leastSigma returns a noise multiplier with a cost of at most epsilon. It exceeds the least one by at
// most a thousandth. The search begins near start.
func leastSigma(start, epsilon float64, cost func(sigma float64) (dp.Bound, error)) (float64, error) {
	fits := func(sigma float64) (bool, error) {
		b, err := cost(sigma)
		return err == nil && b.EpsilonUpper <= epsilon, err
	}
	low, high := start, start
	for ok := false; !ok; high *= 2 {
		var err error
		if ok, err = fits(high); err != nil && !errors.Is(err, dp.ErrNotCovered) {
			return 0, err
		}
		if high > rdp.MaxSigma/2 {
			return 0, &Infeasible{Reason: fmt.Sprintf("no noise multiplier is within ε = %s with private probes",
				decimal.Exactly(epsilon)), Remedies: []string{"probe synthetic or public data"}}
		}
		if ok {
			break
		}
		low = high
	}
	for low == high { // start is large enough
		ok, err := fits(low / 2)
		if err != nil || !ok || low/2 < rdp.MinSigma {
			low /= 2
			break
		}
		low, high = low/2, low/2
	}
	for high > low*1.001 {
		middle := math.Sqrt(low * high)
		if ok, err := fits(middle); err == nil && ok {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// selectPrivately runs the trials and returns the best one with its noised accuracy.
func (s *searcher) selectPrivately(ctx context.Context, l outlay) (stride, float64, error) {
	strides := s.strides()
	stream := rng.New(s.base.Seed).ForRun(s.base.Run+1).Stream(rng.Perturbation, 0, 0)
	best, found := math.Inf(-1), stride{}
	for number := range selection.Draw(stream) {
		st := strides[stream.IntN(len(strides))]
		accuracy, err := s.trial(ctx, s.candidate(l, st, s.plain()).spec, uint64(number))
		if err != nil {
			return stride{}, 0, err
		}
		accuracy += s.countSigma() * stream.Normal() / float64(s.holdout)
		if accuracy > best {
			best, found = accuracy, st
		}
	}
	return found, min(max(best, 0), 1), nil
}

// trial returns the accuracy of one private training on held-out records, or 0 if it diverged. The
// training is a separate release.
func (s *searcher) trial(ctx context.Context, spec train.Spec, number uint64) (float64, error) {
	spec.Holdout, spec.Fold, spec.Run = 1/float64(s.folds()), 0, spec.Run+2+number
	p, err := spec.Prepare(s.Data.Data(), nil)
	if err != nil {
		return 0, err
	}
	if n := p.Config.Mechanism.DatasetSize; n < s.records-s.holdout {
		return 0, fmt.Errorf("a trial has %d records, but is accounted for at least %d", n, s.records-s.holdout)
	}
	r, err := p.Run(ctx, sim.Perf{Workers: max(s.Options.Perf.Workers, 1)}, nil)
	if errors.Is(err, models.ErrDiverged) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return p.Judge()(r.Params), nil
}

// Validate returns an error if the options ask for a private search (Probing is [Private]) that is not possible. Such
// a search needs
//
//   - a target epsilon, no target accuracy, and accuracy as the metric,
//   - clients that all hold every record (the partition replicate),
//   - an ε for a record and not for a person with several records (r.Base.AtMost must be 0),
//   - a numbered seed (r.Base.SeedFromOS must be false). So a private search is only a simulation, which protects
//     nobody: anyone who knows the seed can compute the noise. Its ε is computed as if the noise were secret. A search
//     with a secret seed from the operating system is refused, because no ε is proved yet for the trials together with
//     a secret split of the records,
//   - no folder for results (o.Trials.Folder must be empty), because results of single trials must not be kept.
//
// For other values of Probing, Validate returns nil.
func (o Options) Validate(r Request) error {
	if o.Probing != Private {
		return nil
	}
	var errs []error
	if r.Epsilon == 0 || r.TargetAccuracy != 0 {
		errs = append(errs, errors.New("private probes need a target epsilon and no target accuracy: a part "+
			"of that ε pays for them"))
	}
	if !r.Base.IsAccuracy() {
		errs = append(errs, fmt.Errorf("metric = %q with private probes, must be accuracy: their noise is that of a "+
			"count of records", r.Base.MetricOf()))
	}
	if o.Trials.Folder != "" {
		errs = append(errs, errors.New("private probes must not be kept in a folder: only the best is released"))
	}
	if data.Partition(r.Base.Partition) != data.Replicate {
		errs = append(errs, fmt.Errorf("partition = %q with private probes, must be %q: other partitions deal "+
			"all records again if their number changes, so that one record affects many", r.Base.Partition, data.Replicate))
	}
	if r.Base.AtMost != 0 {
		errs = append(errs, fmt.Errorf("at most = %d records of a person with private probes, must be 0: the bound of private "+
			"selection is for a record; probe synthetic or public data", r.Base.AtMost))
	}
	if r.Base.SeedFromOS {
		errs = append(errs, errors.New("private probes must be a simulation with a numbered seed: with a new "+
			"root, the split and the trials cannot be accounted for together yet"))
	}
	return errors.Join(errs...)
}
