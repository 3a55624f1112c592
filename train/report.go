package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/internal/report"
	"proactivedp/sim"
)

// Report has the results of a finished training: accuracy, privacy, time and settings. [Prepared.Train] returns it,
// and the command train --json prints it.
type Report struct {
	*Accuracy   `json:",omitempty"` // nil for a model of regression
	Regression  *Regression         `json:"regression,omitempty"` // only of a model of regression
	JudgedRows                      // the rows on which the accuracy was measured
	JudgedOn    string              `json:"judged_on"`              // the kind of these rows: "test set" or "held-out training rows"
	RowsWarning string              `json:"rows_warning,omitempty"` // see JudgedRows.Warning
	Metric      *MetricValue        `json:"metric,omitempty"`       // the spec's metric, if it is not the accuracy
	*Judgement  `json:",omitempty"` // the baseline and other numbers to interpret the accuracy; nil for regression
	Rounds      int                 `json:"rounds"`            // of a client; if clients differ, of the client with the most
	Updates     int                 `json:"updates"`           // rounds of all clients together
	GradComps   int                 `json:"grad_computations"` // gradients that a client computes, by the spec's batch sizes
	// Remainder is the number of gradients of Spec.GradComps that are left over, because they are too few for a
	// round.
	Remainder int `json:"remainder"`
	// GradCompsMin and GradCompsMax are the gradients of the clients that computed the fewest and the most. They
	// differ if clients adapt their batch sizes (Spec.Adapt).
	GradCompsMin int `json:"grad_computations_min"`
	GradCompsMax int `json:"grad_computations_max"`
	// Theta is θ, a measure of how unequal batch sizes are: a client's largest batch size divided by its mean batch
	// size, for the client with the largest ratio.
	Theta float64 `json:"theta"`
	// MaxLag and MeanLag are the largest and the mean lag of the rounds. The lag is i − k for round i of a client whose
	// newest global model is number k.
	MaxLag  int     `json:"max_lag"`
	MeanLag float64 `json:"mean_lag"`
	// VirtualTime is how many simulated seconds the run took, on the virtual clock or on a real clock (Spec.TimeScale).
	// It is 0 if the run had no clock.
	VirtualTime  float64      `json:"virtual_seconds,omitempty"`
	Notes        []string     `json:"notes,omitempty"`    // sentences that a reader of the results must know
	ParamsSHA256 string       `json:"params_sha256"`      // digest of the last global model
	ParamsNorm   float64      `json:"params_norm"`        // Euclidean norm of the last global model's parameters
	Averaged     *Averaged    `json:"averaged,omitempty"` // the averaged model, if the spec asks for one
	Privacy      claim.Report `json:"privacy"`            // the guarantee that the run has, see Prepared.ReleasedPrivacy
	// Releases lists rounds whose ε for a record is at least that of the run. Use the list to compute the ε of this run
	// together with other releases of the same records. If all clients have the same records, it has the rounds of all
	// clients. If each record belongs to one client, it has rounds that cost at least as much as those of any single
	// client. It is empty if no such list is known (see claim.Released). It also has the estimation of column bounds
	// with noise (Spec.BoundsEpsilon).
	Releases   []dp.Release `json:"releases"`
	Synthetic  bool         `json:"synthetic_data"`      // whether the data is generated, see data.Dataset
	DataNote   string       `json:"data_note,omitempty"` // what else a reader must know about the data
	DataSHA256 string       `json:"data_sha256"`         // digest of the data set's content
	Seconds    float64      `json:"seconds"`             // seconds of the training loop
	Spec       Spec         `json:"config"`

	params []float32 // the final model
}

// Averaged is the part of a report about the averaged model: the mean of several of the run's global models, by the
// rule Spec.Average. The rest of the report is about the last global model.
type Averaged struct {
	Rule         string `json:"rule"`       // Spec.Average, such as "ema:0.99"
	Broadcasts   int    `json:"broadcasts"` // number of global models in the mean
	*Accuracy    `json:",omitempty"`
	Regression   *Regression  `json:"regression,omitempty"`
	Metric       *MetricValue `json:"metric,omitempty"` // the spec's metric, if it is not the accuracy
	*Judgement   `json:",omitempty"`
	ParamsSHA256 string  `json:"params_sha256"`
	ParamsNorm   float64 `json:"params_norm"`
}

// averaged evaluates the averaged model. It returns nil if the spec asks for no average.
func (p *Prepared) averaged(o *Outcome) *Averaged {
	if o.Averaged == nil {
		return nil
	}
	j := p.judgement(o.Averaged)
	return &Averaged{
		Rule: p.Spec.Average, Broadcasts: o.Broadcasts,
		Accuracy: j.accuracy, Regression: j.regression, Metric: p.metricValue(o.Averaged), Judgement: j.judgement,
		ParamsSHA256: (&sim.Result{Params: o.Averaged}).ParamsSHA256(),
		ParamsNorm:   math.Sqrt(f32.SumSquares(o.Averaged)),
	}
}

