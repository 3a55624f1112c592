package propose

import (
	"context"
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
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Case is a setting of which predictions are held against trainings: all combinations of
// budgets, noise multipliers and walks.
type Case struct {
	Name    string     `json:"name"` // what pictures call it
	Base    train.Spec `json:"base"`
	Epsilon []float64  `json:"epsilon"`
	Noise   []float64  `json:"noise"` // about the noise multipliers
	Walks   []float64  `json:"walks"` // how far the noise alone would make the model walk
	Rounds  int        `json:"rounds"`
	Clip    float64    `json:"clip"`
}

// Checks returns the cases that are held against trainings.
func Checks() []Case {
	one := func(model, dataset string) train.Spec {
		spec := pool.Train(model, dataset)
		spec.Clients = 1
		return spec
	}
	features := func(dataset, featureMap string) train.Spec {
		spec := one(train.Softmax, dataset)
		spec.FeatureMap = featureMap
		return spec
	}
	convex := []float64{0.05, 0.2, 1}
	return []Case{
		{"phishing", pool.Train("", "phishing"), convex, []float64{1, 4}, []float64{6, 24}, 1000, 0.3},
		{"mushrooms", pool.Train("", "mushrooms"), convex, []float64{1, 4}, []float64{3, 12}, 1000,
			0.3},
		{"MNIST, HOG", features("mnist", "hog:4:8"), []float64{0.1, 1}, []float64{1, 2}, []float64{6, 24}, 500, 0.1},
		{"CIFAR-10, HOG", features("cifar10", "hog:4:9"), []float64{0.3, 3}, []float64{1, 2}, []float64{6, 24}, 500,
			0.1},
		{"MNIST, LeNet", one(train.LeNet, "mnist"), []float64{0.1, 1}, []float64{1}, []float64{12, 48}, 500, 0.025},
	}
}

// FreshChecks draws cases by a seed: settings that nothing here was chosen by, of other
// seeds, numbers of clients, budgets, rounds, noise, walks and clipping norms than those of
// [Checks]. What these are drawn from is fixed here, before any was trained.
func FreshChecks(seed uint64) []Case {
	draw := rng.New(seed).Stream(rng.Synthetic, 0, 0)
	between := func(low, high float64) float64 { return digits(low*math.Pow(high/low, draw.Float64()), 3) }
	var all []Case
	for _, of := range Checks() {
		cases, settings, most, longest := 3, 2, 8, 3000.0
		if train.IsNetwork(of.Base.Model) {
			cases, settings, most, longest = 4, 1, 2, 700
		}
		for range cases {
			c := of
			c.Base.Seed, c.Base.Clients = 2+uint64(draw.IntN(1000)), 1+draw.IntN(most)
			c.Epsilon = []float64{between(0.6*slices.Min(of.Epsilon), 1.5*slices.Max(of.Epsilon))}
			c.Noise, c.Walks = nil, nil
			for range settings {
				c.Noise, c.Walks = append(c.Noise, between(0.8, 5)), append(c.Walks, between(2, 60))
			}
			c.Rounds = int(between(200, longest))
			if !train.IsNetwork(of.Base.Model) {
				c.Clip = between(0.07, 0.8)
			}
			all = append(all, c)
		}
	}
	return all
}

// Checked is a setting with what was predicted and what came of it.
type Checked struct {
	Case    string     `json:"case"`
	Setting train.Spec `json:"setting"`
	Epsilon float64    `json:"epsilon"` // target epsilon
	Prediction
	Proxy   float64 `json:"proxy"`         // f
	Real    float64 `json:"test_accuracy"` // of one training of the setting
	Utility float64 `json:"utility_graph"` // accuracy of w* + n, see pool.UtilitySpec
	Short   float64 `json:"short_run"`     // accuracy after a part of the rounds
}

// Within reports whether the test accuracy is in the interval.
func (c Checked) Within() bool { return c.Low <= c.Real && c.Real <= c.High }

// shortPart is which part of the rounds a short run has, and utilityDraws how many
// draws of noise a utility graph.
const shortPart, utilityDraws = 8, 5

// Check holds predictions for the case's settings against trainings on the source, with
// as many matched seeds.
func (c Case) Check(ctx context.Context, source *train.Source, seeds int, o pool.Options) (
	[]Checked, error,
) {
	if err := checkLists("case "+c.Name, list{"epsilon", len(c.Epsilon)}, list{"noise", len(c.Noise)},
		list{"walks", len(c.Walks)}); err != nil {
		return nil, err
	}
	r := DefaultRequest(c.Base, c.Epsilon[0])
	r.Rounds, r.Seeds = []int{c.Rounds}, seeds
	if err := r.Validate(); err != nil {
		return nil, err
	}
	s, err := newSearcher(r, Options{Data: source, Probe: source, Probing: Own, Trials: o})
	if err != nil {
		return nil, err
	}
	var all []*candidate
	var out []Checked
	for _, epsilon := range c.Epsilon {
		for _, noise := range c.Noise {
			k := kind{c.Rounds / c.Base.Clients, noise}
			l, err := s.layOut(ctx, epsilon, k)
			if err != nil {
				return nil, err
			}
			if l.size == 0 {
				return nil, s.tooPrivate(ctx, epsilon, 1, k)
			}
			for _, walk := range c.Walks {
				all = append(all, s.candidate(l, stride{c.Clip, walk}, s.plain()))
				out = append(out, Checked{Case: c.Name, Epsilon: epsilon})
			}
		}
	}
	if err := s.try(ctx, all, seeds, 1); err != nil {
		return nil, err
	}
	spread := s.spread(all)
	var real, short []train.Spec
	var plain []pool.UtilitySpec
	for i, candidate := range all {
		out[i].Setting, out[i].Prediction, out[i].Proxy = candidate.spec, s.prediction(candidate, spread),
			candidate.fraction
		real = append(real, candidate.spec)
		held := s.probeOf(candidate.spec, 0)
		plain = append(plain, pool.UtilitySpec{Train: held, Sigmas: []float64{held.NoiseMultiplier},
			Draws: utilityDraws})
		held.GradComps /= shortPart
		short = append(short, held)
	}
	trained, _, err := pool.Trials(ctx, source, real, o)
	if err != nil {
		return nil, err
	}
	shorter, _, err := pool.Trials(ctx, source, short, o)
	if err != nil {
		return nil, err
	}
	lines, _, err := pool.Utilities(ctx, source, plain, o)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Real, out[i].Short, out[i].Utility = trained[i].Accuracy, shorter[i].Accuracy,
			lines[i].Points[0].MeanAccuracy
	}
	return out, nil
}

