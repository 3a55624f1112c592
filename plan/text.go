package plan

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// page is text in aligned columns that is written at once.
type page struct {
	text bytes.Buffer
	*tabwriter.Writer
}

func newPage(title string) *page {
	p := &page{}
	p.Writer = tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	p.line("%s", title)
	p.line("")
	return p
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) row(name, format string, args ...any) { p.line(name+"\t"+format, args...) }

// paragraph writes text after the columns.
func (p *page) paragraph(text string) {
	p.Flush() // writing to memory does not fail
	fmt.Fprintf(&p.text, "\n%s\n", text)
}

func (p *page) writeTo(w io.Writer) error {
	p.Flush()
	_, err := w.Write(p.text.Bytes())
	return err
}

var titles = map[Method]string{
	ClosedForm: "Plan by the closed form: Theorem simpleF, γ corrected",
	Printed:    "Plan by the closed form: Theorem simpleF, γ as the paper prints it: NOT a guarantee",
	Paper:      "Plan as the paper ran its calculator, γ after one update: NOT a guarantee",
	RDP:        "Plan by the RDP accountant",
	PLD:        "Plan by the PLD accountant",
}

// Verdict returns one sentence that says whether a run meets the budget, and which ε it costs a record. If p.Tight is
// set, the sentence also has the ε that the accountant given to [Plan.Tighten] certifies.
func (p *Plan) Verdict() string {
	target := p.budget()
	switch {
	case !p.Feasible && target == 0:
		return fmt.Sprintf("Not feasible: the method %s gives no ε for this request.", p.Method)
	case !p.Feasible:
		return fmt.Sprintf("Not feasible: no run costs at most ε = %s at δ = %s by the method %s.",
			down(target, 5), up(p.Delta, 5), p.Method)
	}
	var costs []string
	if tight := p.Certified(); tight != nil && p.Method != PLD {
		costs = append(costs, fmt.Sprintf("ε ≤ %s (certified by %s)", up(tight.EpsilonUpper, 5), tight.Accountant))
	}
	switch p.Method.kind() {
	case dp.Approximation:
		costs = append(costs, fmt.Sprintf("by the method %s no ε that is guaranteed", p.Method))
	case dp.Interval:
		costs = append(costs, fmt.Sprintf("ε ≤ %s (certified by %s)", up(p.Epsilon, 5), p.Method))
	default:
		costs = append(costs, fmt.Sprintf("ε ≤ %s (%s)", up(p.Epsilon, 5), p.Method))
	}
	return fmt.Sprintf("Feasible: %s with σ = %s cost%s %s %s at δ = %s.", p.planned(), up(p.Sigma, digits),
		message.When(p.Run.Rounds == 1, "s"), claim.Whom(p.Events()...), strings.Join(costs, ", "), up(p.Delta, 5))
}

// planned describes the rounds of the plan's run.
func (p *Plan) planned() string {
	if p.Sampling == dp.Allocation {
		e := p.event(p.Sigma, p.Run.SampleSize, p.Run.Rounds)
		return fmt.Sprintf("%s in %s of t = %d batches", rounds(p.Run.Rounds), decimal.Many(e.Epochs(), "epoch"),
			p.batches)
	}
	return fmt.Sprintf("%s of s = %d%s", rounds(p.Run.Rounds), p.Run.SampleSize, p.mean())
}

func rounds(n int) string { return decimal.Many(n, "round") }

func computations(n int) string { return decimal.Many(n, "gradient computation") }

// Certified returns the bound on ε that the accountant given to [Plan.Tighten], usually pld.Accountant, computed for
// the plan's run under the plan's adjacency. It returns nil if Tighten was not called or gave no answer.
func (p *Plan) Certified() *dp.Bound {
	if p.Tight == nil {
		return nil
	}
	var run *dp.Bound
	switch p.Adjacency {
	case dp.AddOrRemove:
		run = p.Tight.AddOrRemove.Run
	case dp.ReplaceOne:
		run = p.Tight.ReplaceOne.Run
	}
	if run == nil || math.IsInf(run.EpsilonUpper, 1) {
		return nil
	}
	return run
}

