package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"proactivedp/dp/claim"
	"proactivedp/internal/files"
	"proactivedp/internal/results"
	"proactivedp/internal/timeline"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// DelaySpec describes a comparison of permissible delays for one training. A permissible delay says by how many
// rounds the global model from which a client computes may be out of date. Use [DelaySpec.Compare] to find out how
// much time a delay saves and how much accuracy it costs. Each delay is tried with the same seeds. Times are in
// simulated (virtual) seconds or, with the hogwild runner, in real seconds (Train must then have a time scale, see
// [UsualTimeScale]). The delay 0 (synchronous training) always runs, because the other delays are compared with it.
type DelaySpec struct {
	Train  train.Spec `json:"train"`  // the training to run with each delay; its own delay and seed are ignored
	Delays []string   `json:"delays"` // permissible delays to compare, as text that sim.ParseDelay reads
	Seeds  int        `json:"seeds"`  // number of seeds; each delay is trained with the seeds 1 to Seeds
	// Margin is the largest loss of final accuracy, in (0, 1), with which a delay still counts as harmless.
	Margin float64 `json:"margin"`
}

// DefaultDelays are the permissible delays that [DefaultDelaySpec] compares: a number is the largest number of rounds
// by which the global model from which a client computes may be out of date, "sqrt" grows with the training (see
// [sim.SquareRoot]), and with "unlimited" no client ever waits.
var DefaultDelays = []string{"0", "sqrt", "1", "4", "16", "unlimited"}

// DefaultDelaySpec returns a comparison of the [DefaultDelays] for a model on a data set, with the paper's
// parameters. The compute times are random, and some are much longer than the others (stragglers), because then
// waiting matters. If model is "", the default model for the data set is used; if dataset is "", the default data set
// for the model.
func DefaultDelaySpec(model, dataset string) DelaySpec {
	return DelaySpec{Train: withStragglers(pool.Train(model, dataset)), Delays: DefaultDelays, Seeds: 3,
		Margin: DefaultMargin}
}

// UsualTimeScale is the default time scale for comparisons by the hogwild runner, which trains in real time: the
// number of real seconds for each simulated (virtual) second. With this scale, a round of the paper's plan for the
// data set phishing takes a few milliseconds, which timers can measure.
const UsualTimeScale = 20

// Validate returns an error that lists every problem that can be found without the data. A problem may be listed more
// than once.
func (s DelaySpec) Validate() error {
	errs := []error{CheckSeeds(s.Seeds), s.Train.Validate(), CheckOnce("delays", s.Delays)}
	if n := len(s.Delays); n < 1 || n > maxSweep {
		errs = append(errs, fmt.Errorf("delays: %d given, must be 1 to %d", n, maxSweep))
	}
	for _, delay := range s.Delays {
		t := s.Train
		t.Delay = delay
		errs = append(errs, t.Validate())
	}
	if !(s.Margin > 0 && s.Margin < 1) {
		errs = append(errs, fmt.Errorf("margin = %v, must be in (0, 1)", s.Margin))
	}
	if s.Train.Runner == train.DistributedRunner {
		errs = append(errs, fmt.Errorf("runner = %q, must be %q or %q: delays are compared in one process",
			s.Train.Runner, train.VirtualRunner, train.HogwildRunner))
	}
	if s.Train.Runner == train.HogwildRunner && s.Train.TimeScale == 0 {
		errs = append(errs, fmt.Errorf("time scale = 0 with runner %s, must be above 0: without a clock "+
			"there are no times to compare", s.Train.Runner))
	}
	if s.Train.SeedFromOS {
		errs = append(errs, errors.New("delays are compared with the same seeds, not with the operating "+
			"system's randomness"))
	}
	return errors.Join(errs...)
}

// DelayOptions says where a comparison of delays writes its results, and how much memory and how many
// processes it uses.
type DelayOptions struct {
	Out      string          // folder for pictures and for the results of finished runs; "" writes neither
	Workers  int             // largest number of runs at the same time; memory may limit it further
	Progress io.Writer       // shows the progress, unless it is nil
	Drawing  results.Drawing // how the pictures are drawn
	// Command returns the command line that repeats the comparison; it is written to the manifests of the pictures.
	// If Command is nil, the manifests have no command.
	Command func(DelaySpec) string
	// Memory limits the memory of the process, in bytes. 0 means the least of the machine's memory, the limit of the
	// control group, and GOMEMLIMIT.
	Memory int64
	// Elsewhere computes the trainings in other processes. If it is nil, this process computes them.
	Elsewhere pool.Elsewhere
}

// DelayReport is the result of [DelaySpec.Compare]: for each permissible delay the accuracy, the time and the
// staleness (how many rounds out of date the models were), and a verdict.
type DelayReport struct {
	Verdict DelayVerdict `json:"verdict"`
	Delays  []Summary    `json:"delays"` // result of each delay, the synchronous one first
	// The time in which a training reaches a target accuracy is measured. The target of a seed is the final accuracy
	// of the synchronous training minus Tolerance. Tolerance is the standard deviation of these final accuracies over
	// seeds. If the metric is the accuracy, it is at least the standard error that comes from the number of test rows,
	// √(a(1-a)/TestRows) for the mean accuracy a.
	Tolerance float64 `json:"target_tolerance"`
	// Looks is the number of times that the accuracy of each run was measured, including once before its first round.
	Looks    int `json:"looks"`
	Rounds   int `json:"rounds"`    // number of rounds of each client
	TestRows int `json:"test_rows"` // number of rows on which accuracies were measured
	// Majority is the baseline: the best value of the metric that the same prediction for all rows reaches, see
	// models.Metric.Baseline.
	Majority float64 `json:"majority_share"`
	JudgedOn string  `json:"judged_on"` // kind of the rows on which accuracies were measured, such as "test set"
	// Privacy is the guarantee of a single training, for the seed with the largest ε. All trainings together cost
	// more.
	Privacy    claim.Report `json:"privacy"`
	Synthetic  bool         `json:"synthetic_data"`      // whether the data are made up
	DataNote   string       `json:"data_note,omitempty"` // warning about the rows of the data, see data.Dataset.Note
	DataSHA256 string       `json:"data_sha256"`         // SHA-256 of the parsed records of the data set
	Notes      []string     `json:"notes,omitempty"`     // warnings about the settings, and what the ε does not cover
	Spec       DelaySpec    `json:"config"`

	comparison *comparison
}

