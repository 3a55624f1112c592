package plan

import (
	"fmt"
	"math"
	"strings"

	"proactivedp/dp"
)

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
// adjacency, sampling, the accountant, and what it does not cover. The bound
// is that of the events, on ε or on δ. Both are shown rounded up.
func Statement(unit Unit, b dp.Bound, events ...dp.Event) string {
	var s strings.Builder
	name, lower, value, upper := "ε", b.EpsilonLower, b.Epsilon, b.EpsilonUpper
	given := "δ = " + up(b.Delta, 5)
	if b.DeltaLower != b.DeltaUpper {
		name, lower, value, upper = "δ", b.DeltaLower, b.Delta, b.DeltaUpper
		given = "ε = " + up(b.Epsilon, 5)
	}
	if math.IsInf(upper, 1) && b.Kind != dp.Approximation {
		return fmt.Sprintf("No %s can be stated for %s by the %s accountant, under %s adjacency with %s sampling.", name, unit, b.Accountant, b.Adjacency, samplingName(b.Sampling))
	}
	fmt.Fprintf(&s, "Released is the noised sum of clipped gradients of every round, and with it every intermediate and the final model: %s. ", rounds(events))
	fmt.Fprintf(&s, "For %s, this is (ε, δ)-differentially private ", unit)
	switch b.Kind {
	case dp.Exact:
		fmt.Fprintf(&s, "with %s = %s at %s (exact, by the %s accountant)", name, up(upper, 5), given, b.Accountant)
	case dp.Interval:
		fmt.Fprintf(&s, "with %s ≤ %s at %s (a certified upper bound, by the %s accountant; the smallest such %s is at least %s)", name, up(upper, 5), given, b.Accountant, name, down(lower, 5))
	case dp.Upper:
		fmt.Fprintf(&s, "with %s ≤ %s at %s (an upper bound, by the %s accountant)", name, up(upper, 5), given, b.Accountant)
	default:
		fmt.Fprintf(&s, "with %s of about %s at %s by %s, which is an APPROXIMATION that may be too small: it is not a guarantee", name, up(value, 5), given, b.Accountant)
	}
	fmt.Fprintf(&s, ", under %s adjacency with %s sampling. Rates, noise and the number of rounds are taken to be fixed before the first release: choosing them, or when to stop, by what was released is not included, nor are choices made by looking at the data, such as C and step sizes.", b.Adjacency, samplingName(b.Sampling))
	return s.String()
}

// described is up to how many events a statement has each described by itself.
const described = 3

// rounds describes the events.
func rounds(events []dp.Event) string {
	if len(events) > described {
		return summary(events)
	}
	parts := make([]string, len(events))
	for i, e := range events {
		parts[i] = fmt.Sprintf("%d rounds with sample rate q = %s and noise multiplier σ = %s", e.Count, up(e.SampleRate(), 6), shortest(e.NoiseMultiplier))
		if e.DatasetSize != 0 {
			parts[i] += fmt.Sprintf(" (s = %d of N = %d)", e.SampleSize, e.DatasetSize)
		}
	}
	return strings.Join(parts, ", and ")
}

func summary(events []dp.Event) string {
	count, q, sigma := 0, [2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}
	for _, e := range events {
		count += e.Count
		q = [2]float64{min(q[0], e.SampleRate()), max(q[1], e.SampleRate())}
		sigma = [2]float64{min(sigma[0], e.NoiseMultiplier), max(sigma[1], e.NoiseMultiplier)}
	}
	return fmt.Sprintf("%d rounds with sample rates q from %s to %s and noise multipliers σ from %s to %s", count, down(q[0], 6), up(q[1], 6), shortest(sigma[0]), shortest(sigma[1]))
}

func samplingName(s dp.Sampling) string {
	if s == dp.Poisson {
		return "Poisson"
	}
	return "fixed-size"
}
