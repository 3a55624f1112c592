// Package auto trains a private model from a privacy budget and a target accuracy (the loop of the paper's
// flow chart, Section "Towards Dynamically Adapting DP-SGD Parameters"). The loop makes a plan, trains
// privately, measures the accuracy, and plans the next training, until every client is satisfied or has
// spent its budget. Each of these trainings is called a stage.
//
//	report, err := auto.Run(ctx, task, auto.Options{Dir: "run", Public: public, Utility: utility, Open: open})
//
// A [Task] lists the budget and the target accuracy of each client. (If the task's metric is not the
// accuracy, all accuracies here are values of the metric, and the majority-class baseline is the metric's
// baseline.) The steps are:
//
//  1. Before any private training, [Utility] (the flow chart's "Utility Graph") estimates which clipping
//     norms and noise multipliers may reach the targets.
//  2. The task's [Strategy] (the "DP Calculator") plans a [Stage]. The stage is charged to the budgets and
//     written to the journal.
//  3. The clients that are not satisfied train the stage together.
//  4. Every client measures the accuracy of the new model on its own held-out records, which are not used
//     for training. Step 2 follows, unless all clients are satisfied or no budget allows another stage.
//
// The next stage depends on what was released, so an accountant for rounds that are fixed beforehand does
// not cover it. Instead, every record has one filter (closedform.Budget or rdp.Filter), fixed before the
// first release. Every round of every client that holds the record must pass the filter before it is run.
// So nothing is released beyond the target ε. If the whole budget goes into one stage, no plan depends on
// a release. No filter is needed then, and package dp/pld certifies the stage (see [Account.Once]).
//
// The journal has everything on which later steps depend. So a run that was killed can continue, and its model has
// the same bits as without the interruption.
package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/sim"
	"proactivedp/train"
)

// Strategy names a rule by which the loop chooses the noise, the batch size and the number of rounds of its next
// training (a [Stage]) within the budgets. Tight plans by the accountant of package dp/pld, which proves the smallest
// ε. The other strategies are the paper's rules and common practice, for comparison.
type Strategy string

// These are the values of [Strategy], the rules by which the loop plans.
const (
	// Paper plans by a theorem of the paper, called simpleF there (see package dp/closedform). From the accuracies
	// that were estimated for several amounts of noise (see [Outlook]) it chooses the noise multiplier σ: the largest
	// with which they reach the target. The theorem gives an ε for σ, and Paper uses the largest batch size that the
	// theorem allows for this ε. The number of gradients of a stage does not depend on the batch size, so the largest
	// batch size means the fewest rounds. If the target is not reached, later stages can have less noise, because the ε
	// for σ may be smaller than the client's target epsilon. A closedform.Budget counts the spent budget.
	Paper Strategy = "paper"
	// PaperTarget is like Paper, except for the ε for which it chooses the batch size of a stage. This is the client's
	// target epsilon, even if the ε that the theorem gives for the chosen σ is smaller. The text of the paper plans so
	// (its "DP calculator"). By the theorem, such a stage usually uses up the whole budget, so that no second stage is
	// possible.
	PaperTarget Strategy = "paper-target"
	// Tight takes the best training that the accountant of package dp/pld proves to be within the budget: a batch
	// size s and a number of rounds T with nearly the largest s√T/σ (the size of the summed gradients compared with
	// the noise), and then the least noise multiplier σ. It spends the whole budget in one training, with two
	// exceptions: the task asks for several stages, or the accuracies that were estimated on the task's own data (see
	// [Outlook]) predict that a cheaper training reaches the target.
	Tight Strategy = "tight"
	// Default is common practice, for comparison: batches of 256 records for 15 epochs, in one training with the
	// noise that uses the whole budget.
	Default Strategy = "default"
)

// Strategies returns all values of [Strategy].
func Strategies() []Strategy { return []Strategy{Paper, PaperTarget, Tight, Default} }

// ByTheorem reports whether the strategy is Paper or PaperTarget. These plan by the paper's theorem (see package
// dp/closedform), and need accuracies that were estimated beforehand (see [Outlook]).
func (s Strategy) ByTheorem() bool { return s == Paper || s == PaperTarget }

// Schedule returns spec with the schedule of step sizes that suits the strategy: decreasing to 0 for Tight and
// constant for Default. Use it for a spec whose schedule the user has not chosen. For Paper and PaperTarget, spec is
// returned unchanged.
func (s Strategy) Schedule(spec train.Spec) train.Spec {
	switch s {
	case Tight:
		spec.Schedule, spec.Beta = string(sim.ZeroDecay), 0
	case Default:
		spec.Schedule, spec.Beta = string(sim.NoDecay), 0
	}
	return spec
}

