package claim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/rng"
)

// shown is the number of digits of ε and δ in a text. Upper ends are rounded up and lower ends
// down, so that the text claims no more than is proved.
const shown = 5

func up(v float64) string   { return decimal.Up(v, shown) }
func down(v float64) string { return decimal.Down(v, shown) }

// Unit says which rounds the ε of a privacy statement counts: those of all clients that hold the record, or those of
// one client only.
type Unit string

// These are the values of [Unit]. Their ε differ if several clients hold a record. PerRecord then counts the rounds
// of all of them, and PerClient only those of one client.
const (
	PerRecord Unit = "one record, in all rounds of all clients that hold it"
	PerClient Unit = "one record of one client, in the rounds of that client only"
)

// Statement returns the paragraph to publish with a bound b, which is a bound on ε or on δ for the events. It says
// what is released, whom the bound protects, ε and δ, adjacency, sampling, the accountant, what is not covered, and
// where the noise comes from. unit says whether the events are the rounds of all clients that hold a record
// ([PerRecord]) or those of one client ([PerClient]). ε and δ are rounded up. If you pass no events, the paragraph
// does not describe the rounds, so describe them next to it.
//
// The paragraph says that rates, noise and the number of rounds were fixed beforehand. If some of them were chosen
// after seeing earlier results, use [AdaptiveStatement] or [BudgetStatement].
func Statement(unit Unit, b dp.Bound, events ...dp.Event) string {
	return statement(unit, b, "Rates, noise and the number of rounds are assumed to be "+
		"fixed before the first release: choosing them, or when to stop, from released results is not covered, "+
		"and neither are choices made by looking at the data, such as C and step sizes.", events)
}

// AdaptiveStatement returns the paragraph to publish, like [Statement], if rates, noise or the number of rounds may
// have been chosen after seeing earlier results. All rounds must have been allowed by an rdp.Filter, which keeps a
// budget that was fixed beforehand. b is the guarantee of the filter, and orders are its Rényi orders. unit says whether
// the events are the rounds of all clients that hold a record ([PerRecord]) or those of one client ([PerClient]).
// recorded says whether the budget and the orders were written down before the first release. If they were not, the
// paragraph says that they are assumed to have been fixed by then.
func AdaptiveStatement(unit Unit, b dp.Bound, orders []float64, recorded bool, events ...dp.Event) string {
	at := "order α = " + Orders(orders)
	if len(orders) > 1 {
		at = fmt.Sprintf("%d orders α = %s, each with its share of δ", len(orders), Orders(orders))
	}
	fixed := "are those recorded before the first release"
	if !recorded {
		fixed = "are assumed to have been fixed before the first release: there is no record of it"
	}
	return statement(unit, b, fmt.Sprintf("Rates, noise, C and when to stop may have been chosen from earlier "+
		"results. This ε is the whole budget of a Rényi filter at %s, and it holds "+
		"however little of it is spent. Its ε, δ and orders %s. Choices made by looking at the data are not covered.",
		at, fixed), events)
}

// Noted returns a privacy statement with notes added at its end. The notes are the warnings of the trainings that the
// statement covers, for example about data that its ε does not take into account.
func Noted(statement string, notes []string) string {
	if len(notes) == 0 {
		return statement
	}
	return statement + " The rounds' reports add: " + strings.Join(notes, "; ") + "."
}

