package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/train"
)

// Report is the result of [Run]: which clients are satisfied, the accuracies, the stages (trainings), and their
// privacy cost.
type Report struct {
	Satisfied bool           `json:"satisfied"` // whether every client is satisfied, see ClientReport
	Tested                   // the lowest of the clients' test accuracies, which do not influence the training
	Strategy  Strategy       `json:"strategy"`
	End       string         `json:"end"` // why the task ended, such as "every client is satisfied"
	Clients   []ClientReport `json:"clients"`
	Stages    []StageReport  `json:"stages"`            // of this task
	Gradients int            `json:"grad_computations"` // in all Stages, by all clients together
	// Rounds is the sum of the rounds of all Stages. A client has fewer if it did not take part in every stage, or if
	// its batch size was larger than that of others (see Stage.Rounds).
	Rounds     int     `json:"rounds"`
	Privacy    Privacy `json:"privacy"`
	Params     string  `json:"params_sha256"`
	Model      string  `json:"model_file"` // name in the folder; "" if nothing is kept
	Outlook    Outlook `json:"outlook"`
	DataSHA256 string  `json:"data_sha256"` // digest of the parsed content
	Synthetic  bool    `json:"synthetic_data"`
	DataNote   string  `json:"data_note,omitempty"` // note on what else to know about the data
	Config     Task    `json:"config"`

	params  []float32    // the last model
	within  claim.Report // bound that is saved in the model's file
	records int          // number that each client holds
}

// ClientReport says whether one client is satisfied, and gives the accuracies on its held-out and test
// records.
type ClientReport struct {
	Client
	// Satisfied reports whether two conditions hold. On the client's held-out records, the model reaches
	// the target accuracy and exceeds the majority-class baseline by more than the sampling error. On its
	// test records, the model exceeds the baseline and is not below the target by more than the sampling
	// error. The sampling error is by how much the accuracy on so few records can be off: 1.645 standard
	// deviations of the accuracy (see models.Metric.Margin). If the task has another metric than the
	// accuracy, its value is compared with its target and its baseline in the same way. Such a metric has two
	// sampling errors: models.Metric.Margin for the comparison with the target, and models.Metric.Chance for
	// that with the baseline. For regression, models.Metric.SamplingErrors returns both.
	Satisfied   bool    `json:"satisfied"`
	Short       string  `json:"short,omitempty"`   // why it is not satisfied
	HeldOut     float64 `json:"held_out_accuracy"` // task's metric on its held-out records
	HeldOutRows int     `json:"held_out_rows"`
	Distinct    int     `json:"held_out_distinct_rows"` // number of different records among them
	Baseline    float64 `json:"held_out_baseline"`      // accuracy of always predicting their most frequent class
	Tested
	Warnings []string `json:"warnings,omitempty"` // about the records that judge the model, see train.JudgedRows
	Refused  string   `json:"refused,omitempty"`  // why an unsatisfied client no longer takes part
}

// StageReport describes one stage (training): its settings, its work, and how much of each budget is spent after it.
type StageReport struct {
	Number int `json:"stage"` // number of the stage, from 0, counted over all tasks of the folder
	Stage
	GradComps int `json:"grad_computations"` // of all clients that took part
	// Used is, for each client, the fraction of its records' budget that is spent after the stage.
	Used []float64 `json:"used"`
}

// Privacy is the privacy guarantee of a [Report] for each record. It covers everything that was released in this task
// and in earlier tasks that used the same folder, [Options].Dir.
type Privacy struct {
	EpsilonUpper float64         `json:"epsilon_upper"` // the largest ε of any account
	Delta        float64         `json:"delta"`         // the largest δ of any account, so that (EpsilonUpper, Delta) holds for all
	Kind         dp.Kind         `json:"kind"`
	Accountant   string          `json:"accountant"`
	Adjacency    dp.Adjacency    `json:"adjacency"`
	Sampling     dp.Sampling     `json:"sampling"`
	Accounts     []AccountReport `json:"accounts"`
	Simulation   bool            `json:"simulation,omitempty"` // whether the noise comes from a numbered seed, so that nothing is protected
	Statement    string          `json:"statement"`
}

