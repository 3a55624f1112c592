// Package train runs one differentially private training. Its clients, simulated in one process, work in rounds: in a
// round, a client draws a batch of its records, sums their clipped gradients, adds noise, and sends the sum to the
// server, which updates the global model and broadcasts it to the clients. What clients send is released, so each
// round costs the records privacy. The ε of a training is the cost of all its rounds to one record, at the spec's δ.
//
// A [Spec] has all settings that determine the result of a training, as plain values. [Spec.Prepare] combines a spec
// with a data set. The resulting [Prepared] can forecast the run, run it with checkpoints, trace it, and report it
// with its privacy guarantee.
//
//	spec := train.DefaultSpec()
//	spec.Data, spec.GradComps = dataset.Name, 10_000
//	p, err := spec.Prepare(dataset, nil)
//	…
//	report, err := p.Train(ctx, sim.Perf{}, nil)
//
// A spec names one of the program's models. To train a custom model, use package sim. Package cluster trains with
// clients in separate processes.
package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/internal/realclock"
	"proactivedp/models"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// These are the values of Spec.Runner: how the clients of a training run.
const (
	VirtualRunner = "virtual" // in one process, by a simulation on a virtual clock; repeatable, see sim.Virtual
	HogwildRunner = "hogwild" // in one process, a goroutine for each client, in real time; see sim.Hogwild
	// DistributedRunner is a server and clients in separate processes, see package cluster.
	DistributedRunner = "distributed"
)