// Score is how well predictors did in a case, or in all.
type Score struct {
	Case      string  `json:"case"`
	Settings  int     `json:"settings"`
	Within    float64 `json:"within"`     // the part of which the test accuracy is in the interval
	HalfWidth float64 `json:"half_width"` // median, of the intervals
	Proxy     Fit     `json:"proxy"`
	Utility   Fit     `json:"utility_graph"`
	Short     Fit     `json:"short_run"`
}

// Fit is how far a predictor is off, and Spearman's rank correlation with the truth.
type Fit struct {
	Median float64  `json:"median_error"`     // of |predicted − real|
	Rank   *float64 `json:"rank_correlation"` // nil where all that was predicted, or all that is true, is one
}

// CheckReport is what was predicted, what came of it, and how well predictors did.
type CheckReport struct {
	Checked []Checked `json:"checked"`
	Scores  []Score   `json:"scores"` // of each case, then of all
}

// NewCheckReport scores what was checked.
func NewCheckReport(all []Checked) *CheckReport {
	r := &CheckReport{Checked: all}
	for _, c := range all {
		if n := len(r.Scores); n == 0 || r.Scores[n-1].Case != c.Case {
			r.Scores = append(r.Scores, Score{Case: c.Case})
		}
	}
	for i := range r.Scores {
		name := r.Scores[i].Case
		r.Scores[i] = score(name, slices.DeleteFunc(slices.Clone(all), func(c Checked) bool { return c.Case != name }))
	}
	r.Scores = append(r.Scores, score("all", all))
	return r
}

func score(name string, all []Checked) Score {
	s := Score{Case: name, Settings: len(all)}
	var real, half []float64
	for _, c := range all {
		real, half = append(real, c.Real), append(half, (c.High-c.Low)/2)
		if c.Within() {
			s.Within += 1 / float64(len(all))
		}
	}
	s.HalfWidth = median(half)
	fit := func(predicted func(Checked) float64) Fit {
		var values, errs []float64
		for _, c := range all {
			values = append(values, predicted(c))
			errs = append(errs, math.Abs(predicted(c)-c.Real))
		}
		f := Fit{Median: median(errs)}
		if rank := stat.Correlation(ranks(values), ranks(real), nil); !math.IsNaN(rank) {
			f.Rank = &rank
		}
		return f
	}
	s.Proxy = fit(func(c Checked) float64 { return c.Accuracy })
	s.Utility = fit(func(c Checked) float64 { return c.Utility })
	s.Short = fit(func(c Checked) float64 { return c.Short })
	return s
}

