package propose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// Prediction is the predicted accuracy of a training, with an interval.
type Prediction struct {
	Accuracy float64 `json:"predicted_accuracy"`
	// Low and High are the ends of an interval that should contain the test accuracy of a training with this setting
	// and any seed. Its confidence is [Coverage].
	Low  float64 `json:"predicted_low"`
	High float64 `json:"predicted_high"`
}

// interval formats the ends of an interval of the metric, rounded outwards.
func (p Prediction) interval(m models.Metric) string {
	switch {
	case m.Smaller():
		return m.Text(p.Low) + "–" + m.Text(p.High)
	case m.Regression(): // may be negative
		return fmt.Sprintf("%.3f–%.3f", p.Low-0.0005, min(p.High+0.0005, 1))
	}
	return decimal.FixedDown(p.Low, 3) + "–" + decimal.FixedUp(p.High, 3)
}

// Proposal is one of the settings that [Propose] found: a complete setting for a training, with its predicted
// accuracy, its certified ε, and its amount of work.
type Proposal struct {
	Rank    int        `json:"rank"`
	Setting train.Spec `json:"setting"` // all settings of the training, as package train takes them
	Prediction
	// Proxy is the batch size of the trainings behind the prediction (proxies), as a fraction of the setting's batch
	// size; 1 means full size.
	Proxy float64 `json:"proxy"`
	// Seeds are the accuracies of the proxies, one for each seed; their mean is the prediction.
	Seeds []float64 `json:"by_seed"`
	// Certified has two certified bounds on the ε of a record: for the rounds of all clients that use the record, and
	// for those of one client.
	Certified claim.Privacy `json:"certified"`
	Delta     float64       `json:"delta"`
	GradComps int           `json:"grad_computations"` // number of gradients that each client computes
	Gradients int           `json:"gradients"`         // number of gradients that all clients compute together
	Rounds    int           `json:"rounds"`            // number of rounds of each client
	Updates   int           `json:"updates"`           // number of messages that all clients send to the server together
	Seconds   float64       `json:"seconds"`           // estimated duration of the training on this machine, in seconds
}

// Probe is the part of a [Report] about the proxies, the cheaper trainings that predicted the accuracies: which data
// they used, and how many there were. Statement says what they reveal about the data.
type Probe struct {
	Kind       Probing `json:"kind"`
	Data       string  `json:"data"`           // name of the data on which the proxies trained
	DataSHA256 string  `json:"data_sha256"`    // SHA-256 of the parsed records of the data
	Synthetic  bool    `json:"synthetic_data"` // whether the data were generated and not observed
	Statement  string  `json:"statement"`
	HeldOut    int     `json:"held_out_rows"` // number of training rows on which the accuracy of one proxy was measured; each seed selects other rows
	// Trainings is the number of proxies whose results were used. Computed is how many of them were run now; the results
	// of the rest were taken from an earlier search.
	Trainings int `json:"trainings"`
	Computed  int `json:"trainings_computed"`
	// Private describes the search if it was private (Kind is [Private]), and its cost. For the other kinds it is
	// nil: no (ε, δ) covers their proxies. With a private search, Trainings and Computed are 0, because the number of
	// trainings is not released.
	Private *PrivateProbe `json:"private,omitempty"`
}

