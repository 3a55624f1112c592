package experiments

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"proactivedp/data/scatter"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// PredictionCase describes settings for which predicted accuracies are compared with the accuracies of real
// trainings. The settings are all combinations of Epsilon, Noise and Walks with the model and the data of Base. (A
// walk sets the step size: it is the distance that the model would move during the training if gradients were 0 and
// there were only noise.) If Proposals is not 0, the settings are instead the first Proposals settings that
// [propose.Propose] returns for each ε.
type PredictionCase struct {
	Name    string     `json:"name"` // name by which pictures and tables show the case
	Base    train.Spec `json:"base"`
	Epsilon []float64  `json:"epsilon"`
	// Noise lists noise multipliers. With ε and the number of rounds, a noise multiplier determines the batch size,
	// which is then rounded to a whole number. So the noise multiplier of a setting differs a little from the one in
	// the list.
	Noise []float64 `json:"noise,omitempty"`
	// Walks are the distances that the model would move if there were only noise; each gives a step size.
	Walks  []float64 `json:"walks,omitempty"`
	Rounds int       `json:"rounds,omitempty"` // number of rounds of each setting, summed over all clients
	Clip   float64   `json:"clip,omitempty"`   // clipping norm of each setting
	// Proposals is the number of proposals to take for each ε; 0 means the combinations of the lists.
	Proposals int `json:"proposals,omitempty"`
}

// PredictionCases returns the settings of the figure "predictions" in the folder results, which shows how well the
// accuracies that package propose predicts agree with those of trainings.
func PredictionCases() []PredictionCase {
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
	return []PredictionCase{
		{Name: "phishing", Base: pool.Train("", "phishing"), Epsilon: convex, Noise: []float64{1, 4}, Walks: []float64{6, 24},
			Rounds: 1000, Clip: 0.3},
		{Name: "mushrooms", Base: pool.Train("", "mushrooms"), Epsilon: convex, Noise: []float64{1, 4}, Walks: []float64{3, 12},
			Rounds: 1000, Clip: 0.3},
		{Name: "MNIST, HOG", Base: features("mnist", "hog:4:8"), Epsilon: []float64{0.1, 1}, Noise: []float64{1, 2},
			Walks: []float64{6, 24}, Rounds: 500, Clip: 0.1},
		{Name: "CIFAR-10, HOG", Base: features("cifar10", "hog:4:9"), Epsilon: []float64{0.3, 3}, Noise: []float64{1, 2},
			Walks: []float64{6, 24}, Rounds: 500, Clip: 0.1},
		{Name: "MNIST, LeNet", Base: one(train.LeNet, "mnist"), Epsilon: []float64{0.1, 1}, Noise: []float64{1},
			Walks: []float64{12, 48}, Rounds: 500, Clip: 0.025},
	}
}

// ProposedPredictionCases returns cases whose settings were selected by a search: the first settings that
// [propose.Propose] lists for each budget. proposals is the number of settings for each budget. Use them to test
// whether the prediction is too high for the setting that looks best, as the best of many predictions tends to be.
// The data sets are those whose linear models train in seconds, with their default features, and the budgets double
// from 0.1 to 6.4. This rule was fixed before any of the settings was trained.
func ProposedPredictionCases(proposals int) []PredictionCase {
	var epsilon []float64
	for e := 0.1; e < 10; e *= 2 {
		epsilon = append(epsilon, e)
	}
	var all []PredictionCase
	for _, of := range []struct{ name, model, data, features string }{
		{"phishing, proposed", train.Ridge, "phishing", ""},
		{"mushrooms, proposed", train.Ridge, "mushrooms", ""},
		{"MNIST, scatter, proposed", train.Softmax, "mnist", scatter.Name},
	} {
		base := pool.Train(of.model, of.data)
		base.FeatureMap, base.Clients = of.features, 1
		all = append(all, PredictionCase{Name: of.name, Base: base, Epsilon: epsilon, Proposals: proposals})
	}
	return all
}