// Line returns the short form of [Statement], one line for output: the bound, whom it protects, adjacency, sampling,
// the accountant, and where the noise comes from.
func Line(b dp.Bound, events ...dp.Event) string {
	if err := describable(b, events); err != nil {
		return "Privacy: no ε for a record: " + message.OneLine(err)
	}
	cost := Short(&b) + " at δ = " + up(b.Delta)
	if b.EpsilonLower >= 1e6 {
		return fmt.Sprintf("Privacy: none to speak of: ε of %s is above 1000000 at δ = %s (by %s).",
			ofWhom("a record", events), up(b.Delta), b.Accountant)
	}
	if b.DeltaLower != b.DeltaUpper {
		cost = fmt.Sprintf("δ ≤ %s at ε = %s", up(b.DeltaUpper), up(b.Epsilon))
		if b.Kind == dp.Approximation {
			cost = fmt.Sprintf("δ about %s at ε = %s (no guarantee)", up(b.Delta), up(b.Epsilon))
		}
	} else if (b.Kind == dp.Interval && b.Sampling != dp.Shuffle) || b.Kind == dp.Exact { // the ends of shuffled batches differ widely
		cost = fmt.Sprintf("ε ≤ %s at δ = %s", up(b.EpsilonUpper), up(b.Delta))
	}
	by := byAccountant(b.Kind, b.Accountant)
	if b.Kind == dp.Approximation {
		by = "approximation by " + b.Accountant
	}
	line := fmt.Sprintf("Privacy: %s for %s (%s), under %s adjacency with %s", cost, ofWhom("a record", events), by,
		b.Adjacency, samplingName(b.Sampling))
	if names, unnamed := dp.Names(events); len(names) == 0 {
		line += "; noise assumed to be independent"
	} else if line += noiseLine(names, slices.ContainsFunc(names, rng.Name.Simulated)); unnamed {
		line += "; other noise assumed to be independent"
	}
	if WeakDelta(b, events...) {
		most := 0
		for _, e := range events {
			most = max(most, e.DatasetSize)
		}
		line += weakLine(most)
	}
	return line + "." + strings.TrimSuffix(" "+drawSentence(b, events), " ")
}

// BudgetStatement returns the paragraph to publish, like [Statement], if rates, noise or the number of rounds may have
// been chosen after seeing earlier results. All rounds must have been counted by a closedform.Budget, which was fixed
// beforehand. b is the guarantee of the whole budget, even if the rounds have spent only a part of it. unit says whether
// the events are the rounds of all clients that hold a record ([PerRecord]) or those of one client ([PerClient]).
func BudgetStatement(unit Unit, b dp.Bound, events ...dp.Event) string {
	return statement(unit, b, "Rates, noise, C and when to stop may have been chosen from earlier results. "+
		"This ε is the whole of a budget by Theorem thm1 in its corrected form. Its ε and δ were fixed before the "+
		"first release, and they hold however little of it is spent. Choices made by looking at the data are "+
		"not covered.", events)
}

// Orders returns the Rényi orders of a filter (a privacy budget, see rdp.Filter) as text, separated by commas.
func Orders(orders []float64) string {
	names := make([]string, len(orders))
	for i, alpha := range orders {
		names[i] = decimal.Exactly(alpha)
	}
	return strings.Join(names, ", ")
}