// WriteText writes the plan as text for people: the verdict, the budget, the noise, the rounds and sizes, the
// conditions of the paper's theorem, what the accountant given to [Plan.Tighten] allows (if p.Tight is set), and the
// privacy statement. ε and σ are rounded up.
func (p *Plan) WriteText(w io.Writer) error {
	if err := p.made(); err != nil {
		return err
	}
	t := newPage(p.Verdict() + "\n\n" + titles[p.Method])
	t.row("data", "N = %d%s%s", p.N, message.When(p.Epochs > 0, ", k = %.6g epochs", p.Epochs),
		message.When(p.Theta > 1, ", θ = %g", p.Theta))
	budget, epsilon := "δ = "+up(p.Delta, 5), up(p.Epsilon, 5)
	switch allowed := down(p.TargetEpsilon, 5); {
	case number(allowed) > number(epsilon) && p.Feasible:
		budget = fmt.Sprintf("ε = %s, of which the run uses %s; %s", allowed, epsilon, budget)
	case p.Epsilon > 0 || p.Feasible:
		budget = fmt.Sprintf("ε = %s, %s", epsilon, budget)
	}
	t.row("budget", "%s", budget)
	if p.Sigma > 0 {
		t.row("noise", "σ = %s", up(p.Sigma, digits))
	}
	p.writeLimits(t)
	p.writeRun(t)
	p.writeSignal(t)
	p.writeOtherAdjacency(t)
	p.writeConditions(t)
	if p.Tight != nil && p.Method != PLD {
		p.Tight.write(t)
	}
	t.paragraph(p.line())
	return t.writeTo(w)
}

// line is the privacy statement on one line.
func (p *Plan) line() string {
	if !p.Feasible {
		return p.Statement()
	}
	return claim.Line(*p.PerRecord, p.Events()...) + full
}

// full is the sentence, after a shortened statement, that says how to print the whole one.
const full = " --statement prints the statement in full."

func (p *Plan) mean() string { return message.When(p.Theta > 1, ", mean") }

// asks is the formula of each condition that may determine the sample size of a closed form.
var asks = map[string]string{"treq1": "s ≤ g(σ)N/θ", "treq3": "T ≥ γθ²k²/ε"}

// writeLimits writes the theorem's γ, its least number of rounds and its largest sample size, if
// the plan's method has them.
func (p *Plan) writeLimits(t *page) {
	if p.Gamma == nil {
		return
	}
	t.row("γ", "%s (as the paper prints it %s)", up(*p.Gamma, 6), up(*p.GammaPrinted, 6))
	switch {
	case p.Run != nil: // the run shows its own T
	case *p.TMinReal > maxCount:
		t.row("rounds", "at least T = %s", up(*p.TMinReal, 6))
	default:
		t.row("rounds", "at least T = %d (%s) for k = %.6g", p.TMin, up(*p.TMinReal, 6), p.Epochs)
	}
	t.row("sample size", "at most s = %d (%s)%s, set by %s (%s)", p.SMax, down(*p.SMaxReal, 6), p.mean(),
		asks[p.Binding], p.Binding)
	asym := fmt.Sprintf("T = %d", *p.TMinAsym)
	if *p.TMinAsym == maxCount {
		asym = "T ≥ 2^53"
	}
	t.row("as the paper prints", "%s, s = %d at θ²k²/(2ε): not a bound, no guarantee", asym, *p.SMaxAsym)
}

func (p *Plan) writeRun(t *page) {
	r := p.Run
	if r == nil {
		t.row("run", "none: %s", p.Reason)
		return
	}
	if p.Sampling == dp.Allocation {
		t.row("run", "%s, each of N/t = %.6g records on average", p.planned(), float64(p.N)/float64(p.batches))
	} else {
		t.row("run", "%s, rate %s: %s%s", p.planned(), down(r.SampleRate, 6), computations(r.Computations),
			leftOver(r, epochsCount(p.Epochs, p.N)))
	}
	if p.hasLowerEnd() && p.copies() == 1 {
		t.row("cost", "%s", claim.Short(p.PerRecord))
	}
	if p.Theta > 1 {
		t.row("", "a round may sample up to θs = %d", r.MaxSampleSize)
	}
	if p.copies() > 1 {
		t.row("per client", "%s, %s", claim.Short(p.PerClient), rounds(r.Rounds))
		unit := "per record"
		if p.Group > 0 {
			unit = "per person"
		}
		t.row(unit, "%s, held by %d clients: %s", claim.Short(p.PerRecord), p.Clients, rounds(p.Clients*r.Rounds))
	}
}

