package propose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/train"
	"proactivedp/trainer"
)

// TrainerRequest is the input of [ForTrainer], which finds settings for the user's own training script. The script
// trains with the settings that it is given and prints a metric, see package trainer.
type TrainerRequest struct {
	Records int     `json:"n"`        // number of private records, N
	Public  int     `json:"public_n"` // number of public records with which the script runs the trial trainings (proxies)
	Epsilon float64 `json:"epsilon"`  // target epsilon of a record, in [MinEpsilon, MaxEpsilon]
	Delta   float64 `json:"delta"`
	Target  float64 `json:"target,omitempty"` // metric to reach, in (0, 1); 0 means to find the best metric for Epsilon
	Rounds  []int   `json:"rounds"`           // numbers of rounds (steps of the optimizer) to try
	Seeds   int     `json:"seeds"`            // number of trial trainings of every reported setting, in [3, 100]
	Count   int     `json:"count"`            // largest number of proposals to return, in [1, 100]
	Seed    uint64  `json:"seed"`             // seed of a setting's first trial training; the others have the next numbers
}

// DefaultTrainerRequest returns a request for the best settings within epsilon at delta, for a user's own training
// script. records is the number of private records, and public the number of public records for the trial trainings.
// The request tries only 250 and 1,000 rounds, with 3 seeds, because a script may take long for each training.
func DefaultTrainerRequest(records, public int, epsilon, delta float64) TrainerRequest {
	return TrainerRequest{Records: records, Public: public, Epsilon: epsilon, Delta: delta, Rounds: []int{250, 1000},
		Seeds: MinSeeds, Count: 3, Seed: 1}
}

// Validate returns one error that lists every field of r outside its range.
func (r TrainerRequest) Validate() error {
	errs := []error{
		dp.CheckCount("n", r.Records, 1, decimal.MaxWhole), dp.CheckCount("public n", r.Public, 1, decimal.MaxWhole),
		dp.CheckRange("epsilon", r.Epsilon, MinEpsilon, MaxEpsilon), dp.CheckDelta(r.Delta, 0),
		dp.CheckCount("seeds", r.Seeds, MinSeeds, MaxSeeds), dp.CheckCount("count", r.Count, 1, maxCount),
	}
	if r.Target != 0 && !(r.Target > 0 && r.Target < 1) {
		errs = append(errs, fmt.Errorf("target = %v, must be in (0, 1)", r.Target))
	}
	if len(r.Rounds) < 1 || len(r.Rounds) > maxCount {
		errs = append(errs, fmt.Errorf("%d numbers of steps, must be from 1 to %d", len(r.Rounds), maxCount))
	}
	for _, rounds := range r.Rounds {
		errs = append(errs, dp.CheckCount("steps", rounds, 1, dp.MaxRounds))
	}
	return errors.Join(errs...)
}

// TrainerProposal is a setting for the user's training script, with the predicted metric and the certified
// ε.
type TrainerProposal struct {
	Rank int          `json:"rank"`
	Task trainer.Task `json:"task"` // the private training: what the script is asked to do with this setting
	Prediction
	Scale     float64   `json:"proxy"`     // batch size of the trial trainings, as a fraction of the setting's batch size
	Seeds     []float64 `json:"by_seed"`   // metrics that the script reported for the trial trainings, one for each seed
	Certified dp.Bound  `json:"certified"` // certified ε of a record
}

// TrainerReport is the result of [ForTrainer]: the proposed settings for the user's own training script.
type TrainerReport struct {
	Request   TrainerRequest    `json:"request"`
	Proposals []TrainerProposal `json:"proposals"` // the proposed settings, the best first
	Trainings int               `json:"trainings"` // number of trial trainings, newly run or reused
	// Spread is the standard deviation of the metric between trainings of one setting with different seeds. The
	// predicted intervals allow for it and for the error of predicting by cheaper trainings. They do not allow for
	// the sampling error of the records on which the script measures the metric.
	Spread    float64 `json:"spread"`
	Statement string  `json:"statement"` // a warning: no ε covers the trial trainings, and the metrics of the script are not checked
}

// trainerStatement says what proxies of a trainer reveal.
const trainerStatement = "proxies were trained and judged by the script on the data that it calls public, almost without " +
	"noise: no (ε, δ) covers them, and it is only right if these data are public. Metrics are as reported by the script"

// The walks that are tried for a trainer, in steps of 4. The number of parameters is not known, so these
// are ν/√(d/3) for the ν of triedWalks and models with 10 to 10^8 parameters.
const (
	leastWalk   = 0.0005
	trainerStep = 4
	walks       = 10
)

// The number of settings that remain after the first rungs (see searcher.rung) of a search for a trainer.
const trainerKept, trainerFinalists = 2, 4