// FreshPredictionCases returns random cases, drawn with seed, for a fair test of the predictions of package propose:
// the ranges of the random values were fixed before any of the cases was trained. Seeds, numbers of clients, budgets,
// rounds, noise, step sizes and clipping norms differ from those of [PredictionCases].
func FreshPredictionCases(seed uint64) []PredictionCase {
	draw := rng.New(seed).Stream(rng.Synthetic, 0, 0)
	between := func(low, high float64) float64 {
		return decimal.Digits(low*math.Pow(high/low, draw.Float64()), 3)
	}
	var all []PredictionCase
	for _, of := range PredictionCases() {
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

// PredictionCheck is one setting with the test accuracy that was predicted for it, the accuracy that a training
// reached (Real), and the predictions of two simpler methods (Utility and Short).
type PredictionCheck struct {
	Case    string     `json:"case"`
	Setting train.Spec `json:"setting"`
	Epsilon float64    `json:"epsilon"` // target epsilon
	propose.Prediction
	// Proxy is the batch size of the trainings behind the prediction (proxies), as a fraction of the setting's batch
	// size.
	Proxy float64 `json:"proxy"`
	Real  float64 `json:"test_accuracy"` // test accuracy that a real training of the setting reached
	// Utility is the utility graph's prediction: mean accuracy of a model trained without noise, after noise was
	// added to its parameters.
	Utility float64 `json:"utility_graph"`
	// Short is a short training's prediction: accuracy after an eighth of the setting's rounds.
	Short float64 `json:"short_run"`
}

// Within reports whether the real accuracy (c.Real) is in the predicted interval.
func (c PredictionCheck) Within() bool { return c.Low <= c.Real && c.Real <= c.High }

// A short run has the fraction 1/shortPart of the rounds. A utility graph has utilityDraws draws of
// noise.
const shortPart, utilityDraws = 8, 5

// Check predicts the accuracies of the case's settings by proxies, which are cheap trainings, with the given number
// of seeds. Then it trains each setting in full. Both use the data of source without regard to privacy, so the data
// must be public. o says where and how the trainings run. Check returns the predicted and the real accuracy of each
// setting.
func (c PredictionCase) Check(ctx context.Context, source *train.Source, seeds int, o pool.Options) (
	[]PredictionCheck, error,
) {
	if len(c.Epsilon) == 0 {
		return nil, fmt.Errorf("case %s: epsilon: none, must be at least one", c.Name)
	}
	r := propose.DefaultRequest(c.Base, c.Epsilon[0])
	r.Seeds = seeds
	options := propose.Options{Data: source, Probe: source, Probing: propose.Own, Trials: o}
	var all []PredictionCheck
	var study propose.Study
	var err error
	if c.Proposals > 0 {
		r.Count = c.Proposals
		if study, err = propose.NewStudy(r, options); err == nil {
			all, err = c.proposed(ctx, r, options)
		}
	} else {
		r.Rounds = []int{c.Rounds}
		if study, err = propose.NewStudy(r, options); err == nil {
			all, err = c.combined(ctx, study)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.Name, err)
	}
	var settings, short []train.Spec
	var plain []pool.UtilitySpec
	for _, p := range all {
		settings = append(settings, p.Setting)
		held := study.HeldOut(p.Setting, 0)
		plain = append(plain, pool.UtilitySpec{Train: held, Sigmas: []float64{held.NoiseMultiplier},
			Draws: utilityDraws})
		held.GradComps /= shortPart
		short = append(short, held)
	}
	trained, _, err := pool.Trials(ctx, source, settings, o)
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
	for i := range all {
		all[i].Real, all[i].Short, all[i].Utility = trained[i].Accuracy, shorter[i].Accuracy, lines[i].Points[0].MeanAccuracy
	}
	return all, nil
}

// proposed returns the first proposals of each budget, with their predicted accuracies.
func (c PredictionCase) proposed(ctx context.Context, r propose.Request, o propose.Options) ([]PredictionCheck, error) {
	var all []PredictionCheck
	for _, r.Epsilon = range c.Epsilon {
		found, err := propose.Propose(ctx, r, o)
		if err != nil {
			return nil, err
		}
		for _, p := range found.Proposals {
			all = append(all, PredictionCheck{Case: c.Name, Setting: p.Setting, Epsilon: r.Epsilon, Prediction: p.Prediction,
				Proxy: p.Proxy})
		}
	}
	return all, nil
}

// combined returns every combination of the case's lists, with its predicted accuracy.
func (c PredictionCase) combined(ctx context.Context, study propose.Study) ([]PredictionCheck, error) {
	g := propose.Grid{Rounds: []int{c.Rounds}, Noise: c.Noise, Clips: []float64{c.Clip}, Walks: c.Walks,
		Schedules: []string{string(sim.ZeroDecay)}, Averages: []string{c.Base.Average}}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	var all []PredictionCheck
	var settings []train.Spec
	for _, epsilon := range c.Epsilon {
		for _, noise := range c.Noise { // one at a time, as every one must be feasible
			g.Noise = []float64{noise}
			found, err := study.Settings(ctx, epsilon, g)
			if err != nil {
				return nil, err
			}
			settings = append(settings, found...)
			for range found {
				all = append(all, PredictionCheck{Case: c.Name, Epsilon: epsilon})
			}
		}
	}
	predicted, err := study.Predict(ctx, settings)
	for i, p := range predicted {
		all[i].Setting, all[i].Prediction, all[i].Proxy = p.Setting, p.Prediction, p.Proxy
	}
	return all, err
}

// PredictionScore says how well three ways of predicting a test accuracy work, in one case (a data set, a model and
// an ε) or in all cases together. The first is the prediction of package propose, from proxies (cheap trainings with
// smaller batches and less noise). The second is the utility graph (a model trained without noise, to which noise is
// added once, at the end). The third trains for only an eighth of the rounds.
type PredictionScore struct {
	Case     string `json:"case"`
	Settings int    `json:"settings"` // number of settings
	// Within is the fraction of the settings whose real test accuracy is in the predicted interval. It should be about
	// propose.Coverage.
	Within    float64       `json:"within"`
	HalfWidth float64       `json:"half_width"` // median over settings of half the width of the predicted interval
	Proxy     PredictionFit `json:"proxy"`
	Utility   PredictionFit `json:"utility_graph"`
	Short     PredictionFit `json:"short_run"`
}

// PredictionFit says how well one way of predicting accuracies works, by its median error and by Spearman's rank
// correlation between predicted and real accuracies.
type PredictionFit struct {
	Median float64 `json:"median_error"` // median over settings of |predicted − real|
	// Rank is Spearman's rank correlation between predicted and real accuracies. It is nil if all predicted or all
	// real ones are equal.
	Rank *float64 `json:"rank_correlation"`
}

const predictionsTitle = "Errors of predicted test accuracies"

// PredictionReport compares the test accuracies that were predicted for settings with those of real trainings, and
// scores three ways of predicting (see [PredictionScore]).
type PredictionReport struct {
	Checked []PredictionCheck `json:"checked"`
	Scores  []PredictionScore `json:"scores"` // score of each case, and then of all cases together
}

// NewPredictionReport returns a report of the checks, which [PredictionCase.Check] returned, with a score for each
// case and for all cases together.
func NewPredictionReport(all []PredictionCheck) *PredictionReport {
	r := &PredictionReport{Checked: all}
	for _, c := range all {
		if n := len(r.Scores); n == 0 || r.Scores[n-1].Case != c.Case {
			r.Scores = append(r.Scores, PredictionScore{Case: c.Case})
		}
	}
	for i := range r.Scores {
		name := r.Scores[i].Case
		r.Scores[i] = scorePredictions(name, slices.DeleteFunc(slices.Clone(all), func(c PredictionCheck) bool { return c.Case != name }))
	}
	r.Scores = append(r.Scores, scorePredictions("all", all))
	return r
}

func scorePredictions(name string, all []PredictionCheck) PredictionScore {
	s := PredictionScore{Case: name, Settings: len(all)}
	var real, half []float64
	for _, c := range all {
		real, half = append(real, c.Real), append(half, (c.High-c.Low)/2)
		if c.Within() {
			s.Within += 1 / float64(len(all))
		}
	}
	s.HalfWidth = report.Median(half)
	fit := func(predicted func(PredictionCheck) float64) PredictionFit {
		var values, errs []float64
		for _, c := range all {
			values = append(values, predicted(c))
			errs = append(errs, math.Abs(predicted(c)-c.Real))
		}
		f := PredictionFit{Median: report.Median(errs)}
		if rank := stat.Correlation(ranks(values), ranks(real), nil); !math.IsNaN(rank) {
			f.Rank = &rank
		}
		return f
	}
	s.Proxy = fit(func(c PredictionCheck) float64 { return c.Accuracy })
	s.Utility = fit(func(c PredictionCheck) float64 { return c.Utility })
	s.Short = fit(func(c PredictionCheck) float64 { return c.Short })
	return s
}

// ranks returns the rank of each number. Equal numbers get their mean rank.
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

// WriteText writes the scores (how well accuracies were predicted) as text, for each case and for all cases together.
func (r *PredictionReport) WriteText(w io.Writer) error {
	return report.WriteColumns(w, r.rows())
}

// rows returns the table of the scores, after a header.
func (r *PredictionReport) rows() [][]string {
	rows := [][]string{{"", "settings", "in interval", "half-width", "proxy: error", "rank",
		"utility graph: error", "rank", "short run: error", "rank"}}
	for _, s := range r.Scores {
		row := []string{s.Case, strconv.Itoa(s.Settings), report.Share(s.Within), report.Fixed(s.HalfWidth, 4)}
		for _, f := range []PredictionFit{s.Proxy, s.Utility, s.Short} {
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

func (r *PredictionReport) picture(seeds int) plots.Picture {
	low, high := math.Inf(1), 0.0
	for _, c := range r.Checked {
		low, high = min(low, c.Epsilon), max(high, c.Epsilon)
	}
	p := plots.Picture{
		Title:  predictionsTitle,
		XLabel: "setting, sorted by predicted accuracy", YLabel: "test accuracy: trained − predicted",
		Rows: r.rows(),
		Caption: fmt.Sprintf("A point is the accuracy of one training minus the prediction; bars are the stated intervals "+
			"(%s). A bar that does not reach 0 is an interval without the trained accuracy. "+
			"Every setting is within its ε, from %s to %s, of a record in one training, certified by "+
			"pld, %s adjacency, %s sampling, δ = 1/N where it names none. Proxies: %d matched seeds, "+
			"judged by held-out training rows. Utility graph: accuracy of w* + n "+
			"on held-out rows, n ~ N(0, C²σ²I), w* trained without noise. Short run: a %dth of the rounds. Errors are "+
			"medians of |predicted − trained|, ranks Spearman's.", report.Share(propose.Coverage), decimal.Exactly(low),
			decimal.Exactly(high), dp.AddOrRemove, dp.Poisson, seeds, shortPart),
	}
	at := 0.0
	for _, s := range r.Scores[:len(r.Scores)-1] {
		of := slices.DeleteFunc(slices.Clone(r.Checked), func(c PredictionCheck) bool { return c.Case != s.Case })
		slices.SortStableFunc(of, func(a, b PredictionCheck) int { return cmp.Compare(a.Accuracy, b.Accuracy) })
		l := plots.Line{Name: s.Case, Scatter: true}
		for _, c := range of {
			at++
			l.Add(at, c.Real-c.Accuracy, c.Real-c.High, c.Real-c.Low)
			p.YMin, p.YMax = min(p.YMin, c.Real-c.High), max(p.YMax, c.Real-c.Low)
		}
		p.Lines = append(p.Lines, l)
	}
	zero := plots.Line{Name: "no error", Emphasise: true}
	zero.AddLevel(0, at+1, 0)
	p.Lines = append(p.Lines, zero)
	return p
}

// table returns every setting, after a header.
func (r *PredictionReport) table() [][]string {
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

// Write writes the scores to the folder dir as a figure: the picture in the style of d, the data and a manifest. The
// manifest stores how the scores were made: command, the command line that makes them again; the cases; the number of
// seeds of each prediction; the data of sources; and took, the duration of the computation.
func (r *PredictionReport) Write(
	dir, command string, d results.Drawing, cases []PredictionCase, sources []*train.Source, seeds int, took time.Duration,
) error {
	return results.WriteFigure(dir, r.picture(seeds).Write, r.table(), results.Manifest{
		Title: predictionsTitle, Command: command, Config: cases, Seeds: seeds, Drawing: d,
	}, sources, took)
}
