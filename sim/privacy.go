package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"proactivedp/data"
	"proactivedp/dp"
)

// Statement is what a run guarantees to a record, as claimed by one accountant
// for the releases of one client, or of all that hold the record.
type Statement struct {
	// The three ε are those of a dp.Bound. All are nil where the accountant proves no
	// upper end; Reason says why. Where they are those of a release that costs at
	// least as much, Kind is dp.Upper and Reason says of which.
	EpsilonLower *float64     `json:"epsilon_lower"`
	Epsilon      *float64     `json:"epsilon"`
	EpsilonUpper *float64     `json:"epsilon_upper"`
	Delta        float64      `json:"delta"`
	Kind         dp.Kind      `json:"kind,omitempty"`
	Accountant   string       `json:"accountant"`
	Adjacency    dp.Adjacency `json:"adjacency"`
	Sampling     dp.Sampling  `json:"sampling"`
	DatasetSize  int          `json:"dataset_size"` // N_c, the records of a client
	Rounds       int          `json:"rounds"`       // how many rounds are composed
	GradComps    int          `json:"grad_computations"`
	Reason       string       `json:"reason,omitempty"`
}

// Privacy is a run's guarantee in both views: for a record in the data of one
// client, whose T rounds it pays for, and for a record as it was really held. If
// clients share records, per_record composes all rounds of all of them.
type Privacy struct {
	PerClient Statement `json:"per_client"`
	PerRecord Statement `json:"per_record"`
}

// Account states the privacy of released ledgers, one a client, with records
// shared as the partition says.
func Account(acc dp.Accountant, ledgers []dp.Ledger, partition data.Partition, delta float64) Privacy {
	var kinds []history
	for i := range ledgers {
		events := ledgers[i].Events()
		if n := len(kinds); n > 0 && slices.Equal(kinds[n-1].events, events) {
			kinds[n-1].clients++
			continue
		}
		kinds = append(kinds, history{events, 1})
	}
	return account(acc, kinds, partition, delta)
}

// AccountPlanned states the privacy that a run of the configuration will have: if
// clients adapt their sample sizes, what it has at the most, as if every sample
// were the largest allowed.
func (c *Config) AccountPlanned(acc dp.Accountant, delta float64) Privacy {
	rounds := c.Run().Rounds
	if c.Adapt == 0 {
		return account(acc, []history{{c.Mechanism.Events(rounds), c.Clients()}}, c.Partition, delta)
	}
	var largest dp.Ledger
	for i := range rounds {
		largest.Record(c.Mechanism.EventOf(c.Adapt.largest(c.Mechanism.Sizes.At(i), c.Mechanism.DatasetSize)))
	}
	p := account(acc, []history{{largest.Events(), c.Clients()}}, c.Partition, delta)
	why := fmt.Sprintf("of the largest samples that clients may draw, %v times the nominal", float64(c.Adapt))
	return Privacy{PerClient: p.PerClient.atMost(why), PerRecord: p.PerRecord.atMost(why)}
}

// atMost turns the statement on a release into one on every release that it
// dominates.
func (s Statement) atMost(why string) Statement {
	if s.EpsilonUpper != nil {
		zero, upper := 0.0, *s.EpsilonUpper
		s.EpsilonLower, s.Epsilon, s.Kind, s.Reason = &zero, &upper, dp.Upper, why
	}
	return s
}

// history is what each of a number of clients released.
type history struct {
	events  []dp.Event
	clients int
}

func account(acc dp.Accountant, kinds []history, partition data.Partition, delta float64) Privacy {
	if len(kinds) > 1 {
		kinds = distinct(kinds)
	}
	worst := worstOf(acc, kinds, delta)
	if partition.Disjoint() {
		return Privacy{PerClient: worst, PerRecord: worst}
	}
	// Composition does not depend on the order of the rounds.
	var all []dp.Event
	for _, r := range kinds {
		for _, e := range r.events {
			e.Count *= r.clients
			all = append(all, e)
		}
	}
	return Privacy{PerClient: worst, PerRecord: state(acc, all, delta)}
}

// maxAccounted is how many different clients are accounted one by one.
const maxAccounted = 16

// worstOf returns the statement of the client that pays most, or of a release that
// costs as much as any client's.
func worstOf(acc dp.Accountant, kinds []history, delta float64) Statement {
	if len(kinds) > maxAccounted {
		if events, ok := envelope(kinds); ok {
			why := fmt.Sprintf("of as many rounds as a client's, the j-th largest sample of which is the largest j-th of %d different clients", len(kinds))
			return state(acc, events, delta).atMost(why)
		}
	}
	var worst Statement
	for i, r := range kinds {
		if s := state(acc, r.events, delta); i == 0 || s.worseThan(worst) {
			worst = s
		}
	}
	return worst
}

func (s Statement) worseThan(o Statement) bool {
	if s.EpsilonUpper == nil || o.EpsilonUpper == nil {
		return s.EpsilonUpper == nil && o.EpsilonUpper != nil
	}
	return *s.EpsilonUpper > *o.EpsilonUpper
}

func state(acc dp.Accountant, events []dp.Event, delta float64) Statement {
	s := Statement{Delta: delta, Accountant: acc.Name()}
	for _, e := range events {
		s.Adjacency, s.Sampling, s.DatasetSize = e.Adjacency, e.Sampling, e.DatasetSize
		s.Rounds += e.Count
		s.GradComps += e.Count * e.SampleSize
	}
	switch b, err := acc.Epsilon(context.Background(), events, delta); {
	case err != nil:
		s.Reason = reason(err)
	case math.IsInf(b.EpsilonUpper, 1):
		s.Reason = fmt.Sprintf("%s: no upper end is proved, ε is at least %v", acc.Name(), b.EpsilonLower)
	default:
		s.EpsilonLower, s.Epsilon, s.EpsilonUpper, s.Kind = &b.EpsilonLower, &b.Epsilon, &b.EpsilonUpper, b.Kind
	}
	return s
}

// reason returns the first problems of err, on one line: rounds that differ in size
// alone repeat them.
func reason(err error) string {
	const shown = 2
	problems := strings.Split(err.Error(), "\n")
	if more := len(problems) - shown; more > 0 {
		problems = append(problems[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "; ")
}