// AccountReport says how much of one [Account], the privacy budget of some clients' records, is spent. EpsilonUpper is
// the ε to publish: that of the whole budget, even if only a part is spent. A smaller ε is not proved if results
// decide how much is spent.
type AccountReport struct {
	Account
	EpsilonUpper float64      `json:"epsilon_upper"`
	Used         float64      `json:"used"` // fraction of the budget that is spent; 0 or 1 if Account.Once
	Releases     []dp.Release `json:"releases"`
}

// HeldOutNote is the warning that held-out and test records, on which clients measure the model's
// accuracy, are not protected.
const HeldOutNote = "Held-out records are NOT protected: the accuracy on them decides which stage comes next and " +
	"when a client stops, and (ε, δ) of the training does not cover that. Test records are not " +
	"protected either."

// report judges the last model and reports the guarantee.
func (d *driver) report(ctx context.Context) (*Report, error) {
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	e := d.currentTask()
	r := &Report{Strategy: e.Strategy, End: e.End, Outlook: e.Outlook, Config: e.Task, Satisfied: true,
		DataSHA256: d.Journal.Public.Data, params: d.params, records: d.Journal.Public.Records}
	if e.End == "" {
		return nil, fmt.Errorf("the task has not ended")
	}
	test, err := d.trainer.Test(d.params)
	if err != nil {
		return nil, err
	}
	if len(test) != len(e.Clients) {
		return nil, fmt.Errorf("the trainer tests for %d clients, must be for all %d", len(test), len(e.Clients))
	}
	held, err := d.trainer.HeldOut(d.params)
	if err != nil {
		return nil, err
	}
	if len(held) != len(e.Clients) {
		return nil, fmt.Errorf("the trainer judges for %d clients, must be for all %d", len(held), len(e.Clients))
	}
	stages := d.stagesOfTask()
	last := stages[len(stages)-1]
	r.Params, r.Model = last.Params, d.model(len(d.Stages)-1)
	r.Tested = slices.MinFunc(test, func(a, b Tested) int {
		if metric := e.Spec.MetricOf(); metric.Smaller() {
			return cmp.Compare(b.TestAccuracy, a.TestAccuracy)
		}
		return cmp.Compare(a.TestAccuracy, b.TestAccuracy)
	})
	why, err := d.whyNot(ctx)
	if err != nil {
		return nil, err
	}
	contradicted := false
	for i, short := range d.short() {
		client := e.Clients[i]
		c := ClientReport{
			Client: client, Short: short, HeldOut: last.HeldOut[i], HeldOutRows: d.Journal.Public.HeldOut[i],
			Distinct: held[i].DistinctRows, Baseline: last.Baseline[i], Tested: test[i],
		}
		if short != "" {
			c.Refused = why[i]
		} else {
			rows := c.TestRows
			if !e.Spec.IsAccuracy() {
				rows = c.MetricRows
			}
			margin := c.Margin
			if !e.Spec.MetricOf().Regression() {
				margin = e.Spec.MetricOf().Margin(client.Accuracy, rows)
			}
			c.Short = client.short("test", e.Spec, c.TestAccuracy, c.MajorityShare, 0, margin)
			contradicted = contradicted || c.Short != ""
		}
		c.Satisfied = c.Short == ""
		r.Satisfied = r.Satisfied && c.Satisfied
		for _, w := range []string{held[i].Warning(true), test[i].Warning(false)} {
			if w != "" {
				c.Warnings = append(c.Warnings, w)
			}
		}
		r.Clients = append(r.Clients, c)
	}
	if contradicted {
		r.End = "test records contradict the held-out records"
	}
	first := len(d.Stages) - len(stages)
	for i, s := range stages {
		used, err := d.usedAfter(ctx, first+i)
		if err != nil {
			return nil, err
		}
		r.Stages = append(r.Stages, StageReport{Number: first + i, Stage: s, GradComps: s.computed(), Used: used})
		r.Gradients += s.computed()
		r.Rounds += s.Rounds
	}
	r.Privacy, r.within, err = d.privacy(ctx)
	return r, err
}

