package propose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Grid is what a proposal is held against: whole trainings of all combinations. What is
// laid out of a budget, and the walks, are what a search tries and what lies between and
// beyond.
type Grid struct {
	Rounds    []int     `json:"rounds"` // of all clients together
	Noise     []float64 `json:"noise"`  // about the noise multipliers
	Clips     []float64 `json:"clips"`
	Walks     []float64 `json:"walks"` // how far the noise alone would make the model walk
	Schedules []string  `json:"schedules"`
	Averages  []string  `json:"averages"`
}

// DefaultGrid returns the grid for a request, of its numbers of rounds.
func DefaultGrid(r Request) Grid {
	g := Grid{
		Rounds: r.Rounds, Noise: slices.Clone(triedNoise), Clips: []float64{0.05, 0.1, 0.3, 1},
		Walks:     []float64{2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128},
		Schedules: []string{string(sim.ZeroDecay), string(sim.NoDecay)}, Averages: []string{"", "tail:0.5"},
	}
	if train.IsNetwork(r.Base.Model) {
		g.Clips = []float64{r.Base.Clip}
	}
	return g
}

// check reports a grid without a setting.
func (g Grid) check() error {
	return checkLists("grid", list{"rounds", len(g.Rounds)}, list{"noise", len(g.Noise)}, list{"clips", len(g.Clips)},
		list{"walks", len(g.Walks)}, list{"schedules", len(g.Schedules)}, list{"averages", len(g.Averages)})
}

// list is the name and the length of a list of what is combined.
type list struct {
	name   string
	length int
}

// checkLists reports lists that are empty, of which there would be no combination.
func checkLists(of string, lists ...list) error {
	var errs []error
	for _, l := range lists {
		if l.length == 0 {
			errs = append(errs, fmt.Errorf("%s: %s: none, must be at least one", of, l.name))
		}
	}
	return errors.Join(errs...)
}

// GridReport is a proposal beside the best of a grid.
type GridReport struct {
	Data      string  `json:"data"`
	Model     string  `json:"model"`
	Epsilon   float64 `json:"epsilon"` // target epsilon of a record
	Delta     float64 `json:"delta"`
	Grid      Grid    `json:"grid"`
	Settings  int     `json:"settings"`   // of the grid
	Seeds     int     `json:"seeds"`      // of each setting of the grid
	Times     float64 `json:"times"`      // the arithmetic of the grid over that of the proposal
	TestSeeds int     `json:"test_seeds"` // of the two winners, on the test set

	Proposed Winner `json:"proposed"`
	Best     Winner `json:"best_of_grid"`
	// Regret is the mean test accuracy of the grid's best less that of the proposal, and
	// RegretSE its standard error over the seeds, which both share.
	Regret   float64 `json:"regret"`
	RegretSE float64 `json:"regret_se"`

	all []*candidate // of the grid, the best first
}

// Winner is a setting that was chosen by held-out rows, and what came of it.
type Winner struct {
	Setting   train.Spec `json:"setting"`
	HeldOut   float64    `json:"held_out_accuracy"` // by which it was chosen
	Test      []float64  `json:"test_accuracy"`     // by seed
	Gradients int        `json:"gradients"`         // of all clients
}

// The range of how many times the arithmetic of a proposal a grid may take.
const minTimes, maxTimes = 1, 1000

// CheckTimes reports a number of times outside its range.
func CheckTimes(times float64) error {
	if !(times >= minTimes && times <= maxTimes) {
		return fmt.Errorf("times of a grid = %v, must be in [%d, %d]", times, minTimes, maxTimes)
	}
	return nil
}