// Client is the request of one client to [Run]: spend at most its privacy budget (ε, δ), and reach at least its
// target accuracy.
type Client struct {
	// Epsilon is the target epsilon, in [1e-8, 1e4]: the most that a record (or a person, see train.Spec.AtMost) may
	// ever pay, for everything that is released about it.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta,omitempty"` // δ of the budget, in (0, 1); 0 means 1/N for the N records of the client
	// Accuracy is the target accuracy, in (0, 1], or the target value of another metric of the task; for rmse and mae
	// any number above 0.
	Accuracy float64 `json:"target_accuracy"`
	// Records is the number of the client's records that are used, the first ones; 0 means all.
	Records int `json:"records,omitempty"`
}

// Task is the input of [Run]. It asks for a model that reaches the target accuracy of every client within the
// client's privacy budget. [NewTask] makes one from the settings of any training.
type Task struct {
	// Spec is the training: model, data, partition, held-out records, seed. NoiseMultiplier and Run must be 0,
	// because the loop finds the noise, and numbers the runs of all stages and clients so that no two draw the same
	// noise. With SeedFromOS, samples and noise of each stage are drawn from a new secret; the seed then only splits
	// and deals the records and draws the initial model.
	Spec     train.Spec `json:"config"`
	Strategy Strategy   `json:"strategy"`
	Clients  []Client   `json:"clients"` // budget and target of each client; as many as Spec.Clients
	// Stages divides the budget among this number of stages (trainings), in [1, 6]. Each stage gets twice as much of
	// it as the stage before, and the last one all that is left: for three stages 1/8, 1/4 and 5/8. Only the strategy
	// Tight supports it. 0 means that one stage uses the whole budget; with Tight, a cheaper stage may come first if
	// that may be enough.
	Stages int `json:"stages,omitempty"`
	// Clip and Eta0 are the clipping norm C and the initial step size η₀ of all stages. 0 means that the best values
	// are searched for before the first stage (see [Outlook]).
	Clip float64 `json:"clip,omitempty"`
	Eta0 float64 `json:"eta0,omitempty"`
}

// mostPlanned limits Task.Stages: the first of more stages would use less than [leastShare].
const mostPlanned = 6

// NewTask returns a task for the given clients. spec is a training with any number of clients, for example that of an
// experiment of the paper, which has five. NewTask adapts a copy of spec: it sets the number of clients to
// len(clients), and changes the number of gradients of each client so that all clients together compute as many as
// before. It adapts the schedule of step sizes to the new number of rounds of a client, and sets the noise multiplier
// to 0.
func NewTask(spec train.Spec, strategy Strategy, clients []Client) Task {
	share := float64(max(1, len(clients))) / float64(spec.Clients)
	spec.NoiseMultiplier, spec.Clients = 0, len(clients)
	comps, ok := decimal.Whole(float64(spec.GradComps) / share)
	if !ok {
		comps = math.MaxInt // Validate refuses it
	}
	spec.GradComps = max(1, comps)
	switch sim.Decay(spec.Schedule) { // these schedules depend on the t of one client, which is now 1/share of what it was
	case sim.LinearDecay:
		spec.Beta *= share
	case sim.SqrtDecay:
		spec.Beta *= math.Sqrt(share)
	}
	return Task{Spec: spec, Strategy: strategy, Clients: clients}
}