// Compare runs the trainings of all delays on the data of source and compares their accuracy and time. If o.Out is
// not "", it also writes pictures to this folder. Finished trainings are kept in the folder's subfolder .cells, so
// that a call after an interruption does not repeat them.
func (s DelaySpec) Compare(ctx context.Context, source *train.Source, o DelayOptions) (*DelayReport, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if o.Out == "" {
		return s.compare(ctx, source, o)
	}
	var r *DelayReport
	err := files.InFolder(o.Out, func() (err error) {
		r, err = s.compare(ctx, source, o)
		return err
	})
	return r, err
}

func (s DelaySpec) compare(ctx context.Context, source *train.Source, o DelayOptions) (*DelayReport, error) {
	p, err := source.Prepare(s.Train)
	if err != nil {
		return nil, err
	}
	s.Train = p.Spec // the spec now has the digest of its traces
	start := time.Now()
	f := &figureConfig{source: source, seeds: s.Seeds, scale: 1}
	if s.Train.Runner == train.HogwildRunner { // pictures and manifests mention it
		f.runner, f.timeScale = s.Train.Runner, s.Train.TimeScale
	}
	all := delaySeries(s.Train, s.Delays)
	cells := comparisonCells(all, s.Seeds, looksOf(s.Train.Model), source)
	runs := len(cells)
	how := pool.Options{Workers: o.Workers, Progress: o.Progress, Memory: o.Memory, Elsewhere: o.Elsewhere}
	if o.Out != "" {
		cells = append(cells, windowCells(all, f)...)
		how.Folder = filepath.Join(o.Out, pool.Folder)
	}
	trained, spent, err := pool.Run(ctx, cells, how)
	if err != nil {
		return nil, err
	}
	c, err := decodeComparison(all, trained[:runs])
	if err != nil {
		return nil, err
	}
	if o.Out != "" {
		origin := results.NewOrigin(len(cells), spent.Computed, time.Since(start), spent.Time)
		windows, err := pool.DecodeAll[timeline.Window](trained[runs:])
		if err != nil {
			return nil, err
		}
		if err := s.write(ctx, o, f, c, windows, origin); err != nil {
			return nil, err
		}
	}
	privacy, err := f.planned(ctx, s.Train)
	if err != nil {
		return nil, err
	}
	d := source.Data()
	return &DelayReport{
		Verdict: c.verdict(s.Margin, p.Baseline(p.Test)), Delays: c.summaries(), Tolerance: c.tolerance, Looks: c.looks(), Rounds: p.Config.Run().Rounds,
		TestRows: p.Test.Len(), Majority: p.Baseline(p.Test), JudgedOn: s.Train.JudgedOn(), Privacy: privacy,
		Synthetic: d.Synthetic, DataNote: d.Note, DataSHA256: source.Hash(),
		Notes: append(s.Train.Notes(), oneOfMany), Spec: s, comparison: c,
	}, nil
}

// oneOfMany says that an ε covers one training, and not the whole comparison.
const oneOfMany = "(ε, δ) is of one of these trainings by itself: those of one seed share their noise, and no ε " +
	"covers them together"

// commandOf returns the command for spec, or "" without such a function.
func commandOf[S any](command func(S) string, spec S) string {
	if command == nil {
		return ""
	}
	return command(spec)
}

// write writes the pictures, each to its own folder like a figure.
func (s DelaySpec) write(ctx context.Context, o DelayOptions, f *figureConfig, c *comparison, windows []timeline.Window,
	origin results.Origin) error {
	for _, picture := range []struct {
		name, title string
		seeds       int
		draw        func() (*content, error)
	}{
		{"time", "Accuracy against " + clockLabel(s.Train), s.Seeds,
			func() (*content, error) { return timeContent(ctx, f, c) }},
		{"accuracy", "Accuracy against the permissible delay", s.Seeds,
			func() (*content, error) { return delayContent(ctx, f, []*comparison{c}) }},
		{"staleness", "Staleness against its bound", s.Seeds,
			func() (*content, error) { return stalenessContent(ctx, f, c) }},
		{"idle", "Idle time of each client", s.Seeds,
			func() (*content, error) { return idleContent(ctx, f, c) }},
		{"timeline", "Timeline of the first rounds", 1, func() (*content, error) {
			return windowContent(f, c.all, windows)
		}},
	} {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("stopped before %s was drawn: %w", picture.name, err)
		}
		made, err := picture.draw()
		if err != nil {
			return err
		}
		if err := made.write(filepath.Join(o.Out, picture.name), f, Manifest{
			Figure: picture.name, Title: picture.title, Command: commandOf(o.Command, s), Seeds: picture.seeds,
			Origin: origin, Drawing: o.Drawing,
		}); err != nil {
			return err
		}
	}
	return nil
}