// leftOver returns a text about how many gradient computations whole rounds leave out of K, or
// compute beyond K.
func leftOver(r *Run, k int) string {
	switch {
	case r.Remainder > 0:
		return fmt.Sprintf(", %d left over", r.Remainder)
	case r.Computations > k:
		return fmt.Sprintf(", %d more than the epochs", r.Computations-k)
	}
	return ""
}

// writeSignal writes the fraction of the full-batch signal that the batch size keeps, the
// recommended batch size, and the noise and size of the theorem.
func (p *Plan) writeSignal(t *page) {
	if p.Signal != nil {
		t.row("signal", "%s of the full-batch signal s√T/σ at this ε", share(*p.Signal))
	}
	if b := p.Recommended; b != nil && p.Run != nil {
		if b.SampleSize == p.Run.SampleSize {
			t.row("batch size", "s = %d is recommended: %s", b.SampleSize, b.Reason)
		} else {
			t.row("batch size", "recommended: s = %d%s, T = %d, σ = %s, %s of the signal: %s", b.SampleSize,
				message.When(b.Batches != 0, " (t = %d)", b.Batches),
				b.Rounds, up(*b.Sigma, digits), share(*b.Signal), b.Reason)
		}
	}
	if p.Method.isClosedForm() || !p.hasTheorem() {
		return
	}
	switch th := p.Theorem; {
	case th == nil:
		t.row("the paper", "its theorem has no answer to this (--method closed-form)")
	case th.Epsilon != nil:
		t.row("the paper", "ε ≤ %s for this run by its theorem (--method closed-form)", up(*th.Epsilon, 5))
	default:
		t.row("the paper", "its theorem would need σ = %s and s at most %d; this plan needs neither (--method closed-form)", up(*th.Sigma, digits), *th.SMax)
	}
}

// writeOtherAdjacency writes what the run of a plan by pld costs under the adjacency that the plan does not
// have, and the σ that keeps the budget there. Plans by other methods have a table with both adjacencies.
func (p *Plan) writeOtherAdjacency(t *page) {
	if p.Tight == nil || p.Method != PLD {
		return
	}
	adjacency, other := dp.ReplaceOne, p.Tight.ReplaceOne
	if p.Adjacency == dp.ReplaceOne {
		adjacency, other = dp.AddOrRemove, p.Tight.AddOrRemove
	}
	switch {
	case other.Reason != "":
		t.row(string(adjacency), "no answer: %s", other.Reason)
	case other.Run != nil && other.LeastNoise != nil:
		t.row(string(adjacency), "ε ≤ %s for this run; ε = %s needs σ = %s", up(other.Run.EpsilonUpper, 5),
			down(p.budget(), 5), up(other.LeastNoise.Sigma, digits))
	case other.Run != nil:
		t.row(string(adjacency), "ε ≤ %s for this run", up(other.Run.EpsilonUpper, 5))
	}
}