// OfData adds the note of the data set (d.Note) to the report and to its privacy statement. The note says what else
// about the data (ε, δ) does not cover.
func (r *Report) OfData(d *data.Dataset) {
	r.Synthetic, r.DataNote = d.Synthetic, d.Note
	if d.Note != "" {
		r.Privacy.Statement += "\n\nData: " + d.Note + "."
	}
}

// Save writes the model of the last stage to the file path, for [train.OpenModel]. The file also has the description
// of the model's inputs (in) and the privacy bound. The file is written atomically: after a crash, path has the whole
// new file or what it had before. A report without a model is an error.
func (r *Report) Save(path string, in train.Inputs) error {
	if r.params == nil {
		return errors.New("save: the report has no model")
	}
	last := r.Stages[len(r.Stages)-1]
	s := train.Saved{Spec: last.Spec(r.Config), Inputs: in, DataSHA256: r.DataSHA256, Synthetic: r.Synthetic,
		DataNote: r.DataNote, Privacy: r.within, Statement: r.Privacy.Statement}
	if spec := r.Config.Spec; spec.Averages() {
		s.Averaged = spec.Average
	}
	s.Spec.NoiseMultiplier, s.Notes = r.within.NoiseMultiplier, s.Spec.Notes()
	if slices.ContainsFunc(last.Participants, func(p train.Participant) bool { return p.SampleSize > 0 }) {
		s.Notes = append(s.Notes, "clients had their own batch sizes: "+last.String())
	}
	if s.Spec.Model == train.Ridge && s.Spec.Lambda == 0 {
		s.Spec.Lambda = 1 / float64(r.records) // even if a client trains on fewer
	}
	for _, a := range r.Privacy.Accounts {
		s.Releases = append(s.Releases, a.Releases...)
	}
	return s.Write(path, r.params)
}

// whyNot returns why each client does not take part after the end of the task. It repeats the decision
// that ended the task.
func (d *driver) whyNot(ctx context.Context) ([]string, error) {
	again := *d.Journal
	again.Tasks = slices.Clone(again.Tasks)
	again.Stages = slices.Clone(again.Stages)
	l, err := newLoop(ctx, &again)
	if err != nil {
		return nil, err
	}
	_, why, err := l.advance(ctx)
	return why, err
}

