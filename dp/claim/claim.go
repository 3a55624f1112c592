// Package claim turns the bound of an accountant into a complete privacy claim, as JSON and as text to publish. A claim
// is an ε together with everything without which the ε means nothing.
//
//   - Who is protected: a record in all rounds that use it, or in the rounds of one client only.
//   - δ, adjacency and sampling.
//   - The accountant that proves it.
//   - Whether ε is exact, an interval, an upper bound, or an approximation without a guarantee.
//
// To begin: [Of] claims an ε for the rounds of one client. [OfClients] and [OfLedgers] claim it for
// a training of several clients, planned or finished. [NewReport] puts the paper's closed form next
// to a certified accountant. [Statement] is the paragraph to publish with the number.
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

// Claim is the privacy guarantee that one accountant proves for a release (a list of rounds). It protects a record
// or, if Group is above 1, a person with up to Group records.
type Claim struct {
	// EpsilonLower, Epsilon and EpsilonUpper are the lower end, the number to print and the upper end of ε, as in a
	// [dp.Bound]. If the accountant proves no upper end, all three are nil, and Reason says why. Some claims take the
	// ε of another release, which costs at least as much. Then Kind is dp.Upper, and Reason describes that other
	// release.
	EpsilonLower *float64 `json:"epsilon_lower"`
	Epsilon      *float64 `json:"epsilon"`
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Delta        float64  `json:"delta"`
	// Kind says what ε guarantees, such as dp.Interval. It is absent in JSON if no ε is claimed.
	Kind       dp.Kind      `json:"kind,omitempty"`
	Accountant string       `json:"accountant"`
	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
	// Group is k if the claim protects a person with up to k records. It is 0 if the claim protects a record.
	Group       int    `json:"group,omitempty"`
	DatasetSize int    `json:"dataset_size"`      // number of records that one client holds
	Rounds      int    `json:"rounds"`            // number of rounds that the ε counts; 2^63-1 means at least that many
	GradComps   int    `json:"grad_computations"` // expected number of gradients; rounds with only a rate count as 0
	Reason      string `json:"reason,omitempty"`
}

// Of returns the claim that the accountant acc proves for all events together, at δ in (0, 1). If acc proves no upper
// bound on ε, the claim has a Reason and no ε, and Of returns no error. The error
//
//   - is context.Cause(ctx), soon after ctx is cancelled;
//   - wraps dp.ErrSharedNoise if events of two different mechanisms name one source of noise: then the noise can be
//     subtracted, and no ε holds;
//   - or says what is invalid in the events or in δ.
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
		c.Group = e.Group
		c.Rounds = plus(c.Rounds, e.Count)
		c.GradComps = plus(c.GradComps, times(e.Count, e.ExpectedSize()))
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
		c.Reason = fmt.Sprintf("no upper bound of ε is proved, ε is at least %v", b.EpsilonLower)
	default:
		c.EpsilonLower, c.Epsilon, c.EpsilonUpper, c.Kind = &b.EpsilonLower, &b.Epsilon, &b.EpsilonUpper, b.Kind
	}
	return c, nil
}

// AtMost returns the claim for a second release that costs at most as much as the release of c. It keeps the upper
// end of c's ε, sets the lower end to 0 and Kind to dp.Upper, and sets Reason to why. why should describe the release
// of c, from which the ε comes. Without an ε, c is returned unchanged.
func (c Claim) AtMost(why string) Claim {
	if c.EpsilonUpper != nil {
		zero, upper := 0.0, *c.EpsilonUpper
		c.EpsilonLower, c.Epsilon, c.Kind, c.Reason = &zero, &upper, dp.Upper, why
	}
	return c
}

// Plus returns the claim for two releases together: that of c, and a second one that is (epsilon, 0)-differentially
// private. The upper end of its ε is the sum of epsilon and the upper end of c's ε (basic composition). No lower
// bound is known for both together, so the lower end becomes 0, and Kind becomes dp.Upper. why becomes the Reason; it
// should describe the second release. If c has no ε (c.EpsilonUpper is nil), c is returned unchanged.
func (c Claim) Plus(epsilon float64, why string) Claim {
	c = c.AtMost(why)
	if c.EpsilonUpper != nil {
		sum := math.Nextafter(*c.EpsilonUpper+epsilon, math.Inf(1))
		c.Epsilon, c.EpsilonUpper = &sum, &sum
	}
	return c
}

// Least returns the better of two claims by one accountant about the same release. It returns c, with the ε, Kind and
// Reason of o if the upper end of o's ε is smaller, or if only o has an ε. All other fields remain those of c, such as
// the numbers of rounds and gradients.
func (c Claim) Least(o Claim) Claim {
	if c.worseThan(o) {
		c.EpsilonLower, c.Epsilon, c.EpsilonUpper, c.Kind, c.Reason = o.EpsilonLower, o.Epsilon, o.EpsilonUpper, o.Kind,
			o.Reason
	}
	return c
}

func (c Claim) worseThan(o Claim) bool {
	if c.EpsilonUpper == nil || o.EpsilonUpper == nil {
		return c.EpsilonUpper == nil && o.EpsilonUpper != nil
	}
	return *c.EpsilonUpper > *o.EpsilonUpper
}

// reason returns the first problems of err on one line. Rounds that differ only in size repeat the
// same problem.
func reason(err error) string {
	const shown = 2
	problems := strings.Split(err.Error(), "\n")
	if more := len(problems) - shown; more > 0 {
		problems = append(problems[:shown], fmt.Sprintf("and %d more", more))
	}
	return message.OneLine(errors.New(strings.Join(problems, "\n")))
}
