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
)

// shown is how many digits of ε and δ a text shows: rounded up, so that what is
// on paper is not below what is proved; from below, rounded down.
const shown = 5

func up(v float64) string   { return decimal.Up(v, shown) }
func down(v float64) string { return decimal.Down(v, shown) }

// Unit says whose privacy a statement is about.
type Unit string

// The units of privacy. They differ if several clients hold a record: the
// rounds of one of them, or of all.
const (
	PerRecord Unit = "one record, in all rounds of all clients that hold it"
	PerClient Unit = "one record of one client, in the rounds of that client only"
)

// Statement returns one paragraph that says all that the bound stands for, to
// be printed beside it: what is released, the unit of privacy, ε and δ,
// adjacency, sampling, the accountant, what it does not cover, and whose noise it
// is. The bound is that of the events, on ε or on δ. Both are shown rounded up. Without events
// the paragraph does not describe them; put them beside it.
//
// It takes rates, noise and rounds to be fixed beforehand, and says so; see
// [AdaptiveStatement] for those that were not.
func Statement(unit Unit, b dp.Bound, events ...dp.Event) string {
	return statement(unit, b, "Rates, noise and the number of rounds are taken to be "+
		"fixed before the first release: choosing them, or when to stop, by what was released is not included, "+
		"nor are choices made by looking at the data, such as C and step sizes.", events)
}

// AdaptiveStatement is [Statement] for rounds that were, or may have been, chosen
// by what was released before them, under a filter with the orders given that
// guarantees b. If the filter was not recorded before the first release, the
// paragraph says that this is assumed.
func AdaptiveStatement(unit Unit, b dp.Bound, orders []float64, recorded bool, events ...dp.Event) string {
	at := "order α = " + Orders(orders)
	if len(orders) > 1 {
		at = fmt.Sprintf("%d orders α = %s, each with its share of δ", len(orders), Orders(orders))
	}
	fixed := "are those recorded before the first release"
	if !recorded {
		fixed = "are assumed to have been fixed before the first release: there is no record of it"
	}
	return statement(unit, b, fmt.Sprintf("Rates, noise, C and when to stop may have been chosen by what was "+
		"released before: this is the whole budget of a Rényi filter at %s, and holds as a whole, however "+
		"little of it is spent. Its ε, δ and orders %s. Choices made by looking at the data are not included.",
		at, fixed), events)
}

// Noted adds to a statement what else the reports of its rounds say of their ε, if they
// say anything: that no accountant looks at.
func Noted(statement string, notes []string) string {
	if len(notes) == 0 {
		return statement
	}
	return statement + " Of these rounds it was reported: " + strings.Join(notes, "; ") + "."
}

// BudgetStatement is [Statement] for tasks that were chosen by what was released before
// them, under a closed-form budget that guarantees b.
func BudgetStatement(unit Unit, b dp.Bound, events ...dp.Event) string {
	return statement(unit, b, "Rates, noise, C and when to stop may have been chosen by what was released before: "+
		"this is the whole of a budget by Theorem thm1 in its corrected form, whose ε and δ were fixed before the "+
		"first release, and holds as a whole, however little of it is spent. Choices made by looking at the data are "+
		"not included.", events)
}

// Orders lists the orders of a filter.
func Orders(orders []float64) string {
	names := make([]string, len(orders))
	for i, alpha := range orders {
		names[i] = decimal.Exactly(alpha)
	}
	return strings.Join(names, ", ")
}

// statement is a paragraph that ends with what the parameters are taken to be.
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
			name, unit, b.Accountant, b.Adjacency, samplingName(b.Sampling))
	}
	s.WriteString("Released is the noised sum of clipped gradients of every round, " +
		"and with it every intermediate and the final model")
	if len(events) > 0 {
		s.WriteString(": " + Rounds(events))
	}
	fmt.Fprintf(&s, ". For %s, this is (ε, δ)-differentially private ", unit)
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
		shuffleSentence(b.Sampling), taken)
	return s.String() + deltaSentence(b, events) + noiseSentences(events)
}

// described is up to how many events are described each by itself.
const described = 3

// Rounds describes the events: each by itself if there are few, else all together.
// Rates are those of [Rate]; of many, the ends are rounded outwards. The events must be valid.
func Rounds(events []dp.Event) string {
	if len(events) > described {
		return summary(events)
	}
	parts := make([]string, len(events))
	for i, e := range events {
		if e.Sampling == dp.Shuffle {
			parts[i] = fmt.Sprintf("%s in %s of t = %d whole batches, with noise multiplier σ = %s",
				manyRounds(e.Count), decimal.Many(e.Epochs(), "epoch"), e.Batches(), decimal.Exactly(e.NoiseMultiplier))
		} else {
			parts[i] = fmt.Sprintf("%s with sample rate q = %s and noise multiplier σ = %s",
				manyRounds(e.Count), Rate(e), decimal.Exactly(e.NoiseMultiplier))
		}
		if e.DatasetSize != 0 {
			parts[i] += fmt.Sprintf(" (s = %d of N = %d)", e.SampleSize, e.DatasetSize)
		}
	}
	return strings.Join(parts, ", and ")
}

// Rate writes the sample rate of an event: as it was given, so that what is read is what was
// accounted for, or of s and N, which are to stand beside it, rounded up.
func Rate(e dp.Event) string {
	if e.Rate != 0 {
		return decimal.Exactly(e.Rate)
	}
	return decimal.Up(e.SampleRate(), 6)
}

