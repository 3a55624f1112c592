package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/internal/memory"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Forecast is the result of [Prepared.Forecast]: the expected time, memory and privacy guarantee of a training that
// has not run. The command train --dry-run prints it.
type Forecast struct {
	DryRun     bool `json:"dry_run"` // always true; shows that this is a Forecast and not a Report
	Parameters int  `json:"parameters"`
	Rounds     int  `json:"rounds"`            // of a client; if clients differ, of the client with the most
	Updates    int  `json:"updates"`           // the rounds of all clients together
	GradComps  int  `json:"grad_computations"` // gradients that each client computes
	// Remainder is the number of gradients of Spec.GradComps that are left over, because they are too few for a
	// round.
	Remainder   int          `json:"remainder"`
	FLOPs       float64      `json:"flops_per_gradient"`
	TotalFLOPs  float64      `json:"flops"`                // operations of all gradients of all clients
	Memory      []sim.Part   `json:"memory"`               // what needs memory, and how much
	MemoryBytes int64        `json:"memory_bytes"`         // the peak: the sum of all parts of Memory
	Computing   int          `json:"gradients_at_a_time"`  // how many clients' batches are computed at the same time
	Speed       float64      `json:"gradients_per_second"` // measured on one batch that is computed alone
	Seconds     float64      `json:"seconds_expected"`     // expected seconds of the training loop
	Privacy     claim.Report `json:"privacy"`              // the guarantee that the run will have
	Synthetic   bool         `json:"synthetic_data"`       // whether the data is generated, see data.Dataset
	DataNote    string       `json:"data_note,omitempty"`  // what else a reader must know about the data
	Notes       []string     `json:"notes,omitempty"`      // unusual settings, see Spec.Notes
	Spec        Spec         `json:"config"`
}

// A forecast measures samples of at most probeBatch examples for probeTime. It stops after enoughTime if it has seen
// enoughExamples, because sizes of samples are random and only a mean over many examples is precise.
const (
	probeBatch     = 256
	probeTime      = 200 * time.Millisecond
	enoughTime     = 50 * time.Millisecond
	enoughExamples = 1000
)

// sharing is the speed of a gradient while others are computed at the same time, relative to one
// that is computed on its own. It is below 1 because clients sometimes wait for each other.
const sharing = 0.92

// programBytes is about how much memory the program takes before it loads anything.
const programBytes = 32 << 20

// Forecast returns the expected time, memory and privacy of the run without training. For the time, it computes
// gradients of the model for a moment on this machine. perf has the settings with which the run will be computed,
// such as the number of goroutines. Forecast returns an error if the run's ε would be above Spec.TargetEpsilon.
func (p *Prepared) Forecast(ctx context.Context, perf sim.Perf) (*Forecast, error) {
	gradient, rest, err := p.Rates()
	if err != nil {
		return nil, err
	}
	privacy, err := p.PlannedPrivacy(ctx)
	if err == nil {
		err = p.KeepsTarget(ctx)
	}
	if err != nil {
		return nil, err
	}
	run, m := p.Config.Run(), p.Config.Model
	rounds, gradients := p.Config.Total()
	set := p.Test.Data
	f := &Forecast{
		DryRun: true, Parameters: m.NumParams(),
		Rounds: run.Rounds, Updates: int(rounds), GradComps: run.Computed, Remainder: run.Remainder,
		FLOPs: p.Config.FLOPs(),
		Memory: append(p.memory(perf),
			sim.Part{What: "data, and as read", Count: 2, Bytes: dataBytes(p.source.data)},
			sim.Part{What: "features, and scaled inputs", Count: 1, Bytes: p.source.viewBytes()},
			sim.Part{What: "program", Count: 1, Bytes: programBytes}),
		Computing: p.computing(perf), Speed: 1 / gradient,
		Privacy: privacy, Synthetic: set.Synthetic, DataNote: set.Note, Spec: p.Spec.stated(),
		Notes: append(p.Spec.Notes(), p.Notes...),
	}
	f.TotalFLOPs = f.FLOPs * gradients
	f.MemoryBytes = total(f.Memory)
	f.Seconds = p.seconds(perf, gradient, rest)
	return f, nil
}

// seconds returns the expected time of the training loop for the rates that Rates measures.
func (p *Prepared) seconds(perf sim.Perf, gradient, rest float64) float64 {
	speed := 1.0
	if parallel := min(p.computing(perf), runtime.GOMAXPROCS(0)); parallel > 1 {
		speed = sharing * float64(parallel)
	}
	rounds, gradients := p.Config.Total()
	return (gradients*gradient + rounds*rest) / speed
}

// Seconds returns the expected time of the training loop in seconds, on this machine and with the settings perf (such
// as the number of goroutines). For that, it computes gradients of the model for a moment.
func (p *Prepared) Seconds(perf sim.Perf) (float64, error) {
	gradient, rest, err := p.Rates()
	if err != nil {
		return 0, err
	}
	return p.seconds(perf, gradient, rest), nil
}

// SecondsAlone returns the expected time in seconds if one processor core trains and then evaluates the model once on
// p.Test. Use it to estimate the time of many runs if each core computes one run at a time. It measures the time of a
// gradient on this machine.
func (p *Prepared) SecondsAlone() (float64, error) {
	gradient, rest, err := p.Rates()
	if err != nil {
		return 0, err
	}
	rounds, gradients := p.Config.Total()
	return gradients*gradient + rounds*rest + float64(p.Test.Len())*gradient/3, nil // see Judging
}