// statement returns the paragraph for Statement and similar functions. It ends with taken, the
// assumptions about the parameters.
func statement(unit Unit, b dp.Bound, taken string, events []dp.Event) string {
	if err := describable(b, events); err != nil {
		return "No ε can be stated for " + string(unit) + ": " + message.OneLine(err) + "."
	}
	var s strings.Builder
	name, lower, value, upper := "ε", b.EpsilonLower, b.Epsilon, b.EpsilonUpper
	given := "δ = " + up(b.Delta)
	if b.DeltaLower != b.DeltaUpper {
		name, lower, value, upper = "δ", b.DeltaLower, b.Delta, b.DeltaUpper
		given = "ε = " + up(b.Epsilon)
	}
	if math.IsInf(upper, 1) && b.Kind != dp.Approximation {
		return fmt.Sprintf("No %s can be stated for %s by the %s accountant, under %s adjacency with %s.",
			name, ofWhom(string(unit), events), b.Accountant, b.Adjacency, samplingName(b.Sampling))
	}
	switch {
	case onlyOthers(b, events):
		unit = "one record"
		s.WriteString("This is about " + Rounds(events))
		taken = "Their noise and their number are assumed to be fixed before the first of them, and their sensitivities to be " +
			"as stated."
	default:
		s.WriteString("Every round releases the sum of clipped gradients with noise, " +
			"and with it every intermediate model and the final model")
		if len(events) > 0 {
			s.WriteString(": " + Rounds(events))
		}
	}
	fmt.Fprintf(&s, ". For %s, this is (ε, δ)-differentially private ", ofWhom(string(unit), events))
	switch b.Kind {
	case dp.Exact:
		fmt.Fprintf(&s, "with %s = %s at %s (exact, by the %s accountant)", name, up(upper), given, b.Accountant)
	case dp.Interval:
		fmt.Fprintf(&s, "with %s ≤ %s at %s (a certified upper bound, by the %s accountant; "+
			"the smallest such %s is at least %s)", name, up(upper), given, b.Accountant, name, down(lower))
	case dp.Upper:
		fmt.Fprintf(&s, "with %s ≤ %s at %s (an upper bound, by the %s accountant)", name, up(upper), given,
			b.Accountant)
	default:
		fmt.Fprintf(&s, "with %s of about %s at %s by %s, which is an APPROXIMATION that may be too small: "+
			"it is not a guarantee", name, up(value), given, b.Accountant)
	}
	fmt.Fprintf(&s, ", under %s adjacency with %s. %s%s", b.Adjacency, samplingName(b.Sampling),
		drawSentence(b, events), taken)
	return s.String() + deltaSentence(b, events) + noiseSentences(events)
}

// described is the largest number of events that are described one by one.
const described = 3

// Rounds describes events in words, for a privacy statement: number of rounds, rates and noise. Up to three events
// are described one by one. More events are described together, with the range of their rates and noise multipliers,
// rounded outwards. If no event has rounds of training, because all are other releases such as histograms, any number
// of events is described one by one. The events must be valid.
func Rounds(events []dp.Event) string {
	noun := "release"
	if slices.ContainsFunc(events, func(e dp.Event) bool { return e.Other == "" }) {
		if len(events) > described {
			return summary(events)
		}
		noun = "other release"
	}
	parts := make([]string, len(events))
	for i, e := range events {
		switch e.Sampling {
		case dp.Unsampled:
			parts[i] = other(e, noun)
		case dp.Shuffle, dp.Allocation:
			of := "whole batches"
			if e.Sampling == dp.Allocation {
				of = "batches"
			}
			parts[i] = fmt.Sprintf("%s in %s of t = %d %s%s, with noise multiplier σ = %s", manyRounds(e.Count),
				decimal.Many(e.Epochs(), "epoch"), e.Batches(), of, redrawn(e.Redraw),
				decimal.Exactly(e.NoiseMultiplier))
		default:
			parts[i] = fmt.Sprintf("%s with sample rate q = %s and noise multiplier σ = %s",
				manyRounds(e.Count), Rate(e), decimal.Exactly(e.NoiseMultiplier))
		}
		switch {
		case e.DatasetSize == 0:
		case e.Sampling == dp.Allocation || e.SampleSize == 0:
			parts[i] += fmt.Sprintf(" (N = %d)", e.DatasetSize)
		default:
			parts[i] += fmt.Sprintf(" (s = %d of N = %d)", e.SampleSize, e.DatasetSize)
		}
		if e.Truncated > 0 {
			parts[i] += fmt.Sprintf(", in batches of at most %s", decimal.Many(e.Truncated, "record"))
		}
	}
	return strings.Join(parts, ", and ")
}

