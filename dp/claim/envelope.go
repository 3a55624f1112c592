package claim

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"proactivedp/dp"
)

// distinct removes repeated histories. In each history it counts equal rounds together and sorts
// them, largest samples first.
func distinct(kinds []history) []history {
	var out []history
	at := map[string]int{}
	for _, r := range kinds {
		events := sorted(r.events)
		key := fmt.Sprint(events)
		if i, seen := at[key]; seen {
			out[i].clients += r.clients
			continue
		}
		at[key] = len(out)
		out = append(out, history{events, r.clients})
	}
	return out
}

// sorted returns the events by decreasing sample size and merges equal ones.
func sorted(events []dp.Event) []dp.Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b dp.Event) int { return cmp.Compare(b.SampleSize, a.SampleSize) })
	var l dp.Ledger
	for _, e := range events {
		l.Record(e)
	}
	return l.Events()
}

// envelope returns a history that costs at least as much as each of the given histories: its j-th round has the largest
// sample rate of their j-th rounds. If the events are sorted, the bound is tighter. It returns false if the histories
// differ in more than sample sizes and numbers of records, or if their rates differ and they are for persons with
// several records: the argument below is for one record.
//
// This holds for the dominating pairs of the rounds, which accountants compose. It does not hold
// for the mechanisms, because a sum over a smaller sample is no function of a sum over a larger
// one. The pair of Poisson sampling at rate q is (1-q)N(0,σ²) + qN(1,σ²) against N(0,σ²), or
// against (1-q)N(0,σ²) + qN(-1,σ²) if a record is replaced. Post-processing turns the pair at a
// larger rate into either pair at a smaller rate: it replaces a part of the outputs by draws from
// N(0,σ²). For fixed-size samples, the trade-off function falls with the rate. Composition
// preserves this order of pairs, whatever the order of the rounds. So a bound for the larger pairs
// is also a bound for every adaptive composition of the mechanisms with the smaller ones (Zhu,
// Dong, Wang, "Optimal accounting of differential privacy via characteristic function", 2022).
func envelope(kinds []history) ([]dp.Event, bool) {
	most := kinds[0].events
	for _, r := range kinds[1:] {
		var merged dp.Ledger
		a, b := slices.Clone(most), slices.Clone(r.events)
		for len(a) > 0 && len(b) > 0 {
			count := min(a[0].Count, b[0].Count)
			more, ok := larger(a[0], b[0])
			if !ok {
				return nil, false
			}
			more.Count = count
			merged.Record(more)
			a, b = drop(a, count), drop(b, count)
		}
		for _, e := range slices.Concat(a, b) { // the remaining events of the longer list
			merged.Record(e)
		}
		most = merged.Events()
	}
	return most, true
}

// larger returns the event with the larger sample rate, and whether envelope covers both.
func larger(a, b dp.Event) (more dp.Event, ok bool) {
	like := a
	if a.Rate == 0 && a.Truncated == 0 { // the number of records counts only through the rate
		like.DatasetSize = b.DatasetSize
	}
	hi, lo := bits.Mul64(uint64(a.SampleSize), uint64(b.DatasetSize))
	hiB, loB := bits.Mul64(uint64(b.SampleSize), uint64(a.DatasetSize))
	if more = a; hi < hiB || hi == hiB && lo < loB {
		more = b
	}
	return more, like.Alike(b) && (a.Group <= 1 || hi == hiB && lo == loB)
}

// drop removes the given number of rounds, at most those of the first event, from the front.
func drop(events []dp.Event, count int) []dp.Event {
	if events[0].Count -= count; events[0].Count == 0 {
		return events[1:]
	}
	return events
}