// Spec has the settings of one training as plain values. Start from [DefaultSpec] and change fields. The command line
// sets them, the JSON of a run lists them, and stored results are found by them.
type Spec struct {
	// Model is the name of the model, such as "logreg" or "mlp:64": see [ModelNames].
	Model string `json:"model"`
	// Data is the name of the data set in reports. Prepare is given the data set itself and does not
	// compare names.
	Data    string `json:"data"`
	Clients int    `json:"clients"`
	// GradComps is K, the number of gradients that each client computes in the whole training, at least 1. With the
	// batch size it determines the number of rounds.
	GradComps int `json:"grad_computations"`
	// SampleSize is the batch size s_i of each round i: a number, or a sequence as dp.ParseSizes reads it. Under
	// Poisson sampling it is the expected size.
	SampleSize string `json:"sample_size"`
	// NoiseMultiplier is σ: the noise that a client adds to a sum of clipped gradients has the standard deviation
	// σ·Clip in each coordinate.
	NoiseMultiplier float64 `json:"sigma"`
	Clip            float64 `json:"clip"` // the clipping norm C
	// Eta0 is η₀, the initial step size. It multiplies the noisy sum of a batch's gradients, not their mean, so it is
	// the usual learning rate divided by the batch size.
	Eta0 float64 `json:"eta0"`
	// Beta is β, which says how fast the step size falls, in the formulas of sim.LinearDecay and sim.SqrtDecay. The
	// other schedules do not use it.
	Beta float64 `json:"beta"`
	// Schedule is the formula by which the step size falls, such as "linear" or "zero": see sim.Decay.
	Schedule string `json:"schedule"`
	// Delay limits how far a client may be ahead of the global model. With the delay "1", for example, a client may
	// begin round i only if its newest global model contains the updates of all rounds before i − 1. For other
	// forms of the text, such as "sqrt", see sim.ParseDelay.
	Delay string `json:"delay"`
	// Partition is how records are divided among clients: "replicate" gives each client all records, "shard" gives
	// each a separate part. See data.ParsePartition.
	Partition string `json:"partition"`
	// Sampling is how a client draws the batch of a round: "poisson" (each record independently), "fixed" (exactly s_i
	// records) or "allocation" (in each epoch, each record is put into one random round), see dp.Sampling.
	Sampling string `json:"sampling"`
	// Batches is the number of rounds in an epoch with the sampling "allocation", and 0 with the others.
	Batches int    `json:"batches,omitempty"`
	Runner  string `json:"runner"` // VirtualRunner, HogwildRunner or DistributedRunner
	// Compute is the time that a client takes for a gradient on the clock, as clock.ParseDuration reads it. It can be
	// random.
	Compute string `json:"compute_time"`
	Latency string `json:"latency"` // the time that a message takes, see clock.ParseDuration
	// TimeScale makes the runner "hogwild" wait for the simulated durations on a real clock: a simulated second takes
	// TimeScale real seconds. 0 means no clock, so clients run as fast as they can.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Speeds says how fast each client is on the virtual clock, or on the real clock that TimeScale asks for: see
	// clock.ParseSpeeds. The fields Loss, Resend, Duplicate, Churn and Adapt work only on the virtual clock.
	Speeds    string  `json:"speeds,omitempty"`
	Loss      float64 `json:"loss,omitempty"`      // probability that a message is lost and sent again, see clock.Network
	Resend    string  `json:"resend,omitempty"`    // time after which a lost message is sent again, such as 1ms
	Duplicate float64 `json:"duplicate,omitempty"` // probability that a message arrives twice
	Churn     string  `json:"churn,omitempty"`     // when clients leave and return, see clock.ParseChurn
	// Adapt is the largest factor by which a client may change its batch size to adapt to its speed, see sim.Adapt. 0
	// means constant sizes.
	Adapt float64 `json:"adapt,omitempty"`
	// ComputeTrace and LatencyTrace are the SHA-256 of the files of measured durations (traces) that Compute and
	// Latency name. They are "" if there is no such file, or before [Spec.Pinned] sets them.
	ComputeTrace string `json:"compute_trace_sha256,omitempty"`
	LatencyTrace string `json:"latency_trace_sha256,omitempty"`

	// Features is the number of columns that the data set must have; 0 allows any number. If Features is set, the
	// number of columns is a public setting and not learnt from the file.
	Features int `json:"features,omitempty"`
	// FeatureMap chooses fixed features that are computed from images and replace their pixels: hog:CELL:BINS or
	// scatter[:OPTION=VALUE…], see [ParseFeatures]. "" keeps the pixels. DataSHA256 in reports is always the digest
	// of the data set before this step.
	FeatureMap string `json:"feature_map,omitempty"`
	// InputScale is a public constant by which the model's inputs are multiplied, see
	// data.Dataset.Scaled. 0 means 1.
	InputScale float64 `json:"input_scale,omitempty"`
	// Precision says how exactly a large network multiplies numbers, if less than float32 is enough: bf16, which
	// needs the processor instructions AVX512-BF16, or bf16x3, which needs matrix tiles (AMX). See nn.BF16 and
	// nn.BF16x3. "" means float32.
	Precision string `json:"precision,omitempty"`
	// Split says how test rows are separated from a data set that has no test set: ShuffledSplit (the default, see
	// [data.Split]) or RecordSplit (see [data.SplitByRecord]).
	Split string `json:"split,omitempty"`

	// Delta is δ of the privacy guarantee, in (0, 1). 0 means 1/N for the N records of a client.
	Delta float64 `json:"delta"`
	// Holdout is the fraction of the training records, in (0, 1), that is held out of training and used for
	// evaluation instead of the test set. 0 holds out none. A hash of each record, keyed by the seed, decides
	// whether the record is held out, so the number of held-out records varies: see [data.HoldOut]. Fold selects the
	// part that is held out, as in cross-validation: each value in [0, 1/Holdout − 1] holds out other records.
	Holdout float64 `json:"holdout,omitempty"`
	Fold    int     `json:"fold,omitempty"`
	Seed    uint64  `json:"seed"` // source of the random numbers, unless a root is given to Prepare
	// SeedFromOS says that randomness comes from the operating system instead of Seed. A run whose model is published
	// needs this, because whoever knows a seed can subtract the noise. Give Prepare a root from rng.NewFromOS.
	SeedFromOS bool `json:"seed_from_os,omitempty"`
	// Exact says that batches and noise are drawn with exactly the stated distributions, by integer arithmetic: see
	// dp.Mechanism. Use it for real releases, because the low bits of floating-point noise may reveal something about
	// the records. It is slower.
	Exact bool `json:"exact,omitempty"`
	// Run is the number of this training among those with the same seed. Trainings with different Run draw different
	// batches, noise and dropout. The split, the division of the records, the untrained model and the clock depend only
	// on the seed. If two trainings on the same records are both released, they must have different runs or different
	// seeds, because equal noise could be subtracted.
	Run uint64 `json:"run,omitempty"`

	// Initial is the file of the initial model, .npz or .safetensors, with arrays as [Saved.Export] writes them.
	// "" means the untrained weights that the program makes for the model. The weights in the file must be public.
	// InitialSHA256 is the hash of the file, see Pinned.
	Initial       string `json:"initial,omitempty"`
	InitialSHA256 string `json:"initial_sha256,omitempty"`
	// Momentum is the factor M in [0, 1) of the server's heavy-ball momentum, see sim.Server.Receive. 0 means none.
	Momentum float64 `json:"momentum,omitempty"`
	// Average says which mean of the run's global models is computed in addition to the last one. "" and "none" mean
	// no mean. "ema:D" is an exponential moving average in which each model weighs D times the next one, 0 < D < 1.
	// "tail:F" is the mean over the last fraction F of the rounds, 0 < F ≤ 1.
	Average string `json:"average,omitempty"`
	// Metric is the metric by which models of these settings are compared, see models.ParseMetric. ""
	// means accuracy, or r2 for the model "linear". It does not change the training. In results that
	// compare models, keys named accuracy then have the value of this metric. Report.TestAccuracy is
	// always the accuracy.
	Metric string `json:"metric,omitempty"`
	// ClassWeights multiplies the loss of an example, before its gradient is clipped, by the weight of its class. The
	// text is LABEL:WEIGHT,… with weights in [1e-3, 1e3]; labels that are not listed have the weight 1. "" means no
	// weights. The weights must be public constants, not computed from the records: see models.Weightable.
	ClassWeights string `json:"class_weights,omitempty"`
	// Clipping is how a gradient is clipped. "" scales gradients longer than Clip to this norm, and AutomaticClipping
	// scales every gradient to about this norm, see models.AutomaticClipper. In both cases one record changes the sum
	// of gradients by at most Clip.
	Clipping string `json:"clipping,omitempty"`
	// Lambda is the ridge (L2) penalty λ of the model "logreg", in (0, 1e6]. 0 means 1/N, as in the paper (see
	// [DefaultSpec]), for the N records of a client.
	Lambda float64 `json:"lambda,omitempty"`
	// TargetEpsilon is the ε of a record for which NoiseMultiplier was calibrated, see Source.Calibrate. 0 means
	// none. A run whose ε would be above TargetEpsilon is refused.
	TargetEpsilon float64 `json:"target_epsilon,omitempty"`
	// AtMost is the largest number of records of one person that the training uses, in [1, dp.MaxGroup]; see
	// [data.Subset.AtMost]. Set it if the data set says which person each record belongs to. Then (ε, δ) is for a
	// person. 0 means that (ε, δ) is for a record.
	AtMost int `json:"at_most,omitempty"`
	// BoundsEpsilon is the ε that was spent before the training, if the columns of the data were normalised by bounds
	// that were estimated with noise: see [data.Dataset.PrivateBounds]. It is added to the ε of the training. 0 means
	// that there are no such bounds.
	BoundsEpsilon float64 `json:"bounds_epsilon,omitempty"`
}