// other describes releases that are not rounds of training; noun says what one of them is called.
func other(e dp.Event, noun string) string {
	of := ""
	switch e.Other {
	case dp.GaussianNoise:
		of = fmt.Sprintf("Gaussian noise of %s times its 2-norm sensitivity", decimal.Exactly(e.NoiseMultiplier))
	case dp.LaplaceNoise:
		of = fmt.Sprintf("Laplace noise of scale %s times its 1-norm sensitivity", decimal.Exactly(e.NoiseMultiplier))
	case dp.RandomizedResponse:
		of = fmt.Sprintf("randomized responses of ε = %s", decimal.Exactly(e.Epsilon))
	case dp.ConcentratedDP:
		of = fmt.Sprintf("ρ-zCDP, ρ = %s", decimal.Exactly(e.Rho))
	default:
		of = fmt.Sprintf("(ε, δ) = (%s, %s)", decimal.Exactly(e.Epsilon), decimal.Exactly(e.Delta))
	}
	return decimal.Many(e.Count, noun) + " with " + of
}

// redrawn says when batches are drawn anew.
func redrawn(r dp.Redraw) string {
	switch r {
	case dp.EachEpoch:
		return ", drawn anew in each epoch"
	case dp.Once:
		return ", drawn once and kept for all epochs"
	}
	return ""
}

// Rate returns the sample rate of an event as text. A rate that the event gives is written with all digits, so that
// readers see what was accounted for. A rate that follows from batch size s and N records is rounded up to six
// digits; print s and N next to it.
func Rate(e dp.Event) string {
	if e.Rate != 0 {
		return decimal.Exactly(e.Rate)
	}
	return decimal.Up(e.SampleRate(), 6)
}

func summary(events []dp.Event) string {
	count, q, sigma := 0, [2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}
	others := ""
	for _, e := range events {
		if e.Other != "" {
			others += ", and " + other(e, "other release")
			continue
		}
		count = plus(count, e.Count)
		q = [2]float64{min(q[0], e.SampleRate()), max(q[1], e.SampleRate())}
		sigma = [2]float64{min(sigma[0], e.NoiseMultiplier), max(sigma[1], e.NoiseMultiplier)}
	}
	return fmt.Sprintf("%s with sample rates q from %s to %s and noise multipliers σ from %s to %s",
		manyRounds(count), decimal.Down(q[0], 6), decimal.Up(q[1], 6), decimal.Exactly(sigma[0]),
		decimal.Exactly(sigma[1])) + others
}

// samplingName names a sampling that [describable] accepts, for use in a sentence.
func samplingName(s dp.Sampling) string {
	switch s {
	case dp.Poisson:
		return "Poisson sampling"
	case dp.FixedSize:
		return "fixed-size sampling"
	case dp.Shuffle:
		return "shuffled batches"
	case dp.Allocation:
		return "random allocation"
	case dp.Unsampled:
		return "no sampling"
	}
	return fmt.Sprintf("the unknown sampling %q", s)
}

// Shuffled is the note that must be printed with every ε of shuffled batches: it says what the upper end of ε
// assumes.
const Shuffled = "The rounds are those of one data loader, which uses each record in at most one batch of an epoch. " +
	"Clients that shuffle independently each cost as much. The upper end counts no amplification by shuffling, because " +
	"no proved bound would help. The ε of Poisson sampling does not hold for a data loader that shuffles."

// attacked explains the lower end of shuffled batches.
const attacked = "The lower end is an attack: there is a data set of whole batches, and a test, that shows it."

// allocated must be printed with every ε of allocation.
const allocated = "Every record must choose its batch on its own, uniformly at random, so a batch may be empty or large; " +
	"an empty one releases noise. Batches of equal size are shuffled batches, which cost more. The number of batches must " +
	"not depend on the records."

// cut must be printed with every ε of truncated batches.
const cut = "Larger batches are cut. This bound includes the probability of that, so N, the larger of the two numbers of " +
	"records, must be public."