// A proxy of a trainer has this fraction of the batch size, but at least this number of records. The sampling
// noise of smaller batches would hide the differences between settings.
const trainerScale, leastBatch = 1.0 / 8, 32

// ForTrainer searches for settings for the user's own training script and returns the best ones, ranked. It tries
// settings by trial trainings on public data, which are cheaper than the private one (proxies). For each, it calls
// run, one call at a time; run is usually the method Public of a trainer.Trainer, which starts the script. progress
// gets messages, unless it is nil. If no setting meets the request, the error is an [*Infeasible].
func ForTrainer(
	ctx context.Context, r TrainerRequest, progress io.Writer, run func(context.Context, trainer.Task) (trainer.Result, error),
) (*TrainerReport, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if run == nil {
		return nil, errors.New("a function that trains must be given")
	}
	s := &searcher{
		Request: Request{Epsilon: r.Epsilon, Rounds: r.Rounds, Seeds: r.Seeds, Count: r.Count},
		base:    train.Spec{Clients: 1}, records: r.Records, copies: 1, delta: r.Delta,
		params: map[string]int{"": 3}, // so that √(d/3) = 1
	}
	p := &proxies{r: r, run: run, results: map[string]float64{}}
	s.script = p.try
	laid, err := s.outlays(ctx, r.Epsilon, s.kinds())
	if err != nil {
		return nil, err
	}
	most := walks + 4*trainerKept + trainerKept*len(laid) + r.Seeds*(trainerFinalists+mostFrugal)
	p.bar = report.NewLines(progress, "proxies", int64(most))
	found, err := s.searchTrainer(ctx, laid)
	if err != nil {
		return nil, err
	}
	p.bar.Set(int64(most))
	if best := slices.MinFunc(found, byAccuracy); best.accuracy < r.Target {
		return nil, &Infeasible{
			Reason: fmt.Sprintf("the predicted metric within ε = %s is at most %s, and %s is wanted", decimal.Exactly(r.Epsilon),
				decimal.Down(best.accuracy, 4), decimal.Exactly(r.Target)),
			Remedies: []string{"lower the target", "allow a larger ε", "try more --steps"}, Accuracy: best.accuracy,
		}
	}
	return s.trainerReport(ctx, p, found)
}

// searchTrainer is search for a trainer, with fewer proxies: step sizes on one outlay, then finer ones and a
// smaller clipping norm, then all outlays, and then all seeds for the best.
func (s *searcher) searchTrainer(ctx context.Context, laid []outlay) ([]*candidate, error) {
	scout := laid[len(laid)/2]
	var all []*candidate
	walk := leastWalk
	for range walks {
		all = append(all, s.candidate(scout, stride{1, walk}, s.plain()))
		walk *= trainerStep
	}
	all, err := s.rung(ctx, all, 1, 1, trainerKept)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Clone(all) {
		small := stride{c.stride.clip / 10, c.stride.walk}
		strides := []stride{c.stride.times(0.5), c.stride.times(2), small, small.times(2)}
		all = merged(all, s.candidates(s.plain(), strides, scout))
	}
	if all, err = s.rung(ctx, all, 1, 1, trainerKept); err != nil {
		return nil, err
	}
	for _, c := range slices.Clone(all) {
		all = merged(all, s.candidates(s.plain(), []stride{c.stride}, laid...))
	}
	if all, err = s.rung(ctx, all, 1, 1, max(trainerFinalists, s.Count)); err != nil {
		return nil, err
	}
	if err := s.try(ctx, all, s.Seeds, 1); err != nil {
		return nil, err
	}
	return ranked(all, rankStep), nil
}

// proxies are the trainings of a search for a trainer.
type proxies struct {
	r       TrainerRequest
	run     func(context.Context, trainer.Task) (trainer.Result, error)
	results map[string]float64
	bar     *report.Bar
}

// taskOf returns the private training of a candidate.
func taskOf(c *candidate, records int) trainer.Task {
	return trainer.Task{
		Protocol: trainer.Protocol, Role: trainer.Private,
		Plan:        trainer.NewPlan(c.outlay.sigma, c.outlay.size, records, c.outlay.rounds),
		MaxGradNorm: c.spec.Clip, LearningRate: decimal.Digits(c.spec.Eta0*float64(c.outlay.size), 3), Scale: 1,
	}
}

// proxyOf returns a proxy of a private training on public records. Batch size and noise multiplier are
// multiplied by the scale, so a step has the same noise; see train.Spec.Proxy. The learning rate
// multiplies a mean, so it stays.
func proxyOf(t trainer.Task, public int, seed uint64) trainer.Task {
	whole := float64(t.Plan.BatchSize)
	size := min(t.Plan.BatchSize, public, max(int(math.Ceil(trainerScale*whole)), leastBatch))
	t.Role, t.Seed, t.Scale = trainer.Public, &seed, float64(size)/whole
	t.Plan = trainer.NewPlan(t.Plan.NoiseMultiplier*t.Scale, size, public, t.Plan.Steps)
	return t
}