// These are the values of Spec.Split: the ways to split a data set into training and test rows. Use RecordSplit if the
// split must be covered by the guarantee.
const (
	// ShuffledSplit splits by a random permutation of the rows. If one row is added, all rows may change sides, so
	// (ε, δ) does not cover the split.
	ShuffledSplit = "shuffled"
	// RecordSplit decides by a hash of each record, independent of the other records, so that (ε, δ) also covers the
	// split.
	RecordSplit = "by-record"
)

// AutomaticClipping is the value of Spec.Clipping for automatic clipping, which scales every gradient, also a short
// one, to about the clipping norm: see [models.AutomaticClipper].
const AutomaticClipping = "automatic"

// DefaultSpec returns settings to start from: those of the paper "Proactive DP: A Multiple Target Optimization Framework
// for DP-SGD" for its strongly convex problem, which is ridge logistic regression on the data set phishing with 5
// clients. For other data, set at least Data, GradComps and NoiseMultiplier.
func DefaultSpec() Spec {
	timing := clock.DefaultTiming()
	return Spec{
		Model: Ridge, Data: "phishing", Clients: 5, GradComps: 50_000, SampleSize: "26",
		NoiseMultiplier: 19.29962, Clip: 0.1, Eta0: 0.1, Beta: 0.001,
		Schedule: string(sim.LinearDecay), Delay: "1",
		Partition: string(data.Replicate), Sampling: string(dp.Poisson), Runner: VirtualRunner,
		Compute: timing.Compute.String(), Latency: timing.Uplink.String(), Seed: 1,
	}
}