// usedAfter returns, for each client, the fraction of its budget that was spent after a stage.
func (d *driver) usedAfter(ctx context.Context, stage int) ([]float64, error) {
	until := *d.Journal
	until.Stages = until.Stages[:stage+1]
	ledgers, err := until.ledgers(ctx)
	if err != nil {
		return nil, err
	}
	used := make([]float64, len(d.currentTask().Clients))
	for _, l := range ledgers {
		u, err := l.used(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range l.Clients {
			used[i] = u
		}
	}
	return used, nil
}

// privacy returns the guarantee of all ledgers.
func (d *driver) privacy(ctx context.Context) (p Privacy, worst claim.Report, err error) {
	var statements []string
	var most dp.Bound
	var payer *ledger // the ledger with the largest ε, among those whose records were used
	for _, l := range d.accounts {
		b := l.guarantee()
		used, err := l.used(ctx)
		if err != nil {
			return Privacy{}, claim.Report{}, err
		}
		p.Accounts = append(p.Accounts, AccountReport{Account: l.Account, EpsilonUpper: b.EpsilonUpper, Used: used,
			Releases: dp.Releases(l.events)})
		p.Delta = max(p.Delta, b.Delta)
		if b.EpsilonUpper > most.EpsilonUpper {
			most = b
		}
		if len(l.events) > 0 && (payer == nil || l.Epsilon > payer.Epsilon) {
			payer = l
		}
		who := "Privacy."
		if len(d.accounts) > 1 {
			who = fmt.Sprintf("Privacy of the records of client %d.", l.Clients[0])
		}
		statements = append(statements, who+" "+l.statement(b))
	}
	p.EpsilonUpper, p.Kind, p.Accountant = most.EpsilonUpper, most.Kind, most.Accountant
	p.Adjacency, p.Sampling = most.Adjacency, most.Sampling
	most.DeltaLower, most.Delta, most.DeltaUpper = p.Delta, p.Delta, p.Delta
	worst = claim.Within(most, payer.events)
	p.Simulation = slices.ContainsFunc(d.Stages, func(s Stage) bool {
		return rng.Name{Root: s.root(d.Seed)}.Simulated()
	})
	if worst.Drawn = d.drawn(); worst.Drawn != "" {
		statements = append(statements, "Samples and noise are drawn "+worst.Drawn+".")
	}
	p.Statement = strings.Join(append(statements, HeldOutNote), "\n\n")
	return p, worst, nil
}

// drawn says how the samples and the noise were drawn. They count as exact only if those of every task
// are.
func (d *driver) drawn() string {
	var names []rng.Name
	for _, s := range d.Stages {
		names = append(names, rng.Name{Root: s.root(d.Seed)})
	}
	return claim.Drawn(!slices.ContainsFunc(d.Tasks, func(e JournalTask) bool { return !e.Spec.Exact }), names)
}

// statement returns the privacy statement of b, the ledger's guarantee.
func (l *ledger) statement(b dp.Bound) string {
	switch {
	case l.Once:
		return claim.Statement(claim.PerRecord, b, l.events...)
	case l.filter != nil:
		return claim.AdaptiveStatement(claim.PerRecord, b, l.Orders, true, l.events...)
	}
	return claim.BudgetStatement(claim.PerRecord, b, l.events...)
}

// String describes the stage in one line.
func (s *Stage) String() string {
	var who []string
	largest, fewest := s.SampleSize, s.Rounds
	for _, p := range s.Participants {
		size, rounds := s.RunOf(p)
		largest, fewest = max(largest, size), min(fewest, rounds)
	}
	sizes, rounds := strconv.Itoa(s.SampleSize), strconv.Itoa(s.Rounds)
	if largest > s.SampleSize {
		sizes, rounds = fmt.Sprintf("%s to %d", sizes, largest), fmt.Sprintf("%s to %d", rounds, fewest)
	}
	for _, p := range s.Participants {
		one := "σ = " + decimal.Exactly(p.NoiseMultiplier)
		if largest > s.SampleSize {
			size, _ := s.RunOf(p)
			one += fmt.Sprintf(" (s = %d)", size)
		}
		if len(s.Participants) > 1 || p.Client > 0 {
			one = fmt.Sprintf("client %d %s", p.Client, one)
		}
		who = append(who, one)
	}
	if len(who) > 8 {
		who = append(who[:7], fmt.Sprintf("and %d more", len(s.Participants)-7))
	}
	return fmt.Sprintf("%s rounds of s = %s at C = %v, η₀ = %v: %s", rounds, sizes, s.Clip, s.Eta0,
		strings.Join(who, ", "))
}

// list formats accuracies, or only the lowest and the highest if there are many.
func list(accuracy []float64, metric models.Metric) string {
	if len(accuracy) > 8 {
		return fmt.Sprintf("from %s to %s", metric.Text(slices.Min(accuracy)), metric.Text(slices.Max(accuracy)))
	}
	texts := make([]string, len(accuracy))
	for i, a := range accuracy {
		texts[i] = metric.Text(a)
	}
	return strings.Join(texts, ", ")
}

// Unsatisfied returns a text that names the first client that is not satisfied, and the reason. If all clients are
// satisfied, it returns "".
func (r *Report) Unsatisfied() string {
	for i, c := range r.Clients {
		if !c.Satisfied {
			return fmt.Sprintf("client %d: %s", i, c.Short)
		}
	}
	return ""
}

// reasons joins the reasons why clients do not take part, without repetition.
func reasons(why []string) string {
	var all []string
	for i, w := range why {
		if w != "" && !slices.ContainsFunc(all, func(text string) bool { return strings.HasSuffix(text, w) }) {
			all = append(all, fmt.Sprintf("client %d: %s", i, w))
		}
	}
	return strings.Join(all, "; ")
}

// WriteText writes the report as text. It begins with a summary: whether the clients are satisfied, the accuracy, and
// the privacy in one line. The stages (trainings) follow. The full privacy statement is in Privacy.Statement.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-16s"+format+"\n", append([]any{name}, args...)...)
	}
	if r.Satisfied {
		line("loop", "SATISFIED: %s", r.End)
	} else {
		line("loop", "NOT satisfied: %s: %s", r.End, r.Unsatisfied())
	}
	metric := r.Config.Spec.MetricOf()
	spec, rows := r.Config.Spec, fmt.Sprintf("on test records, which decided no stage%s: %s of %s",
		message.When(len(r.Clients) > 1, " (the worst client's)"), decimal.Many(r.TestRows, "row"), report.Data(r.Config.Spec.Data, r.Synthetic, ""))
	if spec.IsAccuracy() {
		line("test accuracy", "%.4f %s", r.TestAccuracy, rows)
		line("baseline", "%.4f by always predicting the most frequent class", r.MajorityShare)
	} else {
		line("metric", "%s %s %s", spec.MetricName(), metric.Text(r.TestAccuracy), rows)
		line("baseline", "%s without looking at the features", metric.Text(r.MajorityShare))
	}
	if !metric.Exceeds(r.TestAccuracy, r.MajorityShare, 0) {
		spec.NoiseMultiplier = r.within.NoiseMultiplier // that of the task is 0
		line("WARNING", "%s", spec.BaselineWarning())
	}
	line("privacy", "%s", r.within.Line())
	line("not protected", "held-out records, which decide the stages, and test records (--statement says all)")
	if r.DataNote != "" {
		line("data", "%s", r.DataNote)
	}
	line("distinct rows", "%d of %d", r.DistinctRows, r.TestRows)
	line("strategy", "%s: %d gradients of all clients, %d rounds", r.Strategy, r.Gradients, r.Rounds)
	if o := r.Outlook; o.Of != "" {
		line("utility graph", "%d points, of %s", len(o.Points), o.Of)
	}
	for _, s := range r.Stages {
		line(fmt.Sprintf("stage %d", s.Number), "%s", &s.Stage)
		line("", "held-out "+spec.MetricName()+" %s; %s of the budget spent", list(s.HeldOut, metric), percentUsed(slices.Max(s.Used)))
	}
	for i, c := range r.Clients {
		if len(r.Clients) > 1 || !c.Satisfied {
			state := "satisfied"
			if !c.Satisfied {
				state = "not satisfied: " + c.Short
				if c.Refused != "" {
					state += "; " + c.Refused
				}
			}
			line(fmt.Sprintf("client %d", i), "target %v, held-out %s of %d (baseline %s), test %s of %d (baseline %s): %s",
				c.Accuracy, metric.Text(c.HeldOut), c.HeldOutRows, metric.Text(c.Baseline), metric.Text(c.TestAccuracy), c.TestRows,
				metric.Text(c.MajorityShare), state)
		}
		for _, text := range c.Warnings {
			if i == 0 || !slices.Contains(r.Clients[0].Warnings, text) {
				line("WARNING", "%s", text)
			}
		}
	}
	line("model", "%s%s, sha256 %s", cmp.Or(r.Model, "not kept, and neither is the ledger (--dir keeps both)"),
		message.When(spec.Averages(), ", averaged (%s)", spec.Average), r.Params)
	_, err := io.WriteString(w, b.String())
	return err
}

// Guarantee returns the privacy claim for everything that this task, and earlier tasks in the same folder, have
// released. Privacy.Statement has the claim as text.
func (r *Report) Guarantee() claim.Report { return r.within }

// percentUsed formats the fraction of a budget that is spent as a percentage, rounded up.
func percentUsed(used float64) string { return decimal.Up(100*used, 4) + " %" }