// share formats a fraction of the full-batch signal as a percentage.
func share(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

// orDash formats a value, or returns "-" if it does not exist.
func orDash(v *float64, format func(float64) string) string {
	if v == nil {
		return "-"
	}
	return format(*v)
}

// WriteBatches writes a table for people of the trainings that [Compare] returned as rows, one line for each batch
// size. The columns are the number of rounds, the least noise multiplier σ, the signal (the size of the summed
// gradients compared with the noise, as a percentage of that of full batches, see [Batch]), the numbers of gradients
// and of messages, and the bytes of all messages for each parameter of the model. For a size without a σ, the line
// gives the reason.
func WriteBatches(w io.Writer, rows []Batch) error {
	t := &page{}
	t.Writer = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	allocated := slices.ContainsFunc(rows, func(b Batch) bool { return b.Batches != 0 })
	of := "" // the column of batches
	if allocated {
		of = "t\t"
	}
	t.line("s\t%sT\tσ\tsignal\tgradients\tmessages\tbytes per parameter", of)
	for _, b := range rows {
		if b.Sigma == nil {
			t.line("%d\tnone: %s", b.SampleSize, b.Reason)
			continue
		}
		if allocated {
			of = fmt.Sprintf("%d\t", b.Batches)
		}
		t.line("%d\t%s%d\t%s\t%s\t%d\t%d\t%d", b.SampleSize, of, b.Rounds, up(*b.Sigma, digits), orDash(b.Signal, share),
			b.Computations, b.Messages, b.Bytes)
	}
	return t.writeTo(w)
}

func (p *Plan) writeConditions(t *page) {
	if len(p.Conditions) == 0 {
		return
	}
	t.line("")
	t.line("theorem\tcondition\tstatus\tmargin")
	beyond := false // whether Main fails
	for _, c := range p.Conditions {
		met := "met"
		if !c.Met {
			met = "not met"
		}
		t.line("%s\t%s\t%s\t%s", c.Theorem, c.Name, met, slack(c.Margin))
		beyond = beyond || c.Theorem == closedform.Main && !c.Met
	}
	if p.Feasible && beyond {
		t.line("The plan rests on simpleF. The simpler theorem Main need not hold.")
	}
}

// slack formats a margin as a percentage, rounded down.
func slack(margin float64) string {
	percent := 100 * margin
	if percent < 0 {
		return "-" + decimal.FixedUp(-percent, 2) + " %"
	}
	return "+" + decimal.FixedDown(percent, 2) + " %"
}

// Statement returns the privacy statement to publish with the plan's ε for a record. It says what is released, whom ε
// protects and what it does not cover (see claim.Statement). Without a run it says that there is no guarantee.
func (p *Plan) Statement() string {
	if !p.Feasible {
		return fmt.Sprintf("No guarantee: the plan is not feasible (%s).", p.Reason)
	}
	events := p.Events()
	if p.Sampling != dp.Allocation {
		events[0].SampleSize = p.Run.SampleSize // the mean
	}
	statement := "Privacy. " + claim.Statement(claim.PerRecord, *p.PerRecord, events...)
	if p.Theta > 1 {
		statement += fmt.Sprintf(" It holds for sample sizes with mean s = %d, none of which is above %d.",
			p.Run.SampleSize, p.Run.MaxSampleSize)
	}
	return statement
}

// Events returns the rounds of the plan's run that use a record, as events for an accountant. These are the rounds of
// all clients that hold the record. It returns nil if the plan has no run. If batch sizes vary (θ, the largest over
// the mean s, is above 1), every round counts at the largest size, min(⌊θs⌋, N). This costs at least as much as the
// real sizes.
func (p *Plan) Events() []dp.Event {
	if p.Run == nil {
		return nil
	}
	events, _ := p.events(p.Sigma, p.Run.SampleSize, p.Run.Rounds, p.copies()) // they were accounted for
	return events
}

func (t *Tight) write(p *page) {
	p.line("")
	p.line("accountant %s\tadd-or-remove\treplace-one", t.Accountant)
	a, r := t.AddOrRemove, t.ReplaceOne
	p.line("ε of the run\t%s\t%s", claim.Short(a.Run), claim.Short(r.Run))
	p.line("largest s, same σ and k\t%s\t%s", a.LargestSample, r.LargestSample)
	p.line("least σ, same s and T\t%s\t%s", a.LeastNoise, r.LeastNoise)
	for _, reason := range []string{a.Reason, r.Reason} {
		if reason != "" {
			p.line("no answer: %s", reason)
		}
	}
}

func (s *Setting) String() string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("s = %d, T = %d, σ = %s", s.SampleSize, s.Rounds, up(s.Sigma, digits))
}

// WriteText writes the calibrated rounds and their privacy statement to w, as text for people.
func (c *Calibration) WriteText(w io.Writer) error {
	if err := c.made(); err != nil {
		return err
	}
	title := fmt.Sprintf("%s for ε ≤ %s at δ = %s", c.answer(), decimal.Exactly(c.TargetEpsilon), up(c.Delta, 5))
	if end := c.atEnd(); end != "" {
		title = fmt.Sprintf("%s costs ε ≤ %s at δ = %s, and ε = %s is allowed", end, up(c.EpsilonUpper, 5), up(c.Delta, 5),
			decimal.Exactly(c.TargetEpsilon))
	}
	t := newPage(title)
	t.row("σ", "%s", up(c.Sigma, digits))
	t.row("q", "%s%s", down(c.SampleRate, digits),
		message.When(c.DatasetSize != 0, ", s = %d of N = %d", c.SampleSize, c.DatasetSize))
	t.row("T", "%d", c.Steps)
	b := c.Bound()
	t.row("cost", "%s at δ = %s", claim.Short(&b), up(c.Delta, 5))
	t.paragraph(claim.Line(c.Bound(), c.Event()) + full)
	return t.writeTo(w)
}