// Prepared is a training that is ready to run: a spec together with a data set, already split into training and test
// rows and divided among the clients.
//
// Use Source.Prepare or Spec.Prepare to make one. The methods of a zero Prepared return an error or, if they have no
// error result, may panic.
type Prepared struct {
	Spec   Spec        // including the hashes of its files (see Spec.Pinned), and the model's FullName
	Config *sim.Config // the configuration of package sim from which the run is computed
	// Test has the rows on which the model is evaluated: the test set or, if Spec.Holdout is above 0, the records
	// that were held out of the training set.
	Test  data.Subset
	Delta float64 // δ of the privacy guarantee
	Trace *Trace  // receives the timeline of the run; nil means no timeline
	// Notes has sentences for the report, in addition to those of [Spec.Notes], such as those of [Setting.Notes].
	Notes []string

	source *Source  // the source that prepared it
	stage  *stageID // what a stage has in addition to its spec; nil if this is not a stage
}

// parsed holds the parsed values of a spec's text fields.
type parsed struct {
	model            modelKind
	sizes            dp.Sizes
	delay            sim.Delay
	sampling         dp.Sampling
	partition        data.Partition
	compute, latency clock.Duration
	speeds           clock.Speeds
	network          clock.Network
	churn            clock.Churn
	steps            sim.StepSize
}

// parse parses the spec's text fields and checks each on its own. For a text that cannot be parsed,
// the result has the default, so that the rest can be checked too.
func (s Spec) parse() (parsed, error) {
	timing := clock.DefaultTiming()
	p := parsed{
		sizes: dp.ConstantSizes(1), delay: sim.AtMost(1), sampling: dp.Poisson, partition: data.Replicate,
		compute: timing.Compute, latency: timing.Uplink,
		network: clock.Network{Loss: s.Loss, Duplicate: s.Duplicate},
		steps:   sim.StepSize{Eta0: s.Eta0, Beta: s.Beta, Decay: sim.Decay(s.Schedule)},
	}
	var errs []error
	read(&errs, &p.sizes, s.SampleSize, dp.ParseSizes)
	read(&errs, &p.delay, s.Delay, sim.ParseDelay)
	read(&errs, &p.sampling, s.Sampling, func(name string) (dp.Sampling, error) {
		return dp.Sampling(name), dp.Sampling(name).CheckDrawn()
	})
	read(&errs, &p.partition, s.Partition, data.ParsePartition)
	read(&errs, &p.compute, s.Compute, durationOf("compute time"))
	read(&errs, &p.latency, s.Latency, durationOf("latency"))
	read(&errs, &p.speeds, s.Speeds, clock.ParseSpeeds)
	read(&errs, &p.churn, s.Churn, clock.ParseChurn)
	read(&errs, new(average), s.Average, parseAverage)
	read(&errs, &p.network.Resend, s.Resend, parseResend)
	var err error
	if p.model, err = kindOf(s.Model); err != nil {
		errs = append(errs, err)
	}
	if s.Runner != VirtualRunner && s.Runner != HogwildRunner && s.Runner != DistributedRunner {
		errs = append(errs, fmt.Errorf("runner = %q, must be %q or %q", s.Runner, VirtualRunner, HogwildRunner))
	}
	if s.Delta != 0 {
		errs = append(errs, dp.CheckDelta(s.Delta, closedform.MinDelta))
	}
	if s.TargetEpsilon != 0 {
		errs = append(errs, plan.CheckEpsilon(s.TargetEpsilon))
	}
	return p, errors.Join(errs...)
}

// read parses text and stores the result in *to. It appends an error to errs.
func read[T any](errs *[]error, to *T, text string, parse func(string) (T, error)) {
	v, err := parse(text)
	if err != nil {
		*errs = append(*errs, err)
		return
	}
	*to = v
}

// durationOf returns clock.ParseDuration with errors that name the duration.
func durationOf(what string) func(string) (clock.Duration, error) {
	return func(text string) (clock.Duration, error) {
		d, err := clock.ParseDuration(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return d, err
	}
}

// parseResend reads a time. "" means 0.
func parseResend(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("resend = %q, must be a time such as 1ms", text)
	}
	return d, nil
}

