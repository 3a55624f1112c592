// Package train is for one training: a Spec of plain values says all that decides
// its result, Prepare makes it concrete on a data set, and what is prepared can be
// forecast, trained with checkpoints on the way, traced, and reported with the
// privacy that it guarantees.
//
//	spec := train.DefaultSpec()
//	spec.Data, spec.GradComps = dataset.Name, 10_000
//	p, err := spec.Prepare(dataset, nil)
//	…
//	report, err := p.Train(ctx, sim.Perf{}, nil)
//
// A spec names the program's own models; a model of another is trained by package
// sim.
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
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// The runners by name.
const (
	VirtualRunner = "virtual"
	HogwildRunner = "hogwild"
	// DistributedRunner is a server and clients that are processes of their own, of
	// package cluster.
	DistributedRunner = "distributed"
)

// Spec is one training run, as plain values: what the command line sets,
// what a manifest records and what a finished cell is found by.
type Spec struct {
	Model string `json:"model"`
	// Data is what reports call the data set. Prepare is given the set itself, and
	// compares no name.
	Data            string  `json:"data"`
	Clients         int     `json:"clients"`
	GradComps       int     `json:"grad_computations"` // K, the gradients of one client, at least 1
	SampleSize      string  `json:"sample_size"`       // s_i, see dp.ParseSizes
	NoiseMultiplier float64 `json:"sigma"`
	Clip            float64 `json:"clip"`
	Eta0            float64 `json:"eta0"`
	Beta            float64 `json:"beta"`
	Schedule        string  `json:"schedule"`
	Delay           string  `json:"delay"` // Υ, see sim.ParseDelay
	Partition       string  `json:"partition"`
	Sampling        string  `json:"sampling"`
	Runner          string  `json:"runner"`
	Compute         string  `json:"compute_time"` // see clock.ParseDuration
	Latency         string  `json:"latency"`
	// TimeScale is of the hogwild runner, which with it is on a real clock, see
	// realclock.Options; 0: clients run as fast as they can.
	TimeScale float64 `json:"time_scale,omitempty"`
	// The next fields are what only the virtual clock can do. The hashes are those
	// of a trace's file, see Pinned.
	Speeds       string  `json:"speeds,omitempty"` // see clock.ParseSpeeds
	Loss         float64 `json:"loss,omitempty"`   // see clock.Network
	Resend       string  `json:"resend,omitempty"` // after which a lost message is sent again, such as 1ms
	Duplicate    float64 `json:"duplicate,omitempty"`
	Churn        string  `json:"churn,omitempty"` // see clock.ParseChurn
	Adapt        float64 `json:"adapt,omitempty"` // see sim.Adapt
	ComputeTrace string  `json:"compute_trace_sha256,omitempty"`
	LatencyTrace string  `json:"latency_trace_sha256,omitempty"`

	// Features is how many columns the data set must have, 0: any. That a file of one's
	// own has them is then no secret of its records.
	Features int `json:"features,omitempty"`
	// FeatureMap is what takes the place of the images' pixels: hog:CELL:BINS, see package
	// data/hog; "": nothing does. Digests stay those of the data set as read.
	FeatureMap string `json:"feature_map,omitempty"`
	// InputScale is a public constant by which what the model sees of a record is
	// multiplied, see data.Dataset.Scaled; 0 means 1.
	InputScale float64 `json:"input_scale,omitempty"`
	// Precision is of what numbers matrix tiles (AMX) make the products of a network that
	// they are for: bf16x3, see nn.BF16x3, which no other kernels can do; "": those that
	// agree with the other kernels.
	Precision string `json:"precision,omitempty"`
	// Split says how a data set that was published as one is split: ShuffledSplit, as
	// data.Split does and "" means, or RecordSplit, as data.SplitByRecord does.
	Split string `json:"split,omitempty"`

	Delta float64 `json:"delta"` // δ of every statement, in (0, 1); 0: 1/N_c
	// Holdout is the part of the training records, in (0, 1), that nobody trains on and that judges
	// instead of the test set; 0 holds out none. A hash of each record, keyed by the seed, picks
	// them, so their number varies, see [data.HoldOut]. Fold, from 0 on, says which part it is.
	// Each fold has other records.
	Holdout    float64 `json:"holdout,omitempty"`
	Fold       int     `json:"fold,omitempty"`
	Seed       uint64  `json:"seed"`
	SeedFromOS bool    `json:"seed_from_os,omitempty"` // randomness is the operating system's, and Seed is not used
	Exact      bool    `json:"exact,omitempty"`        // samples and noise are drawn exactly, see dp.Mechanism
	// Run is the number of the release among those of the seed. Every run has samples,
	// noise and dropout of its own; split, deal, default model and clock are the seed's.
	// Two trainings whose ε are composed must be two runs, or of two seeds.
	Run uint64 `json:"run,omitempty"`

	// Momentum is M in [0, 1) of the server's heavy ball, see sim.Config.
	Momentum float64 `json:"momentum,omitempty"`
	// Average is which mean of the broadcasts is reported beside the last model: "" or
	// "none" for none, "ema:D" or "tail:F", see Outcome.
	Average string `json:"average,omitempty"`
	// Lambda is the ridge penalty λ of the model "logreg", in (0, 1e6]; 0: 1/N, as in the paper.
	Lambda float64 `json:"lambda,omitempty"`
	// TargetEpsilon is the ε of a record that NoiseMultiplier was calibrated for, see
	// Source.Calibrate; 0: none. A run that would cost more is not trained.
	TargetEpsilon float64 `json:"target_epsilon,omitempty"`
}