// Report is the result of [Propose]: the proposed settings, the results for other budgets, and a description of how
// the accuracies were predicted.
type Report struct {
	Data  string `json:"data"`
	Model string `json:"model"`
	// TargetEpsilon is the target epsilon of a record or, if Group is above 0, of a person. If the request gave none,
	// it is the least ε that reaches TargetAccuracy.
	TargetEpsilon float64 `json:"target_epsilon"`
	// Group is the largest number of records of one person; 0 if ε is for a record. See train.Spec.AtMost.
	Group int `json:"group,omitempty"`
	// Metric names what all accuracies of the report measure, see train.Spec.Metric; "" is the accuracy itself.
	Metric         string       `json:"metric,omitempty"`
	TargetAccuracy float64      `json:"target_accuracy,omitempty"`
	Delta          float64      `json:"delta"`
	Adjacency      dp.Adjacency `json:"adjacency"`
	Sampling       dp.Sampling  `json:"sampling"`
	Records        int          `json:"records"` // number of records of each client
	Clients        int          `json:"clients"`
	Confidence     float64      `json:"confidence"` // confidence of the predicted intervals, see [Coverage]
	// Spread is the standard deviation of the accuracy between trainings of one setting with different seeds.
	Spread float64 `json:"spread"`
	Probe  Probe   `json:"probe"`
	// Proposals are the best settings, the best first. If all of these have a noise multiplier below 2, the last one
	// may be replaced by a setting with at least 2 and larger batches. It takes more gradients, but has more signal for
	// its noise, see [Options].
	Proposals []Proposal `json:"proposals"`
	Frontier  []Point    `json:"frontier"`
	// Compared ranks the models and features for images among which those of the proposals were chosen. Propose
	// leaves it empty; the caller sets it to the result of [Compare].
	Compared []Compared `json:"compared,omitempty"`
	// DataNote is a warning about the records, see data.Dataset.Note. Notes are further warnings, for example about
	// unusual settings.
	DataNote string   `json:"data_note,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Work is about the number of floating-point operations of all proxies, estimated as by train.Prepared.Work. Use
	// it to compare the cost of searches.
	Work float64 `json:"-"`

	of   models.Metric
	step float64 // largest difference of the metric that does not decide the order
}

// report assembles the report.
func (s *searcher) report(ctx context.Context, epsilon float64, found []*candidate, points []Point) (*Report, error) {
	d, probed := s.Data.Data(), s.Probe.Data()
	r := &Report{
		Data: s.base.Data, Model: s.base.Model, TargetEpsilon: epsilon, Metric: s.base.Metric, TargetAccuracy: s.TargetAccuracy,
		Delta: s.delta, Group: s.group,
		Adjacency: dp.AddOrRemove, Sampling: dp.Poisson, Records: s.records, Clients: s.base.Clients,
		Confidence: Coverage, Spread: s.spread(found), Frontier: points, DataNote: d.Note, Notes: s.base.Notes(),
		Probe: Probe{
			Kind: s.Probing, Data: probed.Name, DataSHA256: s.Probe.Hash(), Synthetic: probed.Synthetic,
			Statement: s.Probing.statement(s.base.Data, probed), HeldOut: s.holdout,
			Trainings: len(s.trials), Computed: s.computed,
		},
		Work: s.work, of: s.base.MetricOf(), step: s.unit() * rankStep,
	}
	for i, c := range found {
		p, err := s.proposal(ctx, c, r.Spread)
		if err != nil {
			return nil, err
		}
		p.Rank = i + 1
		if eps := p.Certified.PerRecord.EpsilonUpper; eps == nil || *eps > epsilon {
			return nil, errors.New("a setting is not certified within the target epsilon")
		}
		r.Proposals = append(r.Proposals, *p)
	}
	return r, nil
}

// proposal returns the guarantees and costs of a candidate.
func (s *searcher) proposal(ctx context.Context, c *candidate, spread float64) (*Proposal, error) {
	p, err := s.Data.Prepare(c.spec)
	if err != nil {
		return nil, err
	}
	f, err := p.Forecast(ctx, s.Options.Perf)
	if err != nil {
		return nil, err
	}
	return &Proposal{
		Setting: c.spec, Prediction: s.prediction(c, spread), Proxy: c.fraction, Seeds: s.values(c),
		Certified: f.Privacy.Certified, Delta: p.Delta, GradComps: f.GradComps, Gradients: c.gradients(),
		Rounds: f.Rounds, Updates: f.Updates, Seconds: f.Seconds,
	}, nil
}

// WriteText writes the proposals as a table for people, with their predicted accuracies and their ε, and what the
// search revealed.
func (r *Report) WriteText(w io.Writer) error {
	var text strings.Builder
	if len(r.Proposals) > 0 {
		first := r.Proposals[0]
		fmt.Fprintf(&text, "Train with batch size %s, %s, σ = %s, clipping norm %s and %s (%s):\n%s.\n\n",
			first.Setting.SampleSize, decimal.Many(first.Rounds, "step"), decimal.Up(first.Setting.NoiseMultiplier, 5),
			report.Number(first.Setting.Clip), first.Setting.InitialStep(), StepsText(first.Setting), r.expected(first))
	}
	fmt.Fprintf(&text, "%s for %s on %s within ε ≤ %s %s, δ = %s", decimal.Many(len(r.Proposals), "setting"),
		train.ModelTitle(r.Model), report.Data(r.Data, r.Probe.Kind != Other && r.Probe.Synthetic, ""),
		decimal.Up(r.TargetEpsilon, 6), r.unit(), decimal.Up(r.Delta, 5))
	if r.TargetAccuracy > 0 && r.Probe.Kind == Other {
		fmt.Fprintf(&text, ", with which proxies reach %s on %s", decimal.Exactly(r.TargetAccuracy), r.Probe.Data)
	} else if r.TargetAccuracy > 0 {
		fmt.Fprintf(&text, ", predicted to reach %s", decimal.Exactly(r.TargetAccuracy))
	}
	fmt.Fprintf(&text, "\n%s of %s; %s sampling, %s adjacency, certified by pld\n\n", decimal.Many(r.Clients, "client"),
		decimal.Many(r.Records, "record"), r.Sampling, r.Adjacency)
	accuracy, interval := r.columns()
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	unit := "record"
	if r.Group > 0 {
		unit = "person"
	}
	fmt.Fprintf(t, "\t%s\t%s\tε %s\tε client\ts\tT\tσ\tC\tη₀\tsteps\tgradients\tmessages\ttime\t\n", accuracy, interval, unit)
	for _, p := range r.Proposals {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t\n", p.Rank, r.of.Text(p.Accuracy),
			r.interval(p.Prediction), upper(p.Certified.PerRecord), upper(p.Certified.PerClient), p.Setting.SampleSize, p.Rounds,
			decimal.Up(p.Setting.NoiseMultiplier, 5), report.Number(p.Setting.Clip), report.Number(p.Setting.Eta0),
			StepsText(p.Setting), p.Gradients, p.Updates, report.Duration(p.Seconds))
	}
	t.Flush() // writing to memory does not fail
	fmt.Fprintf(&text, "\nsteps: %s; %s within %s of each other are ranked by gradients\n",
		r.stepsText(), r.plural(), report.Number(r.step))
	if r.Probe.Kind != Other {
		fmt.Fprintf(&text, "interval: the test %s of one training, at nominal %s; trainings of one setting differ "+
			"by %s (standard deviation)\n", r.metric(), report.Share(r.Confidence), r.of.Text(r.Spread))
	}
	if p := r.Probe.Private; p != nil {
		fmt.Fprintf(&text, "judged by a noised count of %d held-out training rows, never by the test set\n",
			r.Probe.HeldOut)
		fmt.Fprintf(&text, "private selection with %s expected trials: ε ≤ %s; with the training ε ≤ %s per "+
			"record (certified by %s)\n", report.Number(p.Mean), decimal.Up(p.Alone.EpsilonUpper, 4),
			decimal.Up(p.Together.EpsilonUpper, 4), p.Together.Accountant)
	} else {
		fmt.Fprintf(&text, "judged by about %d held-out training rows for each of %s, after %d trainings; "+
			"never by the test set\n", r.Probe.HeldOut, r.seedsText(), r.Probe.Trainings)
	}
	if len(r.Frontier) > 0 {
		fmt.Fprint(&text, "\nother budgets, settings like the first:\n")
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "\tε\t%s\t%s\tσ\tgradients\t\n", accuracy, interval)
		for _, p := range r.Frontier {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s\t%d\t\n", decimal.Up(p.Epsilon, 4), r.of.Text(p.Accuracy), r.interval(p.Prediction),
				decimal.Up(p.Setting.NoiseMultiplier, 4), p.Gradients)
		}
		t.Flush()
	}
	if len(r.Compared) > 0 {
		fmt.Fprintf(&text, "\n%s\n", ComparedText(r.Metric, r.Compared))
	}
	fmt.Fprintf(&text, "\nprobes: %s\n", r.Probe.Statement)
	if r.DataNote != "" {
		fmt.Fprintf(&text, "%s: %s\n", r.Data, r.DataNote)
	}
	if err := report.WriteNotes(&text, r.Notes); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// seedsText says how many seeds judged the proposals. The best may have more seeds than the others, which lost against
// them with fewer. A mean over few seeds then can be larger than that of a better proposal.
func (r *Report) seedsText() string {
	seeds := func(i int) int { return len(r.Proposals[i].Seeds) }
	text, from := "", 0
	for i := 1; i <= len(r.Proposals); i++ {
		if i < len(r.Proposals) && seeds(i) == seeds(from) {
			continue
		}
		if from == 0 && i == len(r.Proposals) {
			return decimal.Many(seeds(0), "seed")
		}
		if text != "" {
			text += ", "
		}
		text += decimal.Many(seeds(from), "seed")
		if from+1 == i {
			text += fmt.Sprintf(" (setting %d)", i)
		} else {
			text += fmt.Sprintf(" (settings %d to %d)", from+1, i)
		}
		from = i
	}
	return text + ", so that only settings with as many seeds compare"
}

// expected describes the ε of a proposal and what is known about its accuracy.
func (r *Report) expected(p Proposal) string {
	within := fmt.Sprintf("within ε ≤ %s for %s", upper(p.Certified.PerRecord), claim.Whom(dp.Event{Group: r.Group}))
	if r.Probe.Kind == Other {
		return fmt.Sprintf("%s; the %s on %s is unknown, because none of its records was used", within, r.metric(), r.Data)
	}
	return fmt.Sprintf("%s; predicted %s %s (%s)", within, r.metric(), r.of.Text(p.Accuracy), p.interval(r.of))
}

// unit names whom the target epsilon protects.
func (r *Report) unit() string { return claim.For(r.Group) }

func (r *Report) metric() string { return train.Spec{Metric: r.Metric}.MetricName() }

// plural names several values of the metric.
func (r *Report) plural() string {
	if r.Metric == "" {
		return "accuracies"
	}
	return "values of " + r.metric()
}

// columns returns the headings of accuracies and of their intervals. Accuracies of other data are no
// predictions, and have no interval.
func (r *Report) columns() (accuracy, interval string) {
	if r.Probe.Kind == Other {
		return "on " + r.Probe.Data, ""
	}
	return r.metric(), "interval"
}

// interval formats an interval, which accuracies of other data do not have.
func (r *Report) interval(p Prediction) string {
	if r.Probe.Kind == Other {
		return ""
	}
	return p.interval(r.of)
}

// StepsText describes in a few words the parts of a setting that change neither ε nor the number of gradients: how
// step sizes decrease (Schedule), the mean of several global models that the run computes in addition to its last
// model (Average), the features that replace the pixels of images (FeatureMap), and the constant by which inputs are
// multiplied (InputScale). For example, "cosine tail:0.5 ×4" means step sizes that fall along a cosine, the mean of the
// models of the last half of the rounds, and inputs multiplied by 4. See [train.Spec].
func StepsText(s train.Spec) string {
	what := s.Schedule
	for _, part := range []string{s.Average, s.FeatureMap} {
		if part != "" {
			what += " " + part
		}
	}
	if s.InputScale != 0 {
		what += " ×" + report.Number(s.InputScale)
	}
	return what
}

// stepsText explains the schedules of the proposals.
func (r *Report) stepsText() string {
	explained := map[sim.Decay]string{
		sim.ZeroDecay: "zero η₀(1−t/K)", sim.CosineDecay: "cosine η₀(1+cos(πt/K))/2", sim.NoDecay: "constant η₀",
	}
	var texts []string
	for _, p := range r.Proposals {
		if text := explained[sim.Decay(p.Setting.Schedule)]; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if p.Setting.Averages() && !slices.Contains(texts, tailText) {
			texts = append(texts, tailText)
		}
	}
	return strings.Join(texts, "; ")
}

// tailText explains the average tail:F.
const tailText = "tail:F: the model is the mean of the broadcasts of the last fraction F of the rounds"

func upper(c claim.Claim) string {
	if c.EpsilonUpper == nil {
		return report.NoAnswer
	}
	return decimal.Up(*c.EpsilonUpper, 4)
}