// Train runs the training and returns its report. It is the usual way to run p. progress, unless it is nil, gets a
// progress bar if the run takes more than about two seconds. perf has the settings for the speed; they do not change
// the result. Train returns an error and does not start if the run's ε would be above Spec.TargetEpsilon.
func (p *Prepared) Train(ctx context.Context, perf sim.Perf, progress io.Writer) (*Report, error) {
	return p.TrainKept(ctx, perf, progress, Keep{})
}

// TrainKept does the same as [Prepared.Train] with these arguments, but also writes checkpoints and continues from a
// checkpoint, as keep says. If the run has finished and only its last checkpoint could not be written, it returns
// both a report and an error.
func (p *Prepared) TrainKept(ctx context.Context, perf sim.Perf, progress io.Writer, keep Keep) (*Report, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	if err := p.KeepsTarget(ctx); err != nil {
		return nil, err
	}
	var observe sim.Observer
	show, finish := report.LongBar(progress, "training", p.Work())
	if show != nil {
		observe = p.Progress(show)
	}
	result, seconds, err := p.RunKept(ctx, perf, observe, keep)
	finish()
	if result == nil {
		return nil, err
	}
	r, interrupted := p.Report(ctx, result, seconds)
	if interrupted != nil {
		return nil, interrupted
	}
	return r, err
}

// Report evaluates the models of a finished run on p.Test, computes the privacy that the run cost, and returns both
// as a report. Use it after [Prepared.RunKept]; [Prepared.Train] does both. seconds is how long the run took, for the
// report only. If ctx is cancelled, the error is context.Cause(ctx).
func (p *Prepared) Report(ctx context.Context, result *Outcome, seconds float64) (*Report, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	privacy, err := p.ReleasedPrivacy(ctx, result.Result)
	if err != nil {
		return nil, err
	}
	set, rows := p.Test.Data, RowsOf(p.Test)
	j := p.judgement(result.Params)
	least, most, theta := sizesRun(result.Ledgers)
	return &Report{
		GradCompsMin: least, GradCompsMax: most, Theta: theta,
		MeanLag: result.Staleness.Mean(), VirtualTime: time.Duration(result.Clock).Seconds(),
		Notes:    slices.Concat(p.Spec.Notes(), p.Notes, p.releaseNotes(result.Ledgers)),
		Accuracy: j.accuracy, Regression: j.regression, Metric: p.metricValue(result.Params), Judgement: j.judgement,
		JudgedRows: rows, JudgedOn: p.Spec.JudgedOn(), RowsWarning: rows.Warning(p.Spec.Holdout > 0),
		Rounds: result.Run.Rounds, Updates: result.Updates,
		GradComps: result.Run.Computed, Remainder: result.Run.Remainder, MaxLag: result.MaxLag,
		ParamsSHA256: result.ParamsSHA256(), ParamsNorm: math.Sqrt(f32.SumSquares(result.Params)),
		Averaged: p.averaged(result),
		Privacy:  privacy,
		Releases: dp.Releases(slices.Concat(claim.Released(result.Ledgers, !p.Config.Partition.Disjoint()),
			p.boundsEvents())),
		Synthetic: set.Synthetic, DataNote: set.Note, DataSHA256: p.source.Hash(), Seconds: seconds,
		Spec: p.Spec.stated(), params: result.Model(),
	}, nil
}

// releaseNotes returns a note if the releases in the report are more than any single client's
// rounds. Otherwise a reader could compute a lower bound of a record's cost from them.
func (p *Prepared) releaseNotes(ledgers []dp.Ledger) []string {
	other := func(l dp.Ledger) bool {
		first, this := ledgers[0].Named(dp.Noise{}), l.Named(dp.Noise{})
		return !slices.Equal(first.Events(), this.Events())
	}
	if !p.Config.Partition.Disjoint() || !slices.ContainsFunc(ledgers, other) {
		return nil
	}
	if claim.Released(ledgers, false) == nil {
		return []string{"clients ran rounds that no common list covers, so no releases are listed for composition: each client's " +
			"own report has its own"}
	}
	return []string{"clients ran rounds of different sample rates. The releases listed for composition are at least as large " +
		"as any client's, so a record pays at most their ε, and maybe less"}
}

// DataSHA256 returns the SHA-256 of the content of the data set from which p was prepared, in hexadecimal. Two runs
// with the same digest have the same data. The digest is computed only once.
func (p *Prepared) DataSHA256() string { return p.source.Hash() }

// sizesRun returns the smallest and the largest expected number of gradients of a client, and the
// largest θ of any client.
func sizesRun(ledgers []dp.Ledger) (least, most int, theta float64) {
	for i := range ledgers {
		run := ledgers[i].Run()
		if i == 0 {
			least = run.Computed
		}
		least, most, theta = min(least, run.Computed), max(most, run.Computed), max(theta, run.Theta())
	}
	return least, most, theta
}

