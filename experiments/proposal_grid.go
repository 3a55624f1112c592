package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// ProposalGrid returns a default grid of settings for [AgainstGrid], which trains all of them in order to check how
// good the setting is that [propose.Propose] proposes for the request r. The numbers of rounds are those of r. For
// noise, clipping norm and step size, the grid has the values that Propose tries, and values between and beyond them.
func ProposalGrid(r propose.Request) propose.Grid {
	g := propose.Grid{
		Rounds: r.Rounds, Noise: []float64{1, 2, 4}, Clips: []float64{0.05, 0.1, 0.3, 1},
		Walks:     []float64{2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128},
		Schedules: []string{string(sim.ZeroDecay), string(sim.NoDecay)}, Averages: []string{"", "tail:0.5"},
	}
	if train.IsNetwork(r.Base.Model) {
		g.Clips = []float64{r.Base.Clip}
	}
	return g
}

// GridReport is the result of [AgainstGrid], which checks a proposal of package propose: the accuracies of the
// proposal and of the best setting of a grid of settings that were all trained.
type GridReport struct {
	Data  string `json:"data"`
	Model string `json:"model"`
	// Epsilon is the target epsilon of a record, for the proposal and for every setting of the grid.
	Epsilon  float64      `json:"epsilon"`
	Delta    float64      `json:"delta"`
	Grid     propose.Grid `json:"grid"`
	Settings int          `json:"settings"` // number of settings in the grid
	Seeds    int          `json:"seeds"`    // number of seeds with which each setting of the grid was trained
	// Times is the number of floating-point operations of all trainings of the grid, divided by that of the search for
	// the proposal.
	Times float64 `json:"times"`
	// TestSeeds is the number of trainings of each of the two settings, the proposal and the best setting of the grid,
	// whose accuracies were measured on the test set.
	TestSeeds int `json:"test_seeds"`

	Proposed GridWinner `json:"proposed"`
	Best     GridWinner `json:"best_of_grid"`
	// Regret is how much is lost by taking the proposal: the mean test accuracy of the grid's best setting minus that
	// of the proposal. RegretSE is the standard error of Regret over the seeds, which are the same for both settings.
	Regret   float64 `json:"regret"`
	RegretSE float64 `json:"regret_se"`

	all []gridSetting // settings of the grid, best first
}

// gridSetting is a setting of a grid with its mean accuracy on held-out rows.
type gridSetting struct {
	spec     train.Spec
	accuracy float64
}

func (s gridSetting) gradients() int { return s.spec.GradComps * s.spec.Clients }

// GridWinner is one of the two settings that [AgainstGrid] compares, either the proposal or the best setting of the
// grid, with its accuracy on held-out rows and its accuracies on the test set.
type GridWinner struct {
	Setting   train.Spec `json:"setting"`
	HeldOut   float64    `json:"held_out_accuracy"` // held-out accuracy by which the setting was chosen
	Test      []float64  `json:"test_accuracy"`     // test accuracies, one for each seed
	Gradients int        `json:"gradients"`         // number of gradients that all clients together compute
}

// The ranges of the arithmetic of a grid, as a multiple of the proposal's, and of the number of seeds
// that judge the winners.
const (
	minGridTimes, maxGridTimes         = 1, 1000
	minGridTestSeeds, maxGridTestSeeds = 2, 100
)

// CheckGridTimes returns an error if times is not in [1, 1000]. times is an argument of [AgainstGrid], which compares
// a setting that [propose.Propose] found by a search with the best setting of a grid. times says how much more
// computation the grid gets: at least times as many floating-point operations as the search.
func CheckGridTimes(times float64) error {
	if !(times >= minGridTimes && times <= maxGridTimes) {
		return fmt.Errorf("times of a grid = %v, must be in [%d, %d]", times, minGridTimes, maxGridTimes)
	}
	return nil
}