// Validate returns nil if the spec is valid as far as can be said without the data, and otherwise one error that
// lists every problem. [Spec.Prepare] calls it.
func (s Spec) Validate() error {
	p, err := s.parse()
	errs := []error{err, p.steps.Validate()}
	errs = append(errs, dp.CheckCount("clients", s.Clients, 1, sim.MaxClients))
	errs = append(errs, s.inputs().validate()...)
	errs = append(errs, s.checkLambda())
	errs = append(errs, s.checkMetric())
	errs = append(errs, p.speeds.Validate(s.Clients), p.network.Validate(), sim.Adapt(s.Adapt).Validate(),
		sim.CheckMomentum(s.Momentum))
	switch {
	case s.Runner == HogwildRunner:
		errs = append(errs, s.checkHogwild(s.config(p)))
	case s.TimeScale != 0:
		errs = append(errs, fmt.Errorf("time scale = %v, must be 0 except with runner %s: no other runner waits for the "+
			"durations drawn", s.TimeScale, HogwildRunner))
	case s.Runner == DistributedRunner:
		virtual := s.config(p)
		errs = append(errs, virtual.CheckFreeRunning())
	}
	if s.Features < 0 || s.Features > libsvm.MaxIndex {
		errs = append(errs, fmt.Errorf("features = %d, must be in [1, %d], or 0 for any number", s.Features,
			libsvm.MaxIndex))
	}
	if err := s.checkPrecision(); err != nil {
		errs = append(errs, err)
	}
	if s.Split != "" && s.Split != ShuffledSplit && s.Split != RecordSplit {
		errs = append(errs, fmt.Errorf("split = %q, must be %q or %q", s.Split, ShuffledSplit, RecordSplit))
	}
	switch {
	case s.Holdout != 0:
		errs = append(errs, data.CheckHoldOut(s.Holdout, s.Fold))
	case s.Fold != 0:
		errs = append(errs, fmt.Errorf("fold = %d, must be 0 if no records are held out", s.Fold))
	}
	if s.Clipping != "" && s.Clipping != AutomaticClipping {
		errs = append(errs, fmt.Errorf("clipping = %q, must be %q, or not be given: gradients above the clipping norm are then "+
			"clipped to it", s.Clipping, AutomaticClipping))
	}
	errs = append(errs, s.checkPersons(p)...)
	if s.BoundsEpsilon != 0 {
		errs = append(errs, data.CheckBoundsEpsilon(s.BoundsEpsilon))
		if s.TargetEpsilon != 0 {
			errs = append(errs, s.checkTarget(s.TargetEpsilon))
		}
		if dp.NaturalAdjacency(dp.Sampling(s.Sampling)) != dp.AddOrRemove {
			errs = append(errs, fmt.Errorf("sampling = %q, must be %q with private bounds, whose ε is for a record that is "+
				"added or removed", s.Sampling, dp.Poisson))
		}
		if s.Runner == DistributedRunner {
			errs = append(errs, fmt.Errorf("bounds epsilon = %v, must be 0 with runner = %q: private bounds need all records "+
				"in one place", s.BoundsEpsilon, s.Runner))
		}
	}
	if s.Runner == DistributedRunner && s.Initial != "" {
		errs = append(errs, fmt.Errorf("initial model = %q, must be the default one with runner = %q: clients would need its "+
			"file", s.Initial, s.Runner))
	}
	if s.Initial != "" {
		if _, err := checkInitial(s.Initial); err != nil {
			errs = append(errs, fmt.Errorf("initial model: %w", err))
		}
	}
	if s.Initial == "" && s.InitialSHA256 != "" {
		errs = append(errs, fmt.Errorf("initial SHA-256 = %s without a file of the initial model", s.InitialSHA256))
	}
	if s.SeedFromOS && s.Run != 0 {
		errs = append(errs, fmt.Errorf("run = %d, must be 0 with the operating system's randomness: every "+
			"training then has its own noise", s.Run))
	}
	if s.GradComps < 1 || s.GradComps > decimal.MaxWhole {
		errs = append(errs, fmt.Errorf("gradient computations per client = %d, must be in [1, 2^53]",
			s.GradComps))
	}
	if p.sampling == dp.Allocation {
		if s.Adapt != 0 {
			errs = append(errs, fmt.Errorf("adapt = %v, must be 0 with %s sampling, whose rounds have no sizes", s.Adapt,
				dp.Allocation))
		}
		if s.Runner == DistributedRunner {
			errs = append(errs, fmt.Errorf("sampling = %q, must be %q or %q with runner %q: allocation trains in one process",
				s.Sampling, dp.Poisson, dp.FixedSize, s.Runner))
		}
	}
	m := s.mechanism(p, math.MaxInt32)
	m.Group = 0 // checkPersons reports what is wrong with it
	return errors.Join(append(errs, m.Validate(1))...)
}