// Validate returns one error that lists every problem of the task that can be found without the data.
func (t Task) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(Strategies(), t.Strategy) {
		fail("strategy = %q, must be one of %v", t.Strategy, Strategies())
	}
	s := t.Spec
	s.SeedFromOS = false // noise comes from separate roots, and everything else from the seed
	if s.NoiseMultiplier != 0 || s.Run != 0 {
		fail("sigma = %v and run = %d must not be given: the loop finds the noise and numbers the releases",
			s.NoiseMultiplier, s.Run)
	}
	if dp.Sampling(s.Sampling) != dp.Poisson {
		fail("sampling = %q, must be %q: the filters are proved for no other", s.Sampling, dp.Poisson)
	}
	if t.Stages < 0 || t.Stages > mostPlanned {
		fail("stages = %d, must be in [1, %d], or 0 for as many as are needed", t.Stages, mostPlanned)
	}
	if t.Stages > 0 && t.Strategy != Tight {
		fail("stages = %d, must not be given for strategy %q: only %q spends its budget in so many", t.Stages, t.Strategy, Tight)
	}
	if t.Clip != 0 {
		errs = append(errs, dp.CheckRange("clip", t.Clip, 1e-30, 1e30))
	}
	if t.Eta0 != 0 {
		errs = append(errs, dp.CheckRange("eta0", t.Eta0, 1e-30, 1e30))
	}
	if s.BoundsEpsilon != 0 {
		fail("bounds epsilon = %v, must be 0: the filters do not include private bounds", s.BoundsEpsilon)
	}
	if s.MetricOf().Regression() && t.Strategy != Tight {
		fail("strategy = %q, must be %q for model = %q: constant step sizes oscillate, and the paper's utility graph compares "+
			"accuracies", t.Strategy, Tight, s.Model)
	}
	if s.AtMost != 0 && t.Stages > 1 {
		fail("stages = %d, must be 1 for persons: the filter of several stages is proved for a record", t.Stages)
	}
	if s.AtMost != 0 && t.Strategy.ByTheorem() {
		fail("strategy = %q, must be %q or %q for persons: the closed form is proved for a record", t.Strategy, Tight, Default)
	}
	if s.Adapt != 0 {
		fail("adapt = %v, must be 0: the filter admits fixed sample sizes only", s.Adapt)
	}
	if s.Holdout == 0 {
		fail("holdout = 0, must be in (0, 1): clients judge the model on records that nobody trains on " +
			"(--holdout)")
	}
	if len(t.Clients) != s.Clients {
		fail("budgets of %d clients, must be of all %d", len(t.Clients), s.Clients)
	}
	for i, c := range t.Clients {
		for _, err := range append(c.check(), s.MetricOf().CheckTarget("target accuracy", c.Accuracy)) {
			if err == nil {
				continue
			}
			errs = append(errs, fmt.Errorf("client %d: %w", i, err))
		}
		if c.Records > 0 && s.AtMost != 0 {
			fail("client %d: records = %d, must be 0 for persons: %s", i, c.Records, train.FirstOfPersons)
		}
		if i > 0 && !data.Partition(s.Partition).Disjoint() && c.Records != t.Clients[0].Records {
			fail("client %d: records = %d, must be %d as for client 0, because all hold the same records", i, c.Records,
				t.Clients[0].Records)
		}
	}
	return errors.Join(append(errs, s.Validate(), s.CanKeep())...)
}

// check returns an error for each field of c outside its range, except the target, whose range depends on the metric.
func (c Client) check() []error {
	errs := []error{plan.CheckEpsilon(c.Epsilon)}
	if c.Delta != 0 {
		errs = append(errs, dp.CheckDelta(c.Delta, closedform.MinDelta))
	}
	if c.Records < 0 {
		errs = append(errs, fmt.Errorf("records = %d, must be at least 0", c.Records))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// Public holds the facts about the data that [Run] treats as public: the numbers of records, the shape of a record,
// and a digest. (ε, δ) does not protect them. [PublicOf] makes it from the data.
type Public struct {
	// Data is the SHA-256 of the data set, by which Run checks that a folder is continued with the same data.
	Data     string `json:"data_sha256"`
	Records  int    `json:"records"`  // number of training records of each client
	HeldOut  []int  `json:"held_out"` // number of held-out records of each client
	Features int    `json:"features"` // number of features of a record
	Classes  int    `json:"classes"`  // number of classes
	// for regression: the public bounds of the targets; otherwise nil
	Targets *data.TargetBounds `json:"target_bounds,omitempty"`
}

// leastHeldOut is the least number of held-out records of a client. With fewer, a single record would
// change the accuracy by more than a tenth.
const leastHeldOut = 10

// check reports why the task is impossible for the data.
func (p Public) check(t Task) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("public: "+format, args...)) }
	if p.Records < 1 {
		fail("records = %d, must be at least 1", p.Records)
	}
	if len(p.HeldOut) != len(t.Clients) {
		fail("held-out records of %d clients, must be of all %d", len(p.HeldOut), len(t.Clients))
	}
	for i, n := range p.HeldOut {
		if n < leastHeldOut {
			fail("held-out records = %d of client %d, must be at least %d, because they decide whether it is satisfied: "+
				"use a larger --holdout, more records or fewer clients", n, i, leastHeldOut)
		}
	}
	for i, c := range t.Clients {
		if p.Records >= 1 && c.Records > p.Records {
			fail("client %d: records = %d, must be at most the %d that it is dealt", i, c.Records, p.Records)
		}
	}
	return errors.Join(errs...)
}