// drawSentence says what must be known about how the batches were drawn.
func drawSentence(b dp.Bound, events []dp.Event) string {
	switch {
	case slices.ContainsFunc(events, func(e dp.Event) bool { return e.Truncated > 0 }):
		return cut + " "
	case b.Sampling == dp.Shuffle && b.Kind == dp.Interval:
		return Shuffled + " " + attacked + " "
	case b.Sampling == dp.Shuffle:
		return Shuffled + " "
	case b.Sampling == dp.Allocation:
		anew := func(e dp.Event) bool { return e.Redraw == dp.EachEpoch }
		events = slices.DeleteFunc(slices.Clone(events), func(e dp.Event) bool { return e.Other != "" })
		switch {
		case len(events) == 0:
			return allocated + " "
		case !slices.ContainsFunc(events, anew):
			return "Each record keeps its batch for all epochs. " + allocated + " "
		case slices.ContainsFunc(events, func(e dp.Event) bool { return !anew(e) }):
			return "Some rounds draw the batches anew in each epoch, others keep them. " + allocated + " "
		}
		return "Each epoch draws the batches anew. " + allocated + " "
	}
	return ""
}

// Whom returns a noun phrase for whom the ε of the events protects: "a record" or, if the first event has a Group such
// as 5, "a person with up to 5 records" (see dp.Event.Group).
func Whom(events ...dp.Event) string { return ofWhom("a record", events) }

// UnitOf returns the unit for rounds of which only the events are known. If the sampling has epochs
// (dp.Sampling.HasEpochs), one event counts the rounds of one client ([PerClient]): unfinished epochs of several
// clients do not add up, see dp.Times. Several events, or another sampling, count the rounds of all clients that hold
// the record ([PerRecord]).
func UnitOf(events ...dp.Event) Unit {
	if len(events) == 1 && events[0].Sampling.HasEpochs() {
		return PerClient
	}
	return PerRecord
}

// For returns text to write after an ε, which says whom it protects: "per record" or, if group is above 0, for example
// "for a person with up to 3 records". group is that of the events (dp.Event.Group) or of a [Report].
func For(group int) string {
	if group == 0 {
		return "per record"
	}
	return "for " + person(group, "")
}

// ofWhom replaces "record" in unit if the events are for persons with several records.
func ofWhom(unit string, events []dp.Event) string {
	if len(events) == 0 || events[0].Group == 0 {
		return unit
	}
	whom := person(events[0].Group, "")
	if rest, ok := strings.CutPrefix(unit, "one record"); ok {
		return whom + strings.ReplaceAll(rest, "hold it", "hold them")
	}
	return whom
}

// person names a person with up to group records, or returns record if group is 0.
func person(group int, record string) string {
	switch group {
	case 0:
		return record
	case 1:
		return "a person with one record"
	}
	return fmt.Sprintf("a person with up to %d records", group)
}

// onlyOthers reports whether the bound is about releases without a round of training.
func onlyOthers(b dp.Bound, events []dp.Event) bool {
	return b.Sampling == dp.Unsampled && len(events) > 0 &&
		!slices.ContainsFunc(events, func(e dp.Event) bool { return e.Other == "" })
}

// describable returns an error if the bound's sampling or adjacency is unknown or differs from that
// of the events, or if an event is invalid. A statement would then describe something else.
func describable(b dp.Bound, events []dp.Event) error {
	if _, err := dp.SchemeOf(b.Sampling, b.Adjacency); err != nil && !onlyOthers(b, events) {
		return err
	}
	for i, e := range events {
		if err := e.Validate(); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if e.Other != "" && e.Adjacency == b.Adjacency {
			continue
		}
		if e.Sampling != b.Sampling || e.Adjacency != b.Adjacency {
			return fmt.Errorf("event %d: %s sampling under %s adjacency, must be as in the bound, %s under %s", i,
				e.Sampling, e.Adjacency, b.Sampling, b.Adjacency)
		}
		if _, err := e.Scheme(); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if max(e.Group, 1) != max(events[0].Group, 1) {
			return fmt.Errorf("event %d: group = %d, must be %d as in event 0", i, e.Group, events[0].Group)
		}
	}
	return nil
}