// checkPersons reports settings that are not covered for persons.
func (s Spec) checkPersons(p parsed) (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.AtMost == 0 {
		return nil
	}
	if s.AtMost < 1 || s.AtMost > dp.MaxGroup {
		fail("at most = %d records of a person, must be in [1, %d]", s.AtMost, dp.MaxGroup)
	}
	if p.sampling != dp.Poisson { // dp.Mechanism allows others for one record
		fail("sampling = %q, must be %q for persons: no accountant covers persons with other samples", s.Sampling, dp.Poisson)
	}
	if s.Split == ShuffledSplit { // data.Split refuses persons, too
		fail("split = %q, must be %q for persons: the records of a person must be on one side", s.Split, RecordSplit)
	}
	if s.Clients > 1 && p.partition.Disjoint() {
		fail("partition = %q, must be %q for persons: several clients could hold records of one person", s.Partition,
			data.Replicate)
	}
	if s.Adapt != 0 {
		fail("adapt = %v, must be 0 for persons: that larger samples cost at least as much is proved for a record", s.Adapt)
	}
	if s.BoundsEpsilon != 0 {
		fail("bounds epsilon = %v, must be 0 for persons: the private bounds are for a record", s.BoundsEpsilon)
	}
	if s.Runner == DistributedRunner {
		fail("at most = %d records of a person, must be 0 with runner = %q: clients that hold records of one person do not know of "+
			"each other", s.AtMost, s.Runner)
	}
	return errs
}

// checkHogwild reports settings that the hogwild runner does not support, neither free-running nor
// on a real clock.
func (s Spec) checkHogwild(cfg sim.Config) error {
	if s.TimeScale == 0 {
		return cfg.CheckFreeRunning()
	}
	return errors.Join(realclock.Check(&cfg), realclock.CheckScale(s.TimeScale))
}

const maxLambda = 1e6

// checkMetric returns an error for a metric or another setting that the model does not have.
func (s Spec) checkMetric() error {
	metric, err := models.ParseMetric(s.Metric)
	if err != nil {
		return err
	}
	var errs []error
	switch regression := IsRegression(s.Model); {
	case regression && s.Metric != "" && !metric.Regression():
		errs = append(errs, fmt.Errorf("metric = %s is for classes, must be r2, rmse or mae with model = %q", metric, s.Model))
	case !regression && metric.Regression():
		return fmt.Errorf("metric = %s is for model = %q, and model = %q has classes", metric, Linear, s.Model)
	case !regression:
		return nil
	}
	if s.ClassWeights != "" {
		errs = append(errs, fmt.Errorf("class weights = %q with model = %q, must be none: it has no classes", s.ClassWeights,
			s.Model))
	}
	if s.Runner == DistributedRunner {
		errs = append(errs, fmt.Errorf("model = %q is trained in one process only (train), must be a model of classes with "+
			"runner = %q", s.Model, s.Runner))
	}
	return errors.Join(errs...)
}

// checkLambda returns an error if the penalty is out of range, or if the model has no penalty.
func (s Spec) checkLambda() error {
	if s.Lambda == 0 {
		return nil
	}
	if !(s.Lambda > 0 && s.Lambda <= maxLambda) {
		return fmt.Errorf("lambda = %v, must be in (0, %g], or 0 for 1/N", s.Lambda, float64(maxLambda))
	}
	if s.Model != Ridge {
		return fmt.Errorf("lambda = %v with model = %q, must be 0: only %q has a penalty", s.Lambda, s.Model,
			Ridge)
	}
	return nil
}

// lambda returns the penalty λ for clients with n records each.
func (s Spec) lambda(n int) float64 {
	if s.Lambda != 0 {
		return s.Lambda
	}
	return 1 / float64(n)
}

// inputs returns how the records are transformed for the model.
func (s Spec) inputs() inputs { return inputs{s.FeatureMap, s.InputScale} }

func (s Spec) mechanism(p parsed, n int) dp.Mechanism {
	return dp.Mechanism{
		Sampling: p.sampling, Adjacency: dp.NaturalAdjacency(p.sampling),
		ClipNorm: s.Clip, NoiseMultiplier: s.NoiseMultiplier, DatasetSize: n, Sizes: p.sizes, Batches: s.Batches,
		Group: s.AtMost, Exact: s.Exact,
	}
}