// AgainstGrid holds the first proposal for the request against the best of the grid, with
// as many seeds of whole trainings as take times the arithmetic of the proposal at least.
// Both are chosen by held-out rows, and judged by the test set after that, with testSeeds
// trainings of seeds of their own.
func AgainstGrid(ctx context.Context, r Request, o Options, g Grid, times float64, testSeeds int) (*GridReport, error) {
	errs := []error{CheckTimes(times), g.check()}
	if testSeeds < 2 || testSeeds > maxCount {
		errs = append(errs, fmt.Errorf("%d test seeds, must be in [2, %d]", testSeeds, maxCount))
	}
	if r.TargetAccuracy != 0 {
		errs = append(errs, fmt.Errorf("target accuracy = %v, must be 0: a grid is for a target epsilon",
			r.TargetAccuracy))
	}
	if o.Probing != Own || r.Epsilon == 0 {
		errs = append(errs, errors.New("a grid is for a target epsilon, of data that may be looked at itself"))
	}
	if err := errors.Join(append(errs, r.Validate())...); err != nil {
		return nil, err
	}
	s, err := newSearcher(r, o)
	if err != nil {
		return nil, err
	}
	found, err := s.search(ctx, r.Epsilon, nil)
	if err != nil {
		return nil, err
	}
	if _, err := s.frontier(ctx, r.Epsilon, found[0]); err != nil {
		return nil, err
	}
	out := &GridReport{Data: r.Base.Data, Model: r.Base.Model, Epsilon: r.Epsilon, Delta: s.delta, Grid: g,
		TestSeeds: testSeeds}
	if err := s.whole(ctx, out, times); err != nil {
		return nil, err
	}
	if out.Proposed, err = s.winner(ctx, found[0], testSeeds); err != nil {
		return nil, err
	}
	if out.Best, err = s.winner(ctx, out.all[0], testSeeds); err != nil {
		return nil, err
	}
	differences := make([]float64, testSeeds)
	for i := range differences {
		differences[i] = out.Best.Test[i] - out.Proposed.Test[i]
	}
	mean, sd := stat.MeanStdDev(differences, nil)
	out.Regret, out.RegretSE = mean, sd/math.Sqrt(float64(testSeeds))
	return out, nil
}

// whole trains the grid's settings, each as a whole, and puts them into the report.
func (s *searcher) whole(ctx context.Context, r *GridReport, times float64) error {
	var kinds []kind
	for _, rounds := range r.Grid.Rounds {
		for _, noise := range r.Grid.Noise {
			kinds = append(kinds, kind{max(1, rounds/s.base.Clients), noise})
		}
	}
	laid, err := s.outlays(ctx, r.Epsilon, kinds)
	if err != nil {
		return err
	}
	r.all = s.combined(laid, r.Grid)
	work := 0.0
	for _, c := range r.all {
		p, err := s.Probe.Prepare(s.probeOf(c.spec, 0))
		if err != nil {
			return err
		}
		work += p.Work()
	}
	r.Settings, r.Seeds = len(r.all), max(1, int(math.Ceil(times*s.work/work)))
	r.Times = float64(r.Seeds) * work / s.work
	var specs []train.Spec
	for _, c := range r.all {
		for seed := range r.Seeds {
			specs = append(specs, s.probeOf(c.spec, seed))
		}
	}
	trials, err := s.run(ctx, specs, work*float64(r.Seeds))
	if err != nil {
		return err
	}
	for i, c := range r.all {
		c.enter(trials[i*r.Seeds : (i+1)*r.Seeds])
	}
	slices.SortStableFunc(r.all, byAccuracy)
	return nil
}