// AgainstGrid checks how good the first proposal of [propose.Propose] for the request r is: it compares this proposal
// with the best setting of the grid g. All settings of the grid are trained in full, each with the same number of
// seeds. AgainstGrid chooses this number: the smallest one with which the floating-point operations of training the
// grid, divided by those of the search for the proposal, are at least times, a number in [1, 1000].
//
// The proposal and the best setting are both chosen by accuracy on held-out rows. Then the accuracy of both is
// measured on the test set, in testSeeds trainings for each, in [2, 100]. The request must have a target epsilon, and
// no target accuracy. No (ε, δ) covers these trainings, so the data must be public. The field Probing of o must say
// that the search, too, uses the data themselves: its value must be [propose.Own].
func AgainstGrid(
	ctx context.Context, r propose.Request, o propose.Options, g propose.Grid, times float64, testSeeds int,
) (*GridReport, error) {
	errs := []error{CheckGridTimes(times)}
	if err := g.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("grid: %w", err))
	}
	if testSeeds < minGridTestSeeds || testSeeds > maxGridTestSeeds {
		errs = append(errs, fmt.Errorf("%d test seeds, must be in [%d, %d]", testSeeds, minGridTestSeeds,
			maxGridTestSeeds))
	}
	if r.TargetAccuracy != 0 {
		errs = append(errs, fmt.Errorf("target accuracy = %v, must be 0: a grid is for a target epsilon",
			r.TargetAccuracy))
	}
	if r.Base.AtMost != 0 {
		errs = append(errs, fmt.Errorf("at most = %d records of a person, must be 0: the report of a grid is for a record", r.Base.AtMost))
	}
	if o.Probing != propose.Own || r.Epsilon == 0 {
		errs = append(errs, errors.New("a grid needs a target epsilon, and data that proxies may use themselves "+
			"(probing own)"))
	}
	if err := errors.Join(append(errs, r.Validate())...); err != nil {
		return nil, err
	}
	proposal, err := propose.Propose(ctx, r, o)
	if err != nil {
		return nil, err
	}
	out := &GridReport{Data: r.Base.Data, Model: r.Base.Model, Epsilon: r.Epsilon, Delta: proposal.Delta, Grid: g,
		TestSeeds: testSeeds}
	if err := out.train(ctx, r, o, proposal.Work, times); err != nil {
		return nil, err
	}
	first := proposal.Proposals[0]
	if out.Proposed, err = judged(ctx, gridSetting{first.Setting, first.Accuracy}, o, testSeeds); err != nil {
		return nil, err
	}
	if out.Best, err = judged(ctx, out.all[0], o, testSeeds); err != nil {
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

// train trains the grid's settings whole. It uses as many seeds as needed for times the arithmetic of
// the proposal. Then it sorts the settings by their accuracy on held-out rows.
func (r *GridReport) train(ctx context.Context, q propose.Request, o propose.Options, proposal, times float64) error {
	study, err := propose.NewStudy(q, o)
	if err != nil {
		return err
	}
	settings, err := study.Settings(ctx, r.Epsilon, r.Grid)
	if err != nil {
		return err
	}
	work := 0.0
	for _, setting := range settings {
		p, err := o.Data.Prepare(study.HeldOut(setting, 0))
		if err != nil {
			return err
		}
		work += p.Work()
	}
	r.Settings, r.Seeds = len(settings), max(1, int(math.Ceil(times*proposal/work)))
	r.Times = float64(r.Seeds) * work / proposal
	var specs []train.Spec
	for _, setting := range settings {
		for seed := range r.Seeds {
			specs = append(specs, study.HeldOut(setting, seed))
		}
	}
	trials, _, err := pool.Trials(ctx, o.Data, specs, o.Trials)
	if err != nil {
		return err
	}
	for i, setting := range settings {
		accuracies := make([]float64, r.Seeds)
		for seed := range accuracies {
			accuracies[seed] = trials[i*r.Seeds+seed].Accuracy
		}
		r.all = append(r.all, gridSetting{setting, stat.Mean(accuracies, nil)})
	}
	slices.SortStableFunc(r.all, func(a, b gridSetting) int { return cmp.Compare(b.accuracy, a.accuracy) })
	return nil
}

// judged trains the setting s at full size on all training rows, with seeds that no proxy had, and computes its
// accuracy on the test set.
func judged(ctx context.Context, s gridSetting, o propose.Options, seeds int) (GridWinner, error) {
	w := GridWinner{Setting: s.spec, HeldOut: s.accuracy, Gradients: s.gradients()}
	var specs []train.Spec
	for i := range seeds {
		spec := s.spec
		spec.Seed += uint64(i)
		specs = append(specs, spec)
	}
	trials, _, err := pool.Trials(ctx, o.Data, specs, o.Trials)
	for _, t := range trials {
		w.Test = append(w.Test, t.Accuracy)
	}
	return w, err
}

// WriteText writes the settings and the accuracies of the proposal and of the grid's best setting as text for people.
func (r *GridReport) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s on %s at ε = %s: the first proposal and the best of a grid of %d settings, whole "+
		"trainings with %s each, %.0f times the arithmetic\n\n", train.ModelTitle(r.Model), r.Data,
		decimal.Exactly(r.Epsilon), r.Settings, decimal.Many(r.Seeds, "seed"), r.Times)
	if err := report.WriteColumns(&text, r.rows()); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nregret %.4f, standard error %.4f: mean test accuracy of the grid's best minus the "+
		"proposal's, over the same %d seeds\n%s\n", r.Regret, r.RegretSE, r.TestSeeds, r.privacy())
	_, err := io.WriteString(w, text.String())
	return err
}