// Short returns a bound on ε as a short text for a table, such as "ε in [0.98, 1.01]" or "ε ≤ 2". For nil, the text
// is "no ε".
func Short(b *dp.Bound) string {
	switch {
	case b == nil:
		return "no ε"
	case b.Kind == dp.Approximation:
		return fmt.Sprintf("ε about %s (no guarantee)", up(b.Epsilon))
	case math.IsInf(b.EpsilonUpper, 1):
		return fmt.Sprintf("ε ≥ %s (no upper bound)", down(b.EpsilonLower))
	case b.EpsilonLower > 0:
		return fmt.Sprintf("ε in [%s, %s]", down(b.EpsilonLower), up(b.EpsilonUpper))
	}
	return fmt.Sprintf("ε ≤ %s", up(b.EpsilonUpper))
}

// WriteText writes one line to w: the ε of a record that the report claims, with δ. It rounds ε and δ up. For the
// full text use WriteStatement.
func (r Report) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "privacy         %s\n", r.Line())
	return err
}

// Line returns one line about the ε of a record that the report claims: ε, δ, adjacency, sampling, the accountant,
// and whether the noise is that of a simulation.
func (r Report) Line() string {
	if r.EpsilonUpper == nil {
		if r.Reason == "" {
			return "no ε claimed for " + r.whom()
		}
		return fmt.Sprintf("no ε claimed for %s: %s", r.whom(), message.Of(errors.New(r.Reason)))
	}
	noise := ""
	if len(r.Noise) > 0 {
		noise = noiseLine(r.Noise, r.Simulation)
	}
	switch {
	case r.Drawn == "" || r.NoiseMultiplier == 0:
	case strings.HasPrefix(r.Drawn, "exactly"):
		noise += "; drawn exactly"
	default:
		noise += "; drawn in floating point, use --exact for a release"
	}
	if n := r.PerClient.DatasetSize; n > 0 && atLeastInverse(r.Delta, n) {
		noise += weakLine(n)
	}
	by := byAccountant(r.Kind, r.Accountant)
	if r.Reason != "" {
		by += " " + r.Reason
	}
	return fmt.Sprintf("ε ≤ %s at δ = %s for %s (%s), under %s adjacency with %s%s", up(*r.EpsilonUpper),
		up(r.Delta), r.whom(), by, r.Adjacency, samplingName(r.Sampling), noise)
}

// whom names the unit that the report protects.
func (r Report) whom() string { return person(r.Group, "a record") }

// personText says who the persons are.
func (r Report) personText() string {
	if r.Group == 0 {
		return ""
	}
	return fmt.Sprintf("  unit          %s: neighbours differ in all records of one person\n", r.whom())
}

// noiseLine returns text that names the roots of the noise and says whether the noise protects.
func noiseLine(names []rng.Name, simulated bool) string {
	if simulated {
		return "; noise from " + roots(names) + ": SIMULATION, anyone who knows the seed can subtract it"
	}
	return "; noise from " + roots(names)
}

// byAccountant returns text about who guarantees a bound, such as "certified by pld".
func byAccountant(kind dp.Kind, accountant string) string {
	if kind == dp.Interval || kind == dp.Exact {
		return "certified by " + accountant
	}
	return "upper bound by " + accountant
}

// WriteStatement writes the privacy statement of the report to w: its ε per record and per client by each
// accountant, the conditions under which they hold, how exactly the noise was drawn, and where it came from.
func (r Report) WriteStatement(w io.Writer) error {
	unit := "per record"
	if r.Group > 0 {
		unit = "per person"
	}
	_, err := fmt.Fprintf(w, "privacy         σ = %s, δ = %s, %s adjacency, %s sampling\n%s%s",
		decimal.Exactly(r.NoiseMultiplier), up(r.Delta), r.Adjacency, r.Sampling,
		r.text(unit, r.PerRecord, r.Closed().PerRecord, r.Certified.PerRecord), r.text("per client", r.PerClient,
			r.Closed().PerClient, r.Certified.PerClient)+r.personText()+r.weakDeltaText()+r.allocationText()+r.sumText()+r.drawnText()+r.noiseText())
	return err
}

