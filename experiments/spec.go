// Package experiments turns a training setting into a run, runs into figures,
// and figures into files: one registry of figures, one runner of grids × seeds
// that can be interrupted, one style of plot, and beside each picture its data
// and a manifest of how it was made.
package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/f32"
	"proactivedp/internal/rng"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/sim"
)

// The models by name.
const (
	Ridge = "logreg"       // ridge, λ = 1/N
	Plain = "logreg-plain" // no penalty
)

// modelNames lists the models in the order of the help text.
var modelNames = []string{Ridge, Plain}

// The runners by name.
const (
	VirtualRunner = "virtual"
	HogwildRunner = "hogwild"
)

// TrainSpec is one training run, as plain values: what the command line sets,
// what a manifest records and what a finished cell is found by.
type TrainSpec struct {
	Model           string  `json:"model"`
	Data            string  `json:"data"`
	Clients         int     `json:"clients"`
	GradComps       int     `json:"grad_computations"` // K, per client
	SampleSize      string  `json:"sample_size"`       // see dp.ParseSizes
	NoiseMultiplier float64 `json:"sigma"`
	Clip            float64 `json:"clip"`
	Eta0            float64 `json:"eta0"`
	Beta            float64 `json:"beta"`
	Schedule        string  `json:"schedule"`
	Delay           string  `json:"delay"` // see sim.ParseDelay
	Partition       string  `json:"partition"`
	Sampling        string  `json:"sampling"`
	Runner          string  `json:"runner"`
	Compute         string  `json:"compute_time"` // see sim.ParseDuration
	Latency         string  `json:"latency"`
	Delta           float64 `json:"delta"` // 0: 1/N_c
	Seed            uint64  `json:"seed"`
}

// DefaultTrainSpec is the paper's strongly convex setting on phishing.
func DefaultTrainSpec() TrainSpec {
	timing := sim.DefaultTiming()
	return TrainSpec{
		Model: Ridge, Data: "phishing", Clients: 5, GradComps: 50_000, SampleSize: "26",
		NoiseMultiplier: 19.29962, Clip: 0.1, Eta0: 0.1, Beta: 0.001,
		Schedule: string(sim.LinearDecay), Delay: "1",
		Partition: string(data.Replicate), Sampling: string(dp.Poisson), Runner: VirtualRunner,
		Compute: timing.Compute.String(), Latency: timing.Uplink.String(), Seed: 1,
	}
}

// Problem is a spec made concrete: a configuration ready to run and the test
// set to judge it by.
type Problem struct {
	Spec   TrainSpec
	Config *sim.Config
	Test   data.Subset
	Delta  float64 // δ of every statement
}