// config returns the part of the run's configuration that does not depend on the data.
func (s Spec) config(p parsed) sim.Config {
	return sim.Config{
		Partition: p.partition, GradComps: s.GradComps, Delay: p.delay, Steps: p.steps,
		Timing: clock.Timing{Compute: p.compute, Uplink: p.latency, Downlink: p.latency},
		Speeds: p.speeds, Network: p.network, Churn: p.churn, Adapt: sim.Adapt(s.Adapt), Momentum: s.Momentum,
	}
}

// Prepare checks the spec and returns the run of the spec on the data set d. To prepare many specs on one data set,
// use a [Source], which shares memory.
//
// root is the source of all random numbers of the run. If it is nil, the source is the number Spec.Seed. A spec with
// SeedFromOS needs a root from rng.NewFromOS. The random numbers of the clients' batches and noise also depend on
// Spec.Run (see [rng.Root.ForRun]), so that two runs with the same root do not have the same noise. Prepare reads the
// files of traces and of initial weights that the spec names, and sets their hashes in the result's spec. All errors
// are reported together.
func (s Spec) Prepare(d *data.Dataset, root *rng.Root) (*Prepared, error) {
	return NewSource(d).PrepareWith(s, root)
}

// finish checks a run whose clients hold n records each, and sets its δ.
func (p *Prepared) finish(n int) error {
	err := p.Config.Validate()
	if p.Delta == 0 {
		if p.Delta = 1 / float64(n); n < 2 {
			way := "give --delta or more records"
			if p.Config.Clients() > 1 {
				way = "give --delta, more records or fewer --clients"
			}
			err = errors.Join(err, fmt.Errorf("delta has no default if a client has %s: %s", decimal.Many(n, "record"), way))
		}
	}
	return err
}

// SplitRows returns the training and the test rows of d, as Spec.Split says. root is the source of the randomness
// that chooses the test rows. If d has a separate test set, it is used. [Spec.Prepare] calls SplitRows, and then
// holds out records and divides the training rows among the clients.
func (s Spec) SplitRows(d *data.Dataset, root *rng.Root) (train, test data.Subset, err error) {
	if s.Split == RecordSplit {
		return data.SplitByRecord(d, root)
	}
	return data.Split(d, root)
}

// UsualHoldout is the fraction of the training records (Spec.Holdout) that a search for settings holds out, to measure
// accuracy on them. For MNIST, this is about 10,000 records, as many as there are test images. [DefaultHoldout] is
// smaller if a client has many records.
const UsualHoldout = 1. / 6

// Run runs the training and returns the result of package sim: the final model and the rounds that were released.
// perf has the settings for the speed, such as the number of goroutines. They do not change the result. Run calls
// observe, unless it is nil, with each global model that the server broadcasts. Unlike [Prepared.Train], it does
// not check Spec.TargetEpsilon and makes no report. It writes no checkpoints, see [Prepared.RunKept].
func (p *Prepared) Run(ctx context.Context, perf sim.Perf, observe sim.Observer) (*sim.Result, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	train, err := p.ready(perf, observe)
	if err != nil {
		return nil, err
	}
	return train(ctx)
}

// ready sets up the run and returns a function that does the training.
func (p *Prepared) ready(perf sim.Perf, observe sim.Observer) (func(context.Context) (*sim.Result, error), error) {
	names := p.Config.Roots.Names()
	if i := slices.IndexFunc(names, rng.Name.Simulated); p.Spec.SeedFromOS && i >= 0 {
		return nil, fmt.Errorf("noise from %s, but the spec wants the operating system's randomness: give "+
			"Spec.Prepare a root from rng.NewFromOS", names[i])
	}
	switch p.Spec.Runner {
	case HogwildRunner:
		return func(ctx context.Context) (*sim.Result, error) {
			if p.Spec.TimeScale > 0 {
				return realclock.Run(ctx, p.Config, realclock.Options{Scale: p.Spec.TimeScale, Observe: observe})
			}
			return sim.Hogwild(ctx, p.Config, observe)
		}, nil
	case DistributedRunner:
		return nil, errors.New("a distributed run needs separate processes, see package cluster")
	}
	v, err := sim.NewVirtual(p.Config, perf, observe)
	if err != nil {
		return nil, err
	}
	p.record(v)
	return v.Run, nil
}

func (p *Prepared) made() error {
	if p == nil || p.Config == nil || p.source == nil {
		return errors.New("this Prepared was not made by Source.Prepare")
	}
	return nil
}