func summary(events []dp.Event) string {
	count, q, sigma := 0, [2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}
	for _, e := range events {
		count = plus(count, e.Count)
		q = [2]float64{min(q[0], e.SampleRate()), max(q[1], e.SampleRate())}
		sigma = [2]float64{min(sigma[0], e.NoiseMultiplier), max(sigma[1], e.NoiseMultiplier)}
	}
	return fmt.Sprintf("%s with sample rates q from %s to %s and noise multipliers σ from %s to %s",
		manyRounds(count), decimal.Down(q[0], 6), decimal.Up(q[1], 6), decimal.Exactly(sigma[0]),
		decimal.Exactly(sigma[1]))
}

// samplingName is the name in a sentence of a sampling that [describable] accepts.
func samplingName(s dp.Sampling) string {
	switch s {
	case dp.Poisson:
		return "Poisson sampling"
	case dp.FixedSize:
		return "fixed-size sampling"
	case dp.Shuffle:
		return "shuffled batches"
	}
	return fmt.Sprintf("the unknown sampling %q", s)
}

// Shuffled must be printed with every ε of shuffled batches.
const Shuffled = "The rounds are those of one data loader, which has each record in at most one batch of an epoch. " +
	"Clients that shuffle by themselves each cost as much. No amplification by shuffling is counted, because " +
	"no proved bound would help. The ε of Poisson sampling does not hold for a data loader that shuffles."

func shuffleSentence(s dp.Sampling) string {
	if s != dp.Shuffle {
		return ""
	}
	return Shuffled + " "
}

// describable returns an error if the bound's sampling or adjacency is unknown or differs from that
// of the events, or if an event is invalid: a statement would then describe something else.
func describable(b dp.Bound, events []dp.Event) error {
	if _, err := dp.SchemeOf(b.Sampling, b.Adjacency); err != nil {
		return err
	}
	for i, e := range events {
		if err := e.Validate(); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if e.Sampling != b.Sampling || e.Adjacency != b.Adjacency {
			return fmt.Errorf("event %d: %s sampling under %s adjacency, must be that of the bound, %s under %s", i,
				e.Sampling, e.Adjacency, b.Sampling, b.Adjacency)
		}
	}
	return nil
}

// Short shows, in a table, an ε and what is known of it; "no ε" if b is nil.
func Short(b *dp.Bound) string {
	switch {
	case b == nil:
		return "no ε"
	case b.Kind == dp.Approximation:
		return fmt.Sprintf("ε about %s (no guarantee)", up(b.Epsilon))
	case math.IsInf(b.EpsilonUpper, 1):
		return fmt.Sprintf("ε ≥ %s (no upper end)", down(b.EpsilonLower))
	case b.EpsilonLower > 0:
		return fmt.Sprintf("ε in [%s, %s]", down(b.EpsilonLower), up(b.EpsilonUpper))
	}
	return fmt.Sprintf("ε ≤ %s", up(b.EpsilonUpper))
}

// WriteText writes the report for people to read, ε rounded to the safe side.
func (r Report) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "privacy         σ = %s, δ = %s, %s adjacency, %s sampling\n%s%s",
		decimal.Exactly(r.NoiseMultiplier), up(r.Delta), r.Adjacency, r.Sampling,
		r.text("per record", r.PerRecord, r.Certified.PerRecord), r.text("per client", r.PerClient,
			r.Certified.PerClient)+r.weakDeltaText()+r.sumText()+r.drawnText()+r.noiseText())
	return err
}

// weakDelta says what a δ of 1/N or more allows; it is no advice, though it is the
// paper's.
const weakDelta = "δ is not below 1/N, which is weak: so is it of a mechanism that publishes one of the N records " +
	"as it is"

func (r Report) sumText() string {
	if r.Sum == "" || r.NoiseMultiplier == 0 {
		return ""
	}
	return "  each sum      " + r.Sum + "\n"
}

func (r Report) drawnText() string {
	if r.Drawn == "" || r.NoiseMultiplier == 0 {
		return ""
	}
	return "  drawn         " + r.Drawn + "\n"
}

func (r Report) weakDeltaText() string {
	none := r.PerRecord.EpsilonUpper == nil && r.Certified.PerRecord.EpsilonUpper == nil
	if n := r.PerClient.DatasetSize; none || n == 0 || !atLeastInverse(r.Delta, n) {
		return ""
	}
	return "    WEAK        " + weakDelta + "\n"
}

// atLeastInverse reports whether δ is 1/n, to rounding, or more.
func atLeastInverse(delta float64, n int) bool { return delta*float64(n) > 1-1e-9 }

// WeakDelta reports whether a bound at δ is weak for one of the events, as δ is 1/N or
// more; δ that was solved for is what it is.
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

func (r Report) text(name string, closed View, certified Claim) string {
	return fmt.Sprintf("  %-14sN = %d, %s at mean sample rate %s\n    %-12s%s\n    %-12s%s\n",
		name, closed.DatasetSize, decimal.Many(closed.Rounds, "round"), up(closed.SampleRate),
		r.Accountant, sentence(nil, closed.EpsilonUpper, closed.Kind, closed.Reason),
		certified.Accountant, sentence(certified.EpsilonLower, certified.EpsilonUpper, certified.Kind,
			certified.Reason))
}

// kindNames are how kinds are called in a sentence.
var kindNames = map[dp.Kind]string{
	dp.Exact: "exact to rounding", dp.Interval: "a certified interval", dp.Upper: "an upper bound",
}

// sentence says what is known of ε; lower may be nil, and reason is why it is not
// more. In files of older programs it begins with the name of a package.
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