// atEnd returns the beginning of the first line if the answer is the end of the range that is searched, and not the
// limit of the budget. Otherwise it returns "".
func (c *Calibration) atEnd() string {
	switch q := quantity(c.SolvedFor); {
	case q == noise && c.EpsilonUpper < 0.9*c.TargetEpsilon:
		return fmt.Sprintf("σ = %s is the least noise multiplier that %s covers, and more noise than the budget needs: it", up(c.Sigma, digits),
			c.Accountant)
	case q == rate && c.SampleRate == 1 && c.EpsilonUpper < c.TargetEpsilon:
		return "Every sample rate is within the budget: q = 1"
	case q == size && c.SampleSize == c.DatasetSize && c.EpsilonUpper < c.TargetEpsilon:
		return fmt.Sprintf("Every batch size is within the budget: s = N = %d", c.SampleSize)
	case q == steps && c.Steps == maxSteps:
		return fmt.Sprintf("T = %d is the largest number of rounds that is searched: it", c.Steps)
	}
	return ""
}

// answer returns the beginning of the first line of the text: the quantity that was solved for, with its value.
func (c *Calibration) answer() string {
	switch quantity(c.SolvedFor) {
	case noise:
		return "The least noise multiplier is σ = " + up(c.Sigma, digits)
	case rate:
		return "The largest sample rate is q = " + down(c.SampleRate, digits)
	case size:
		return fmt.Sprintf("The largest batch size is s = %d", c.SampleSize)
	}
	return fmt.Sprintf("The most rounds are T = %d", c.Steps)
}

// Statement returns the privacy statement of the calibrated rounds, to publish with their ε.
func (c *Calibration) Statement() string {
	unit, of := claim.UnitOf(c.Event()), "all clients that hold the record"
	if unit == claim.PerClient {
		of = "one client; each other client that holds the record costs as much again"
	}
	return fmt.Sprintf("Privacy. %s T = %d counts the rounds of %s.", claim.Statement(unit, c.Bound(), c.Event()), c.Steps, of)
}

// For says whom the frontier's ε protects: "per record" or, for example, "for a person with up to 3 records".
func (f *Frontier) For() string { return claim.For(f.Group) }

// WriteText writes the rows as a table for people. A value that does not exist is "-".
func (f *Frontier) WriteText(w io.Writer) error {
	if err := f.made(); err != nil {
		return err
	}
	t := newPage(fmt.Sprintf("Least σ for ε = %s, δ = %s, %s: N = %d, k = %.6g epochs, θ = %g%s",
		decimal.Exactly(f.Epsilon), up(f.Delta, 5), f.For(), f.N, f.Epochs, f.Theta,
		message.When(f.Sampling == dp.Allocation, ", %s sampling, redraw = %s", f.Sampling, f.Redraw)))
	number := func(v *float64) string {
		return orDash(v, func(sigma float64) string { return up(sigma, digits) })
	}
	t.line("s\tT\trate\tclosed form, add-or-remove\t%s, add-or-remove\t%s, replace-one\tsignal\tgradients",
		f.Accountant, f.Accountant)
	for _, r := range f.Rows {
		t.line("%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d", r.SampleSize, r.Rounds, down(r.SampleRate, 6), number(r.ClosedForm),
			number(r.AddOrRemove), number(r.ReplaceOne), orDash(r.Signal, share), r.Computations)
	}
	return t.writeTo(w)
}