// How a data set is split into training and test rows.
const (
	ShuffledSplit = "shuffled"  // at random: another number of rows deals all of them anew
	RecordSplit   = "by-record" // each record by itself, so that (ε, δ) covers the split
)

// DefaultSpec is the paper's strongly convex setting on phishing.
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

// Prepared is a spec made concrete: a configuration ready to run and the records
// to judge it by: the test set, or those held out of the training set.
//
// A Prepared is made by a Source. The methods of any other return an error or, if they
// have none to return, may panic.
type Prepared struct {
	Spec   Spec        // with the hashes of the traces that it names, and the model's FullName
	Config *sim.Config // what any runner runs
	Test   data.Subset // the rows that give the accuracy
	Delta  float64     // δ of every statement
	Trace  *Trace      // is shown the run; nil: none
	Notes  []string    // what a reader must know beside what the spec says, see Setting.Notes

	source *Source  // the source that prepared it
	stage  *stageID // what a stage has besides its spec; nil if it is none
}

// parsed is a spec with its texts read.
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

// parse reads the texts of the spec and checks what stands by itself. What could
// not be read has its default in the result, so that the rest can be checked
// too.
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

// read sets *to to what parse makes of text, or keeps the error.
func read[T any](errs *[]error, to *T, text string, parse func(string) (T, error)) {
	v, err := parse(text)
	if err != nil {
		*errs = append(*errs, err)
		return
	}
	*to = v
}