// Prepare checks every field of the spec and builds the run on the data set.
// root nil means the spec's seed. All problems are reported together.
func (s TrainSpec) Prepare(d *data.Dataset, root *rng.Root) (*Problem, error) {
	var errs []error
	keep := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if root == nil {
		root = rng.New(s.Seed)
	}
	sizes, err := dp.ParseSizes(s.SampleSize)
	keep(err)
	delay, err := sim.ParseDelay(s.Delay)
	keep(err)
	sampling, err := dp.ParseSampling(s.Sampling)
	keep(err)
	partition, err := data.ParsePartition(s.Partition)
	keep(err)
	compute, err := sim.ParseDuration(s.Compute)
	keep(err)
	latency, err := sim.ParseDuration(s.Latency)
	keep(err)
	if !slices.Contains(modelNames, s.Model) {
		keep(fmt.Errorf("experiments: model = %q, must be one of %s", s.Model, strings.Join(modelNames, ", ")))
	}
	if s.Runner != VirtualRunner && s.Runner != HogwildRunner {
		keep(fmt.Errorf("experiments: runner = %q, must be %q or %q", s.Runner, VirtualRunner, HogwildRunner))
	}
	if s.Delta != 0 && !(s.Delta > 0 && s.Delta < 1) {
		keep(fmt.Errorf("experiments: delta = %v, must be in (0, 1), or 0 for 1/N", s.Delta))
	}
	// What could not be read is replaced by a default here only so that the
	// rest is checked too; the errors kept above still end the run.
	if sizes == nil {
		sizes = dp.ConstantSizes(1)
	}
	if delay == nil {
		delay = sim.AtMost(1)
	}
	if partition == "" {
		partition = data.Replicate
	}
	if sampling == "" {
		sampling = dp.Poisson
	}
	if compute.Kind == "" || latency.Kind == "" {
		compute, latency = sim.DefaultTiming().Compute, sim.DefaultTiming().Uplink
	}

	train, test, err := data.Split(d, root)
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	rows, err := partition.Deal(train, s.Clients, root)
	keep(err)
	n := train.Len()
	if len(rows) > 0 {
		n = rows[0].Len()
	}
	var model models.Model
	if s.Model == Plain {
		model, err = logreg.NewPlain(d.Features)
	} else {
		model, err = logreg.NewRidge(d.Features, 1/float64(n))
	}
	keep(err)
	p := &Problem{Spec: s, Test: test, Delta: s.Delta, Config: &sim.Config{
		Model: model, Rows: rows, Partition: partition,
		Mechanism: dp.Mechanism{
			Sampling: sampling, Adjacency: dp.NaturalAdjacency(sampling),
			ClipNorm: s.Clip, NoiseMultiplier: s.NoiseMultiplier, DatasetSize: n, Sizes: sizes,
		},
		GradComps: s.GradComps, Delay: delay,
		Steps:  sim.StepSize{Eta0: s.Eta0, Beta: s.Beta, Decay: sim.Decay(s.Schedule)},
		Root:   root,
		Timing: sim.Timing{Compute: compute, Uplink: latency, Downlink: latency},
	}}
	if len(rows) > 0 {
		keep(p.Config.Validate())
	}
	if p.Delta == 0 {
		if p.Delta = 1 / float64(n); n < 2 {
			keep(fmt.Errorf("experiments: delta = 1/N = 1 for N = %d, must be below 1: give a δ or more records", n))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// Run trains. observe may be nil.
func (p *Problem) Run(ctx context.Context, perf sim.Perf, observe sim.Observer) (*sim.Result, error) {
	if p.Spec.Runner == HogwildRunner {
		return sim.Hogwild(ctx, p.Config, observe)
	}
	v, err := sim.NewVirtual(p.Config, perf, observe)
	if err != nil {
		return nil, err
	}
	return v.Run(ctx)
}

// Judge returns a function that gives the test accuracy of parameters.
func (p *Problem) Judge() func(params []float32) float64 {
	scratch := p.Config.Model.NewScratch()
	labels := make([]int32, p.Test.Len())
	return func(params []float32) float64 {
		return models.Accuracy(p.Config.Model, params, p.Test.All(), scratch, labels)
	}
}

// View is one side of a privacy statement in a report.
type View struct {
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Delta        float64  `json:"delta"`
	DatasetSize  int      `json:"dataset_size"`
	Rounds       int      `json:"rounds"`
	GradComps    int      `json:"grad_computations"`
	SampleRate   float64  `json:"sample_rate"` // mean over the rounds
	Reason       string   `json:"reason,omitempty"`
}

// PrivacyReport is what a run guarantees, for a record as it was really held
// (the flat keys and per_record) and within one client's data (per_client).
type PrivacyReport struct {
	EpsilonUpper    *float64     `json:"epsilon_upper"`
	Delta           float64      `json:"delta"`
	NoiseMultiplier float64      `json:"noise_multiplier"`
	Accountant      string       `json:"accountant"`
	Kind            dp.Kind      `json:"kind"`
	Adjacency       dp.Adjacency `json:"adjacency"`
	Sampling        dp.Sampling  `json:"sampling"`
	Reason          string       `json:"reason,omitempty"`
	PerClient       View         `json:"per_client"`
	PerRecord       View         `json:"per_record"`
}

func view(s sim.Statement) View {
	return View{
		EpsilonUpper: s.EpsilonUpper, Delta: s.Delta, DatasetSize: s.DatasetSize,
		Rounds: s.Rounds, GradComps: s.GradComps,
		SampleRate: float64(s.GradComps) / float64(s.Rounds) / float64(s.DatasetSize),
		Reason:     s.Reason,
	}
}

func (p *Problem) report(priv sim.Privacy) PrivacyReport {
	r := priv.PerRecord
	return PrivacyReport{
		EpsilonUpper: r.EpsilonUpper, Delta: r.Delta, Accountant: r.Accountant, Kind: dp.Upper,
		NoiseMultiplier: p.Config.Mechanism.NoiseMultiplier,
		Adjacency:       r.Adjacency, Sampling: r.Sampling, Reason: r.Reason,
		PerClient: view(priv.PerClient), PerRecord: view(priv.PerRecord),
	}
}

// PlannedPrivacy states what the run will guarantee, before it runs.
func (p *Problem) PlannedPrivacy() PrivacyReport {
	return p.report(p.Config.AccountPlanned(closedform.Accountant{}, p.Delta))
}

// Report is what a finished training run says of itself.
type Report struct {
	TestAccuracy float64       `json:"test_accuracy"`
	TestRows     int           `json:"test_rows"`
	Rounds       int           `json:"rounds"` // per client
	Updates      int           `json:"updates"`
	GradComps    int           `json:"grad_computations"` // done, per client
	Remainder    int           `json:"remainder"`         // of K, too little for a round
	MaxLag       int           `json:"max_lag"`           // largest i − k a client computed with
	ParamsSHA256 string        `json:"params_sha256"`
	ParamsNorm   float64       `json:"params_norm"`
	Privacy      PrivacyReport `json:"privacy"`
	Synthetic    bool          `json:"synthetic_data"`
	DataSHA256   string        `json:"data_sha256"` // of the parsed content
	Seconds      float64       `json:"seconds"`     // the training loop alone
	Spec         TrainSpec     `json:"config"`
}

// Train runs the problem and reports.
func (p *Problem) Train(ctx context.Context, perf sim.Perf) (*Report, error) {
	start := time.Now()
	result, err := p.Run(ctx, perf, nil)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	set := p.Test.Data
	return &Report{
		TestAccuracy: p.Judge()(result.Params), TestRows: p.Test.Len(),
		Rounds: result.Run.Rounds, Updates: result.Updates,
		GradComps: result.Run.Computed, Remainder: result.Run.Remainder, MaxLag: result.MaxLag,
		ParamsSHA256: result.ParamsSHA256(), ParamsNorm: math.Sqrt(f32.SumSquares(result.Params)),
		Privacy:   p.report(sim.Account(closedform.Accountant{}, result.Ledgers, p.Config.Partition, p.Delta)),
		Synthetic: set.Synthetic, DataSHA256: set.Hash(), Seconds: seconds, Spec: p.Spec,
	}, nil
}