// weakDelta explains a δ of 1/N or more. It is not advice against the paper, which uses δ = 1/N.
const weakDelta = "δ is not below 1/N, which is weak: a mechanism that publishes one random record unchanged " +
	"satisfies this δ too"

func (r Report) sumText() string {
	if r.Sum == "" || r.NoiseMultiplier == 0 {
		return ""
	}
	return "  each sum      " + r.Sum + "\n"
}

func (r Report) allocationText() string {
	if r.Sampling != dp.Allocation {
		return ""
	}
	return "  batches       " + allocated + "\n"
}

func (r Report) drawnText() string {
	if r.Drawn == "" || r.NoiseMultiplier == 0 {
		return ""
	}
	return "  drawn         " + r.Drawn + "\n"
}

// weakLine is the short form of weakDelta for n records, with a δ that is not weak.
func weakLine(n int) string {
	return fmt.Sprintf("; WEAK: δ is not below 1/N, %.0e or less is usual", dp.DefaultDelta(n))
}

func (r Report) weakDeltaText() string {
	none := r.EpsilonUpper == nil
	if n := r.PerClient.DatasetSize; none || n == 0 || !atLeastInverse(r.Delta, n) {
		return ""
	}
	return "    WEAK        " + weakDelta + "\n"
}

// atLeastInverse reports whether δ ≥ 1/n, up to rounding.
func atLeastInverse(delta float64, n int) bool { return delta*float64(n) > 1-1e-9 }

// WeakDelta reports whether the δ of a bound on ε is at least 1/N, for the number of records N of one of the events.
// Warn about such a δ: it does not rule out that one random record is published. For a bound on δ at a given ε,
// WeakDelta returns false.
func WeakDelta(b dp.Bound, events ...dp.Event) bool {
	return slices.ContainsFunc(events, func(e dp.Event) bool {
		return b.DeltaLower == b.DeltaUpper && e.DatasetSize > 0 && atLeastInverse(b.Delta, e.DatasetSize)
	})
}

func deltaSentence(b dp.Bound, events []dp.Event) string {
	if WeakDelta(b, events...) {
		return " The " + weakDelta + "."
	}
	return ""
}

func (r Report) text(name string, view, closed View, certified Claim) string {
	text := fmt.Sprintf("  %-14sN = %d, %s at mean sample rate %s\n", name, view.DatasetSize,
		decimal.Many(view.Rounds, "round"), up(view.SampleRate))
	if by := r.Closed().Accountant; by != "" {
		text += fmt.Sprintf("    %-12s%s\n", by, sentence(nil, closed.EpsilonUpper, closed.Kind, closed.Reason))
	}
	return text + fmt.Sprintf("    %-12s%s\n", certified.Accountant, sentence(certified.EpsilonLower,
		certified.EpsilonUpper, certified.Kind, certified.Reason))
}

// kindNames has the names of the kinds for use in a sentence.
var kindNames = map[dp.Kind]string{
	dp.Exact: "exact to rounding", dp.Interval: "a certified interval", dp.Upper: "an upper bound",
}

// sentence returns the sentence about the bounds of ε. lower may be nil. reason says why no ε is
// claimed, or why the bound is not better. Files of older programs begin it with the name of a
// package, which message.Of removes.
func sentence(lower, upper *float64, kind dp.Kind, reason string) string {
	if upper == nil {
		return "no ε claimed: " + message.Of(errors.New(reason))
	}
	text := fmt.Sprintf("ε ≤ %s, %s", up(*upper), kindNames[kind])
	if reason != "" {
		text += " " + reason
	}
	if lower != nil && *lower > 0 {
		text = down(*lower) + " ≤ " + text
	}
	return text
}