// try trains the proxies of the candidates with the given number of seeds.
func (p *proxies) try(ctx context.Context, all []*candidate, seeds int) error {
	for _, c := range all {
		c.each = nil
		for seed := range seeds {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			task := proxyOf(taskOf(c, p.r.Records), p.r.Public, p.r.Seed+uint64(seed))
			c.fraction = task.Scale
			key := fmt.Sprint(task.Plan, task.MaxGradNorm, task.LearningRate, seed)
			metric, known := p.results[key]
			if !known {
				result, err := p.run(ctx, task)
				if err != nil {
					return err
				}
				metric = result.Metric
				p.results[key] = metric
				p.bar.Set(int64(len(p.results)))
			}
			c.each = append(c.each, metric)
		}
		c.accuracy = mean(c.each)
	}
	return nil
}

// trainerReport assembles the report.
func (s *searcher) trainerReport(ctx context.Context, p *proxies, found []*candidate) (*TrainerReport, error) {
	variance := 0.0
	for _, c := range found {
		variance += stat.Variance(c.each, nil) / float64(len(found))
	}
	r := &TrainerReport{Request: p.r, Trainings: len(p.results), Spread: math.Sqrt(variance), Statement: trainerStatement}
	for _, c := range found {
		if c.accuracy < p.r.Target || len(r.Proposals) == p.r.Count {
			continue
		}
		task := taskOf(c, p.r.Records)
		bound, err := pld.Accountant{}.Epsilon(ctx, []dp.Event{task.Plan.Event()}, p.r.Delta)
		if err != nil {
			return nil, err
		}
		if !(bound.EpsilonUpper <= p.r.Epsilon) {
			return nil, errors.New("a setting is not certified within the target epsilon")
		}
		bias := 0.0
		if c.fraction < 1 {
			bias = proxyBias
		}
		half := models.Quantile * math.Sqrt(variance*(1+1/float64(len(c.each)))+bias*bias)
		r.Proposals = append(r.Proposals, TrainerProposal{
			Rank: len(r.Proposals) + 1, Task: task, Scale: c.fraction, Seeds: c.each, Certified: bound,
			Prediction: Prediction{Accuracy: c.accuracy, Low: max(0, c.accuracy-half), High: min(1, c.accuracy+half)},
		})
	}
	return r, nil
}

// WriteText writes the proposals as a table for people, with their predicted metrics and their ε.
func (r *TrainerReport) WriteText(w io.Writer) error {
	var text strings.Builder
	if len(r.Proposals) > 0 {
		t := r.Proposals[0].Task
		fmt.Fprintf(&text, "Train with batch size %d, %s, σ = %s, clipping norm %s and learning rate %s: predicted metric %s.\n\n",
			t.Plan.BatchSize, decimal.Many(t.Plan.Steps, "step"), decimal.Up(t.Plan.NoiseMultiplier, 7), report.Number(t.MaxGradNorm),
			report.Number(t.LearningRate), report.Fixed(r.Proposals[0].Accuracy, 4))
	}
	fmt.Fprintf(&text, "%s for your trainer within ε ≤ %s per record, δ = %s\n%s; %s sampling, %s adjacency, certified by pld\n\n",
		decimal.Many(len(r.Proposals), "setting"), decimal.Up(r.Request.Epsilon, 6), decimal.Up(r.Request.Delta, 5),
		decimal.Many(r.Request.Records, "record"), dp.Poisson, dp.AddOrRemove)
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tmetric\tinterval\tε record\tbatch size\tsteps\tσ\tclipping norm\tlearning rate\t\n")
	for _, p := range r.Proposals {
		fmt.Fprintf(t, "%d\t%.4f\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t\n", p.Rank, p.Accuracy, p.interval(models.Metric{}),
			decimal.Up(p.Certified.EpsilonUpper, 5), p.Task.Plan.BatchSize, p.Task.Plan.Steps,
			decimal.Up(p.Task.Plan.NoiseMultiplier, 7), report.Number(p.Task.MaxGradNorm), report.Number(p.Task.LearningRate))
	}
	t.Flush() // writing to memory does not fail
	fmt.Fprintf(&text, "\ninterval: the spread over seeds, %.4f, and the error of proxies of this program's own models, without the sampling error of the "+
		"script's held-out records\nprobes: %s (%s)\n", r.Spread, r.Statement, decimal.Many(r.Trainings, "training"))
	_, err := io.WriteString(w, text.String())
	return err
}