// privacy returns the paragraph of the report that explains for what its ε holds.
func (r *GridReport) privacy() string {
	return fmt.Sprintf("ε is that of a record in one training of a setting, certified by pld, δ = %s, %s adjacency, "+
		"%s sampling; it covers neither search nor grid. Numbered seeds: a simulation, no release.",
		decimal.Up(r.Delta, 5), dp.AddOrRemove, dp.Poisson)
}

// rows returns the table of the two settings, after a header.
func (r *GridReport) rows() [][]string {
	rows := [][]string{{"", "held out", "test", "s", "T", "σ", "C", "η₀", "steps", "gradients"}}
	for _, c := range []struct {
		name string
		GridWinner
	}{{"proposed", r.Proposed}, {"best of the grid", r.Best}} {
		s := c.Setting
		size, _ := strconv.Atoi(s.SampleSize)
		mean, sd := stat.MeanStdDev(c.Test, nil)
		rows = append(rows, []string{c.name, report.Fixed(c.HeldOut, 4), fmt.Sprintf("%.4f ± %.4f", mean, sd),
			s.SampleSize, strconv.Itoa(s.GradComps / max(size, 1)), decimal.Up(s.NoiseMultiplier, 5),
			report.Number(s.Clip), report.Number(s.Eta0), propose.StepsText(s), strconv.Itoa(c.Gradients)})
	}
	return rows
}

// Write writes the comparison to the folder dir as a figure: the picture in the style of d, the data and a manifest.
// The manifest stores how the comparison was made: command, the command line that repeats it; the data of sources;
// and took, the duration of the computation.
func (r *GridReport) Write(
	dir, command string, d results.Drawing, sources []*train.Source, took time.Duration,
) error {
	return results.WriteFigure(dir, r.picture().Write, r.table(), results.Manifest{
		Title:   fmt.Sprintf("A proposal and the best of a grid, %s on %s", train.ModelTitle(r.Model), r.Data),
		Command: command, Config: r, Seeds: r.Seeds, Drawing: d,
	}, sources, took)
}

// picture draws the grid's accuracies on held-out rows against the gradients, and the proposal.
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

// table returns every setting of the grid, best first, and then the test accuracies of the two winners,
// after a header.
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
		GridWinner
	}{{"proposed", r.Proposed}, {"best of grid", r.Best}} {
		for i, accuracy := range w.Test {
			add(w.kind, strconv.FormatUint(w.Setting.Seed+uint64(i), 10), report.Number(w.HeldOut),
				report.Number(accuracy), w.Gradients, w.Setting)
		}
	}
	return rows
}