// stated returns the spec for a report. If the noise came from the operating system, it leaves out
// the seed, which was not used.
func (s Spec) stated() Spec {
	if s.SeedFromOS {
		s.Seed = 0
	}
	return s
}

// WriteText writes the report to w as a text of a few lines: accuracy, privacy, warnings, and the numbers of rounds
// and gradients.
func (r *Report) WriteText(w io.Writer) error {
	if err := r.made(); err != nil {
		return err
	}
	what := "accuracy"
	if r.Regression != nil {
		what = "R²"
	}
	heading := "test " + what
	if r.Spec.Holdout > 0 {
		heading = "held-out " + strings.Replace(what, "accuracy", "acc.", 1)
	}
	j := judged{r.Accuracy, r.Judgement, r.Regression}
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s%s on %s of %s\n", heading, j.text(), decimal.Many(r.TestRows, "row"),
		report.Data(r.Spec.Data, r.Synthetic, ""))
	if err := r.Privacy.WriteText(&b); err != nil {
		return err
	}
	if !r.Synthetic {
		b.WriteString("not protected   the records on which the accuracy was measured\n")
	}
	if r.DataNote != "" {
		fmt.Fprintf(&b, "data            %s\n", r.DataNote)
	}
	fmt.Fprintf(&b, "distinct rows   %d of %d\n", r.DistinctRows, r.TestRows)
	if r.RowsWarning != "" {
		fmt.Fprintf(&b, "WARNING         %s\n", r.RowsWarning)
	}
	r.Metric.writeText(&b)
	j.writeText(&b, r.Spec)
	if a := r.Averaged; a != nil {
		j := judged{a.Accuracy, a.Judgement, a.Regression}
		fmt.Fprintf(&b, "averaged        %s by %s, of %d broadcasts; sha256 %s, norm %.4g\n",
			j.text(), a.Rule, a.Broadcasts, a.ParamsSHA256, a.ParamsNorm)
		a.Metric.writeText(&b)
		j.writeText(&b, r.Spec)
	}
	fmt.Fprintf(&b, `rounds          %s
%scomputations    %s, %d left over
parameters      sha256 %s, norm %.4g
training loop   %.3f s (%.4g rounds per second)
`,
		r.rounds(),
		r.simulated(), r.gradients(), r.Remainder,
		r.ParamsSHA256, r.ParamsNorm,
		r.Seconds, float64(r.Updates)/r.Seconds)
	if err := report.WriteNotes(&b, r.Notes); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteStatement writes to w the full privacy statement of the run: the ε of a record for the rounds of all
// clients and for those of one client, by each accountant (method to compute ε), and the conditions under which
// these ε hold. [Report.WriteText] writes only one line about privacy.
func (r *Report) WriteStatement(w io.Writer) error {
	if err := r.made(); err != nil {
		return err
	}
	return r.Spec.writeStatement(w, r.Privacy, r.Synthetic, r.DataNote)
}

// writeStatement writes a full privacy statement, with the note of the data set if it has one, and the initial
// model if it is from a file.
func (s Spec) writeStatement(w io.Writer, privacy claim.Report, synthetic bool, note string) error {
	err := privacy.WriteStatement(w)
	if err == nil && note != "" {
		_, err = fmt.Fprintf(w, "  %-14s%s\n", "data", report.Data(s.Data, synthetic, note))
	}
	if err == nil && s.Initial != "" {
		_, err = fmt.Fprintf(w, "  %-14s%s\n", "start", s.InitialNote())
	}
	return err
}

// simulated returns a line about how long the run took on its clock, if it had one.
func (r *Report) simulated() string {
	switch {
	case r.Spec.TimeScale > 0:
		return fmt.Sprintf("time            %.4g s of a real clock, each %g s long\n", r.VirtualTime, r.Spec.TimeScale)
	case r.Spec.Runner != VirtualRunner:
		return ""
	}
	return fmt.Sprintf("simulated time  %.4g s on the virtual clock\n", r.VirtualTime)
}

// rounds returns how many rounds the clients computed, and how far behind they were, in words.
func (r *Report) rounds() string {
	if r.Spec.Clients == 1 {
		return fmt.Sprint(r.Rounds)
	}
	return fmt.Sprintf("%d per client, %s in all, at most %d behind, %.4g on average", r.Rounds,
		decimal.Many(r.Updates, "update"), r.MaxLag, r.MeanLag)
}

// gradients returns how many gradients a client computed, in words.
func (r *Report) gradients() string {
	if r.GradCompsMin == r.GradCompsMax {
		return decimal.Many(r.GradCompsMin, "gradient") + " per client"
	}
	return fmt.Sprintf("%d to %d gradients per client, nominally %d, θ ≤ %s", r.GradCompsMin, r.GradCompsMax,
		r.GradComps, decimal.Up(r.Theta, 4))
}

func (r *Report) made() error {
	if r == nil || r.Spec == (Spec{}) {
		return errors.New("this Report was not made by Prepared.Train")
	}
	return nil
}