// Rates measures on this machine, in seconds, how long a client's round takes. gradient is the time of one
// gradient. rest is the time of everything else in a round: the noise, and the updates of the client's and the
// server's model. So a round with s records takes about s·gradient + rest. Rates measures batches of the run's
// mean size, but of at most 256 records. Single examples would be misleading, because a network computes examples
// in blocks, and one example takes as long as a whole block.
func (p *Prepared) Rates() (gradient, rest float64, err error) {
	if err := p.made(); err != nil {
		return 0, 0, err
	}
	m, mech, run := p.Config.Model, p.Config.Mechanism, p.Config.Run()
	mech.Sizes = dp.ConstantSizes(math.Round(float64(run.Computed) / float64(run.Rounds)))
	if mech.Sampling == dp.Allocation { // Poisson samples of this size take as long
		mech.Sampling, mech.Batches = dp.Poisson, 0
	}
	scratch := m.NewScratch()
	params, u := make([]float32, m.NumParams()), make([]float32, m.NumParams())
	sums := models.NewSums(m)
	m.Init(params, p.Config.InitStream())
	rows := p.Config.Rows[0]
	root := p.Config.Roots.Clients[0]
	sampling, noise := root.Stream(rng.Sampling, 0, 0), root.Stream(rng.Noise, 0, 0)
	var sample []int32
	var drawing dp.SampleScratch
	round := func() (size int, gradient, rest time.Duration, err error) {
		start := time.Now()
		sample = mech.Sample(sample[:0], 0, sampling, &drawing)
		sample = sample[:min(len(sample), probeBatch)]
		if err := sums.GradSum(sums.Wide(), params, rows.Batch(sample), mech.ClipNorm, scratch); err != nil {
			return 0, 0, 0, fmt.Errorf("dry run: %w", err)
		}
		between := time.Now()
		mech.AddNoise(u, sums.Wide(), noise)
		for range 2 {
			f32.Axpy(0, u, params)
		}
		return len(sample), between.Sub(start), time.Since(between), nil
	}
	if _, _, _, err := round(); err != nil { // the first round allocates the scratch, so it is not counted
		return 0, 0, err
	}
	var gradients, rests time.Duration
	examples, times := 0, 0
	enough := func() bool {
		took := gradients + rests
		return examples > 0 && took >= probeTime || examples >= enoughExamples && took >= enoughTime
	}
	for ; !enough(); times++ {
		n, g, r, err := round()
		if err != nil {
			return 0, 0, err
		}
		examples += n
		gradients += g
		rests += r
	}
	return gradients.Seconds() / float64(examples), rests.Seconds() / float64(times), nil
}

func dataBytes(d *data.Dataset) int64 {
	words := len(d.Label) + len(d.Index) + len(d.Value) + 2*len(d.Start)
	if d.Targets != nil {
		words += len(d.Targets.Value)
	}
	words += len(data.PersonKey{}) / 4 * len(d.Person)
	if d.Images != nil {
		return 4*int64(words) + int64(len(d.Images.Pixels))
	}
	return 4 * int64(words)
}

// WriteText writes the forecast to w as a text of about ten lines: privacy, numbers of rounds and gradients, expected
// time, and memory.
func (f *Forecast) WriteText(w io.Writer) error {
	if err := f.made(); err != nil {
		return err
	}
	fmt.Fprintf(w, "dry run         nothing is trained\n")
	if err := f.Privacy.WriteText(w); err != nil {
		return err
	}
	fmt.Fprintf(w, `data            %s
rounds          %d per client, %s in all
computations    %s per client, %d left over
arithmetic      %.4g FLOP in all, %.4g a gradient, %d parameters
expected time   %s (batches at a time: %d, %.4g gradients per second each, measured)
memory          %s at the most, estimated
`,
		report.Data(f.Spec.Data, f.Synthetic, f.DataNote),
		f.Rounds, decimal.Many(f.Updates, "update"), decimal.Many(f.GradComps, "gradient"), f.Remainder,
		f.TotalFLOPs, f.FLOPs, f.Parameters,
		report.Duration(f.Seconds), f.Computing, f.Speed,
		memory.Text(f.MemoryBytes))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, part := range f.Memory {
		if part.Bytes == 0 {
			continue
		}
		fmt.Fprintf(t, "  %s\t%d × %s\n", part.What, part.Count, memory.Text(part.Bytes))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return report.WriteNotes(w, f.Notes)
}

func (f *Forecast) made() error {
	if f == nil {
		return errors.New("no Forecast")
	}
	return nil
}

// WriteStatement writes to w the full privacy statement that the planned run would have: the ε of a record for the
// rounds of all clients and for those of one client, by each accountant (method to compute ε), and the conditions
// under which these ε hold. [Forecast.WriteText] writes only one line about privacy.
func (f *Forecast) WriteStatement(w io.Writer) error {
	if err := f.made(); err != nil {
		return err
	}
	return f.Spec.writeStatement(w, f.Privacy, f.Synthetic, f.DataNote)
}