// WriteText writes the result as text for people: the plan of the next rounds, the ε of all rounds by the filter (the
// budget that limits them) and by other accountants, the batch sizes that were tried, and the privacy statement.
func (p *Next) WriteText(w io.Writer) error {
	if err := p.made(); err != nil {
		return err
	}
	how := "the " + p.Accountant + " accountant, all rounds fixed beforehand"
	if !p.FixedBeforehand {
		how = "a Rényi filter: rounds, and when to stop, may depend on results"
	}
	t := newPage("Next leg by " + how)
	t.row("data", "N = %d, k = %.6g epochs", p.N, p.Epochs)
	t.row("budget", "ε ≤ %s, δ = %s, past and next together", decimal.Exactly(p.TargetEpsilon), up(p.Delta, 5))
	p.writePast(t)
	t.row("noise", "σ = %s", up(p.Sigma, digits))
	if p.Noise.Known() {
		t.row("", "from %s, a new run%s", p.Noise, howToRun(p.Noise))
	}
	if r := p.Run; r != nil {
		t.row("run", "%s of s = %d: %s%s", rounds(r.Rounds), r.SampleSize, computations(r.Computations),
			leftOver(r, epochsCount(p.Epochs, p.N)))
		if n := holders(p.Clients, p.Shared); n > 1 {
			t.row("", "in each of %d clients that hold a record: %s", n, rounds(n*r.Rounds))
		}
		t.row("", "%s for all rounds", claim.Short(p.Bound))
		p.writeBeside(t)
	} else {
		t.row("run", "none: %s", p.Reason)
	}
	if p.Least != nil {
		t.row("least ε", "%s at s = %d, of the sizes below", up(*p.Least.EpsilonUpper, 5), p.Least.SampleSize)
	}
	t.line("")
	if p.Filter != nil {
		t.line("s\tT\tε needed of the filter")
	} else {
		t.line("s\tT\tε ≤")
	}
	for _, c := range p.Choices {
		t.line("%d\t%d\t%s", c.SampleSize, c.Rounds, orDash(c.EpsilonUpper, func(eps float64) string { return up(eps, 5) }))
	}
	t.paragraph(p.line())
	return t.writeTo(w)
}

// line is the privacy statement on one line.
func (p *Next) line() string {
	if !p.Feasible {
		return p.Statement()
	}
	return claim.Line(*p.Bound, p.release(p.Event())...) + full
}

func (p *Next) writePast(t *page) {
	t.row("past", "%s", claim.Rounds(p.past))
	if p.Past != nil {
		t.row("", "%s by %s if fixed beforehand; by the closed form %s", claim.Short(p.Past), p.Past.Accountant,
			closedText(p.ClosedForm.Past))
	} else {
		t.row("", "no ε if fixed beforehand; by the closed form %s", closedText(p.ClosedForm.Past))
	}
	if f := p.Filter; f != nil {
		fixed := "assumed to be fixed before the first release"
		if f.Recorded {
			fixed = "recorded before the first release"
		}
		t.row("filter", "order %s, %s: the past uses %s of it", claim.Orders(f.Orders), fixed, percent(f.Past))
	}
}

// writeBeside writes the fraction of the filter that all rounds use, and the costs of these rounds
// by other accountants.
func (p *Next) writeBeside(t *page) {
	closed := closedText(p.ClosedForm.All)
	if p.Filter == nil {
		t.row("", "by the closed form %s", closed)
		return
	}
	beside := closed + " by the closed form"
	if p.Composed != nil {
		beside = fmt.Sprintf("%s by %s, %s", claim.Short(p.Composed), p.Composed.Accountant, beside)
	}
	t.row("", "%s of the filter is used; if fixed beforehand %s", percent(*p.Filter.All), beside)
}

func closedText(eps *float64) string {
	if eps == nil {
		return "no ε"
	}
	return "ε ≤ " + up(*eps, 5)
}

// Statement returns the privacy statement of all rounds, past and next, to publish with their ε. If no next rounds
// are possible, it says that there is no guarantee.
func (p *Next) Statement() string {
	if !p.Feasible {
		return fmt.Sprintf("No guarantee: there is no next leg (%s).", p.Reason)
	}
	return claim.Noted("Privacy. "+p.statement(p.release(p.Event())), p.Notes)
}

func (p *Next) statement(all []dp.Event) string {
	if f := p.Filter; f != nil {
		return claim.AdaptiveStatement(claim.PerRecord, *p.Bound, f.Orders, f.Recorded, all...)
	}
	statement := claim.Statement(claim.PerRecord, *p.Bound, all...) +
		" This assumes, as you stated, that these rounds were fixed beforehand, " +
		"and that the next leg was fixed then, too."
	if p.Adaptive {
		statement += fmt.Sprintf(" With ε = %s and δ = %s fixed before the first release, these also hold if "+
			"legs, and when to stop, are chosen by earlier results: Σ q²/(1-q) ≤ ε/2 with all σ ≥ σ_eq(ε, δ) "+
			"and q ≤ 1/(eσ_eq) (Theorem thm1, corrected, as a Rényi filter).",
			decimal.Exactly(p.TargetEpsilon), up(p.Delta, 5))
	}
	return statement
}