// Trainer trains the stages of a task, and measures the accuracy of models. [Run] reads the data only through a
// Trainer. [NewTrainer] makes one. The results of a Trainer may depend only on the arguments and the data, so that a
// stage that runs again after an interruption gives the same bits.
type Trainer interface {
	// Train runs the private training stage. It begins with the global model initial (its parameters), or with the
	// model's default parameters if initial is nil. It returns the parameters of the global model at the end.
	Train(ctx context.Context, stage Stage, initial []float32) ([]float32, error)
	// HeldOut measures the accuracy of the model with the parameters params, for each client on its held-out records.
	// The results decide whether a client is satisfied.
	HeldOut(params []float32) ([]Tested, error)
	// Test measures the accuracy of the model with the parameters params, for each client on its test records. The
	// results decide nothing; they are only reported.
	Test(params []float32) ([]Tested, error)
}

// Tested is the accuracy of a model (or another metric of the task) on one client's test or held-out records, and
// what a model that has learnt nothing would reach on them. The embedded train.JudgedRows counts these records and how
// many of them differ.
type Tested struct {
	TestAccuracy float64 `json:"test_accuracy"`
	train.JudgedRows
	// MajorityShare is the baseline: the accuracy of always predicting the most frequent class of these records, or
	// the baseline of another metric (models.Metric.Baseline).
	MajorityShare float64 `json:"majority_share"`
	// MetricRows is the number of records on which the sampling error of the metric depends (models.Metric.Rows).
	// Chance is how far a model that has learnt nothing may exceed the baseline by chance (models.Metric.Chance).
	// Both are 0 if the metric is the accuracy, whose sampling error follows from the number of all records.
	MetricRows int     `json:"metric_rows,omitempty"`
	Chance     float64 `json:"chance,omitempty"`
	// Margin is the sampling error of a metric of regression, such as rmse (models.Metric.SamplingErrors, which also
	// gives Chance). It is 0 for other metrics.
	Margin float64 `json:"margin,omitempty"`
}

// Point is one point of the utility graph (see [Outlook]), the estimates that are made before any private training:
// the accuracy to expect of a training with clipping norm Clip, noise multiplier Sigma of every client, and initial
// step size Eta0. Accuracy is the metric's score, for which more is better, see models.Metric.Score.
type Point struct {
	Clip     float64 `json:"clip"`
	Sigma    float64 `json:"sigma"`
	Eta0     float64 `json:"eta0"`
	Accuracy float64 `json:"accuracy"`
}

// Question is what [Run] asks a [Utility] before the first private training of a task (a model to be trained for the
// targets and budgets of some clients): which accuracy to expect for each of several clipping norms and noise
// multipliers.
type Question struct {
	Task   Task
	Public Public
	// SampleSize and Rounds are the batch size and the number of rounds of every stage. Least is the noise multiplier
	// at which one stage uses the whole budget, so no stage can have less noise. All three are 0 for the strategies
	// Paper and PaperTarget, for which batch size and rounds follow from the noise.
	SampleSize, Rounds int
	Least              float64
}

// Outlook is what is known about a task before any private training: the accuracies to expect with several clipping
// norms and noise multipliers. The paper calls it the utility graph. A [Utility] makes it. From its points, the loop
// chooses the clipping norm and the step size of the stages, and for the strategies Paper and PaperTarget also the
// noise.
type Outlook struct {
	Points []Point `json:"points"`
	// number of gradients that each client computes in one stage
	GradComps int    `json:"grad_computations"`
	Of        string `json:"of"` // description of the records on which the accuracies were estimated
	// Same says whether the accuracies were estimated on the task's own data. If it is false, they are those of other
	// data, and only the clipping norms and step sizes carry over to the task.
	Same bool `json:"same"`
}

// Utility is a function that estimates, before any private training, which accuracies to expect of a task with
// several amounts of noise (see [Outlook]). It must use public records only, because no (ε, δ) covers it. You pass
// one to [Run] in [Options].Utility. This package has two: [Probe.Utility], which trains on public records, and the
// result of [UsualSteps], which trains nothing.
type Utility func(ctx context.Context, q Question) (Outlook, error)