// combined returns the settings of all combinations of the grid.
func (s *searcher) combined(laid []outlay, g Grid) []*candidate {
	var variants []variant
	for _, schedule := range g.Schedules {
		for _, average := range g.Averages {
			variants = append(variants, variant{s.base.FeatureMap, s.base.InputScale, sim.Decay(schedule), average})
		}
	}
	var all []*candidate
	for _, l := range laid {
		for _, clip := range g.Clips {
			for _, walk := range g.Walks {
				for _, v := range variants {
					c := s.candidate(l, stride{clip, walk}, v)
					c.fraction = 1
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// winner trains a setting as a whole with so many seeds, which no proxy had, on all training
// rows, and judges it by the test set.
func (s *searcher) winner(ctx context.Context, c *candidate, seeds int) (Winner, error) {
	w := Winner{Setting: c.spec, HeldOut: c.accuracy, Gradients: c.gradients()}
	var specs []train.Spec
	for i := range seeds {
		spec := c.spec
		spec.Seed += uint64(i)
		specs = append(specs, spec)
	}
	trials, _, err := pool.Trials(ctx, s.Data, specs, s.Options.Trials)
	for _, t := range trials {
		w.Test = append(w.Test, t.Accuracy)
	}
	return w, err
}

// WriteText writes the comparison for people to read.
func (r *GridReport) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s on %s at ε = %s: the first proposal beside the best of a grid of %d settings, whole "+
		"trainings with %s each, %.0f times the arithmetic\n\n", train.ModelTitle(r.Model), r.Data,
		decimal.Exactly(r.Epsilon), r.Settings, decimal.Many(r.Seeds, "seed"), r.Times)
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range r.rows() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nregret %.4f, standard error %.4f: mean test accuracy of the grid's best less that of the "+
		"proposal, over the same %d seeds\n%s\n", r.Regret, r.RegretSE, r.TestSeeds, r.privacy())
	_, err := io.WriteString(w, text.String())
	return err
}

// privacy says of what the ε is.
func (r *GridReport) privacy() string {
	return fmt.Sprintf("ε is that of a record in one training of a setting, certified by pld, δ = %s, %s adjacency, "+
		"%s sampling; it covers neither search nor grid. Numbered seeds: a simulation, no release.",
		decimal.Up(r.Delta, 5), dp.AddOrRemove, dp.Poisson)
}

// rows is the table of the two, the header first.
func (r *GridReport) rows() [][]string {
	rows := [][]string{{"", "held out", "test", "s", "T", "σ", "C", "η₀", "steps", "gradients"}}
	for _, c := range []struct {
		name string
		Winner
	}{{"proposed", r.Proposed}, {"best of the grid", r.Best}} {
		s := c.Setting
		size, _ := strconv.Atoi(s.SampleSize)
		mean, sd := stat.MeanStdDev(c.Test, nil)
		rows = append(rows, []string{c.name, report.Fixed(c.HeldOut, 4), fmt.Sprintf("%.4f ± %.4f", mean, sd),
			s.SampleSize, strconv.Itoa(s.GradComps / max(size, 1)), decimal.Up(s.NoiseMultiplier, 5),
			report.Number(s.Clip), report.Number(s.Eta0), beside(s), strconv.Itoa(c.Gradients)})
	}
	return rows
}

// Write writes the comparison as a figure to a folder: the picture as d says, data and manifest.
func (r *GridReport) Write(
	dir, command string, d results.Drawing, sources []*train.Source, took time.Duration,
) error {
	return results.WriteFigure(dir, asPicture(r.picture()), r.table(), results.Manifest{
		Title:   fmt.Sprintf("A proposal beside the best of a grid, %s on %s", train.ModelTitle(r.Model), r.Data),
		Command: command, Config: r, Seeds: r.Seeds, Drawing: d,
	}, sources, took)
}

// picture draws the grid's accuracies on held-out rows over the gradients, and the proposal.
func (r *GridReport) picture() plots.Picture {
	p := plots.Picture{
		Title: fmt.Sprintf("%s, %s at ε = %s: a proposal and a grid of %.0f times its cost", r.Data,
			train.ModelTitle(r.Model), decimal.Exactly(r.Epsilon), r.Times),
		XLabel: "gradients computed, of all clients", YLabel: "accuracy on held-out training rows", LogarithmicX: true,
		YMin: 1, Rows: r.rows(),
		Caption: fmt.Sprintf("%d settings, whole trainings with %s each. Chosen by held-out training rows; test: mean "+
			"and one standard deviation over %d seeds. Regret: %.4f, standard error %.4f. The search looks at the "+
			"data as at a public benchmark. %s", r.Settings, decimal.Many(r.Seeds, "seed"), r.TestSeeds, r.Regret,
			r.RegretSE, r.privacy()),
	}
	better := plots.Line{Name: "grid, better half", Scatter: true}
	for _, c := range r.all[:(len(r.all)+1)/2] {
		better.Add(float64(c.gradients()), c.accuracy, c.accuracy, c.accuracy)
		p.YMin, p.YMax = min(p.YMin, c.accuracy), max(p.YMax, c.accuracy)
	}
	proposed := plots.Line{Name: "proposed", Scatter: true, Emphasise: true}
	at := r.Proposed.HeldOut
	proposed.Add(float64(r.Proposed.Gradients), at, at, at)
	p.YMin, p.YMax = min(p.YMin, at), max(p.YMax, at)+0.002
	p.Lines = []plots.Line{better, proposed}
	return p
}

// table is every setting of the grid, the best first, then the test accuracies of the two
// winners, the header first.
func (r *GridReport) table() [][]string {
	rows := [][]string{{"kind", "epsilon", "seed", "held_out_accuracy", "test_accuracy", "gradients", "sample_size",
		"grad_computations", "sigma", "clip", "eta0", "schedule", "average", "features", "input_scale"}}
	add := func(kind, seed, heldOut, test string, gradients int, s train.Spec) {
		rows = append(rows, []string{kind, decimal.Exactly(r.Epsilon), seed, heldOut, test, strconv.Itoa(gradients),
			s.SampleSize, strconv.Itoa(s.GradComps), decimal.Exactly(s.NoiseMultiplier), report.Number(s.Clip),
			report.Number(s.Eta0), s.Schedule, s.Average, s.FeatureMap, report.Number(s.InputScale)})
	}
	for _, c := range r.all {
		add("grid", "", report.Number(c.accuracy), "", c.gradients(), c.spec)
	}
	for _, w := range []struct {
		kind string
		Winner
	}{{"proposed", r.Proposed}, {"best of grid", r.Best}} {
		for i, accuracy := range w.Test {
			add(w.kind, strconv.FormatUint(w.Setting.Seed+uint64(i), 10), report.Number(w.HeldOut),
				report.Number(accuracy), w.Gradients, w.Setting)
		}
	}
	return rows
}