// median returns the median, 0 of no numbers.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ranks returns the rank of each number, that of equal ones being their mean.
func ranks(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		for _, w := range x {
			switch {
			case w < v:
				out[i]++
			case w == v:
				out[i] += 0.5
			}
		}
	}
	return out
}

// WriteText writes the scores for people to read.
func (r *CheckReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range r.rows() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// rows is the table of the scores, the header first.
func (r *CheckReport) rows() [][]string {
	rows := [][]string{{"", "settings", "in interval", "half-width", "proxy: error", "rank",
		"utility graph: error", "rank", "short run: error", "rank"}}
	for _, s := range r.Scores {
		row := []string{s.Case, strconv.Itoa(s.Settings), report.Share(s.Within), report.Fixed(s.HalfWidth, 4)}
		for _, f := range []Fit{s.Proxy, s.Utility, s.Short} {
			rank := report.NoAnswer
			if f.Rank != nil {
				rank = report.Fixed(*f.Rank, 2)
			}
			row = append(row, report.Fixed(f.Median, 4), rank)
		}
		rows = append(rows, row)
	}
	return rows
}

// picture draws predicted against real accuracy, with the intervals.
func (r *CheckReport) picture(seeds int) plots.Picture {
	low, high := math.Inf(1), 0.0
	for _, c := range r.Checked {
		low, high = min(low, c.Epsilon), max(high, c.Epsilon)
	}
	p := plots.Picture{
		Title:  "Predicted against real test accuracy, before and after training",
		XLabel: "test accuracy of one training", YLabel: "predicted by proxies",
		YMin: 0.2, YMax: 1, Rows: r.rows(),
		Caption: fmt.Sprintf("Every setting is within its ε, from %s to %s, of a record in one training, certified by "+
			"pld, %s adjacency, %s sampling, δ = 1/N where it names none. Proxies: %d matched seeds, "+
			"judged by held-out training rows; bars are the stated intervals (%s). Utility graph: accuracy of w* + n "+
			"on held-out rows, n ~ N(0, C²σ²I), w* trained without noise. Short run: a %dth of the rounds. Errors are "+
			"medians of |predicted − real|, ranks Spearman's.", decimal.Exactly(low), decimal.Exactly(high),
			dp.AddOrRemove, dp.Poisson, seeds, report.Share(coverage), shortPart),
	}
	for _, s := range r.Scores[:len(r.Scores)-1] {
		l := plots.Line{Name: s.Case, Scatter: true}
		for _, c := range r.Checked {
			if c.Case == s.Case {
				l.Add(c.Real, c.Accuracy, c.Low, c.High)
			}
		}
		p.Lines = append(p.Lines, l)
	}
	ideal := plots.Line{Name: "predicted = real", Emphasise: true}
	ideal.Add(p.YMin, p.YMin, p.YMin, p.YMin)
	ideal.Add(p.YMax, p.YMax, p.YMax, p.YMax)
	p.Lines = append(p.Lines, ideal)
	return p
}

// table is every setting, the header first.
func (r *CheckReport) table() [][]string {
	rows := [][]string{{"case", "epsilon", "sample_size", "rounds", "sigma", "clip", "eta0", "proxy",
		"predicted_accuracy",
		"predicted_low", "predicted_high", "test_accuracy", "within", "utility_graph", "short_run"}}
	for _, c := range r.Checked {
		size, _ := strconv.Atoi(c.Setting.SampleSize)
		rows = append(rows, []string{c.Case, decimal.Exactly(c.Epsilon), c.Setting.SampleSize,
			strconv.Itoa(c.Setting.GradComps / max(size, 1)), decimal.Exactly(c.Setting.NoiseMultiplier),
			report.Number(c.Setting.Clip), report.Number(c.Setting.Eta0), report.Number(c.Proxy),
			report.Number(c.Accuracy),
			report.Number(c.Low), report.Number(c.High), report.Number(c.Real), strconv.FormatBool(c.Within()),
			report.Number(c.Utility), report.Number(c.Short)})
	}
	return rows
}

// Write writes the scores as a figure to a folder: the picture as d says, data and manifest.
func (r *CheckReport) Write(
	dir, command string, d results.Drawing, cases []Case, sources []*train.Source, seeds int, took time.Duration,
) error {
	return results.WriteFigure(dir, asPicture(r.picture(seeds)), r.table(), results.Manifest{
		Title: "Predicted against real test accuracy", Command: command, Config: cases, Seeds: seeds, Drawing: d,
	}, sources, took)
}