// durationOf returns clock.ParseDuration with errors that say which duration of the
// spec it is.
func durationOf(what string) func(string) (clock.Duration, error) {
	return func(text string) (clock.Duration, error) {
		d, err := clock.ParseDuration(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return d, err
	}
}

// parseResend reads a time, "" being 0.
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

// Validate reports every problem of the spec that shows without the data: all
// but what depends on how many records there are.
func (s Spec) Validate() error {
	p, err := s.parse()
	errs := []error{err, p.steps.Validate()}
	if s.Clients < 1 || s.Clients > sim.MaxClients {
		errs = append(errs, fmt.Errorf("clients = %d, must be in [1, %d]", s.Clients, sim.MaxClients))
	}
	errs = append(errs, s.inputs().validate()...)
	errs = append(errs, s.checkLambda())
	errs = append(errs, p.speeds.Validate(s.Clients), p.network.Validate(), sim.Adapt(s.Adapt).Validate(),
		sim.CheckMomentum(s.Momentum))
	switch {
	case s.Runner == HogwildRunner:
		errs = append(errs, s.checkHogwild(s.config(p)))
	case s.TimeScale != 0:
		errs = append(errs, fmt.Errorf("time scale = %v, must be 0 but with runner %s: no other waits for the "+
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
	if s.SeedFromOS && s.Run != 0 {
		errs = append(errs, fmt.Errorf("run = %d, must be 0 where randomness is the operating system's: every "+
			"training then has its own", s.Run))
	}
	if s.GradComps < 1 || s.GradComps > decimal.MaxWhole {
		errs = append(errs, fmt.Errorf("gradient computations per client = %d, must be in [1, 2^53]",
			s.GradComps))
	}
	m := s.mechanism(p, math.MaxInt32)
	return errors.Join(append(errs, m.Validate(1))...)
}

// checkHogwild reports what goroutines cannot do, free-running or on a real clock.
func (s Spec) checkHogwild(cfg sim.Config) error {
	if s.TimeScale == 0 {
		return cfg.CheckFreeRunning()
	}
	return errors.Join(realclock.Check(&cfg), realclock.CheckScale(s.TimeScale))
}

// maxLambda bounds a penalty.
const maxLambda = 1e6

// checkLambda reports a penalty out of its range, or of a model that has none.
func (s Spec) checkLambda() error {
	if s.Lambda == 0 {
		return nil
	}
	if !(s.Lambda > 0 && s.Lambda <= maxLambda) {
		return fmt.Errorf("lambda = %v, must be in (0, %g], or 0 for 1/N", s.Lambda, float64(maxLambda))
	}
	if s.Model != Ridge {
		return fmt.Errorf("lambda = %v of the model %q, must be 0: %q alone has a penalty", s.Lambda, s.Model,
			Ridge)
	}
	return nil
}

// lambda returns the penalty for clients of n records each.
func (s Spec) lambda(n int) float64 {
	if s.Lambda != 0 {
		return s.Lambda
	}
	return 1 / float64(n)
}

// inputs returns what the model is shown.
func (s Spec) inputs() inputs { return inputs{s.FeatureMap, s.InputScale} }

// mechanism returns the mechanism that the spec describes for clients of n
// records.
func (s Spec) mechanism(p parsed, n int) dp.Mechanism {
	return dp.Mechanism{
		Sampling: p.sampling, Adjacency: dp.NaturalAdjacency(p.sampling),
		ClipNorm: s.Clip, NoiseMultiplier: s.NoiseMultiplier, DatasetSize: n, Sizes: p.sizes,
		Exact: s.Exact,
	}
}

// config returns the part of the run's configuration that the spec says without
// the data.
func (s Spec) config(p parsed) sim.Config {
	return sim.Config{
		Partition: p.partition, GradComps: s.GradComps, Delay: p.delay, Steps: p.steps,
		Timing: clock.Timing{Compute: p.compute, Uplink: p.latency, Downlink: p.latency},
		Speeds: p.speeds, Network: p.network, Churn: p.churn, Adapt: sim.Adapt(s.Adapt), Momentum: s.Momentum,
	}
}

// Prepare checks the spec and builds the run on the data set; a Source does so for
// many specs. root nil means the spec's seed, with which a run that has SeedFromOS does not
// run; the clients' streams are those of the root's run number s.Run. It reads the files of
// traces and names their content in the spec of what it returns. All that is wrong is
// reported together.
func (s Spec) Prepare(d *data.Dataset, root *rng.Root) (*Prepared, error) {
	if root == nil {
		root = rng.New(s.Seed)
	}
	return NewSource(d).prepare(s, root)
}

// finish checks a run whose clients hold n records each, and settles its δ.
func (p *Prepared) finish(n int) error {
	err := p.Config.Validate()
	if p.Delta == 0 {
		if p.Delta = 1 / float64(n); n < 2 {
			err = errors.Join(err, fmt.Errorf("delta = 1/N = 1 for N = %d, must be below 1: give a δ or "+
				"more records", n))
		}
	}
	return err
}

// SplitRows splits the data set as the spec says.
func (s Spec) SplitRows(d *data.Dataset, root *rng.Root) (train, test data.Subset, err error) {
	if s.Split == RecordSplit {
		return data.SplitByRecord(d, root)
	}
	return data.Split(d, root)
}

// UsualHoldout is the default part of training records that is held out. For MNIST this gives about
// as many as there are test images.
const UsualHoldout = 1. / 6

// Run trains and returns the result as package sim has it. observe may be nil.
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

// ready sets up the run and returns the training itself.
func (p *Prepared) ready(perf sim.Perf, observe sim.Observer) (func(context.Context) (*sim.Result, error), error) {
	names := p.Config.Roots.Names()
	if i := slices.IndexFunc(names, rng.Name.Simulated); p.Spec.SeedFromOS && i >= 0 {
		return nil, fmt.Errorf("noise of %s, where randomness is to be the operating system's: give "+
			"Spec.Prepare a root of rng.NewFromOS", names[i])
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
		return nil, errors.New("a distributed run is of processes of their own, see package cluster")
	}
	v, err := sim.NewVirtual(p.Config, perf, observe)
	if err != nil {
		return nil, err
	}
	p.record(v)
	return v.Run, nil
}

// made reports a run that cannot be used.
func (p *Prepared) made() error {
	if p == nil || p.Config == nil || p.source == nil {
		return errors.New("this Prepared was not made by Source.Prepare")
	}
	return nil
}
