// Package claim turns what accountants prove into what may be said: who is
// protected (a record in all rounds that use it, or in those of one client
// only), by which ε at which δ, under which adjacency and sampling, by whose
// proof, and whether the ε is exact, an interval, an upper bound or an
// approximation without a guarantee. An ε without these means nothing, so this is
// the one place where they are put together, as JSON and as text.
//
// To begin: [Of] claims an ε for the rounds of one client, [OfClients] and
// [OfLedgers] for a training of several, planned or done. [NewReport] sets the
// paper's closed form beside a certified accountant, and [Statement] is the
// paragraph that goes into a paper with the number.
package claim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/message"
)

// Claim is what a release guarantees to a record, as claimed by one accountant.
type Claim struct {
	// The three ε are those of a dp.Bound. All are nil where the accountant proves no
	// upper end; Reason says why. Where they are those of a release that costs at
	// least as much, Kind is dp.Upper and Reason says of which.
	EpsilonLower *float64     `json:"epsilon_lower"`
	Epsilon      *float64     `json:"epsilon"`
	EpsilonUpper *float64     `json:"epsilon_upper"`
	Delta        float64      `json:"delta"`
	Kind         dp.Kind      `json:"kind,omitempty"` // absent where no ε is claimed
	Accountant   string       `json:"accountant"`
	Adjacency    dp.Adjacency `json:"adjacency"`
	Sampling     dp.Sampling  `json:"sampling"`
	DatasetSize  int          `json:"dataset_size"`      // N_c, the records of a client
	Rounds       int          `json:"rounds"`            // how many rounds are composed; 2^63-1 may be more
	GradComps    int          `json:"grad_computations"` // what they compute, as expected
	Reason       string       `json:"reason,omitempty"`
}

// Of claims for the composition of the events, at δ in (0, 1), what acc proves.
// That it proves nothing is a claim too, without an ε and with a Reason. The error is
// context.Cause(ctx), soon after ctx is done, wraps dp.ErrSharedNoise where the
// events are of two releases with one noise, of which nothing can be claimed, or says
// what is invalid in the events or in δ.
func Of(ctx context.Context, acc dp.Accountant, events []dp.Event, delta float64) (Claim, error) {
	if _, err := dp.Compose(events); err != nil {
		return Claim{}, err
	}
	c := Claim{Delta: delta, Accountant: acc.Name()}
	for i, e := range events {
		if err := e.Validate(); err != nil {
			return Claim{}, fmt.Errorf("event %d: %w", i, err)
		}
		c.Adjacency, c.Sampling, c.DatasetSize = e.Adjacency, e.Sampling, e.DatasetSize
		c.Rounds = plus(c.Rounds, e.Count)
		c.GradComps = plus(c.GradComps, times(e.Count, e.SampleSize))
	}
	b, err := acc.Epsilon(ctx, events, delta)
	if cause := context.Cause(ctx); cause != nil {
		return Claim{}, cause
	}
	switch {
	case err != nil && !errors.Is(err, dp.ErrNotCovered):
		return Claim{}, err
	case err != nil:
		c.Reason = reason(err)
	case math.IsInf(b.EpsilonUpper, 1):
		c.Reason = fmt.Sprintf("no upper end is proved, ε is at least %v", b.EpsilonLower)
	default:
		c.EpsilonLower, c.Epsilon, c.EpsilonUpper, c.Kind = &b.EpsilonLower, &b.Epsilon, &b.EpsilonUpper, b.Kind
	}
	return c, nil
}

// AtMost turns the claim on a release into one on every release that it
// dominates: only the upper end remains, and Reason says why.
func (c Claim) AtMost(why string) Claim {
	if c.EpsilonUpper != nil {
		zero, upper := 0.0, *c.EpsilonUpper
		c.EpsilonLower, c.Epsilon, c.Kind, c.Reason = &zero, &upper, dp.Upper, why
	}
	return c
}

// Least returns c with the ε of o if that promises more. Both must be claims on what c
// is about.
func (c Claim) Least(o Claim) Claim {
	if c.worseThan(o) {
		c.EpsilonLower, c.Epsilon, c.EpsilonUpper, c.Kind, c.Reason = o.EpsilonLower, o.Epsilon, o.EpsilonUpper, o.Kind,
			o.Reason
	}
	return c
}

// worseThan reports whether c promises less than o.
func (c Claim) worseThan(o Claim) bool {
	if c.EpsilonUpper == nil || o.EpsilonUpper == nil {
		return c.EpsilonUpper == nil && o.EpsilonUpper != nil
	}
	return *c.EpsilonUpper > *o.EpsilonUpper
}

// reason returns the first problems of err, on one line: rounds that differ in size
// alone repeat them.
func reason(err error) string {
	const shown = 2
	problems := strings.Split(err.Error(), "\n")
	if more := len(problems) - shown; more > 0 {
		problems = append(problems[:shown], fmt.Sprintf("and %d more", more))
	}
	return message.OneLine(errors.New(strings.Join(problems, "\n")))
}
