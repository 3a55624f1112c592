package dp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
)

// Kind says what a computed ε or δ of a [Bound] guarantees: it is the true value, one end of an interval around the
// true value, an upper bound, or only an approximation.
type Kind string

// These are the values of [Kind]. Only an Approximation guarantees nothing.
const (
	Exact         Kind = "exact"         // the computed ε or δ is the true value, to rounding
	Interval      Kind = "interval"      // the true value lies between the lower and the upper end, which are both proved
	Upper         Kind = "upper"         // the true value is at most the computed ε or δ
	Approximation Kind = "approximation" // the computed ε or δ may be below the true value: no guarantee
)

// Bound is the answer of an [Accountant]: ε at a given δ, or δ at a given ε. It also names the accountant, the
// adjacency and the sampling, which must be reported with the numbers.
//
// The computed number has three fields: a lower end, a single number to print (Epsilon or Delta), and an upper end.
// The true value lies between the ends, so the upper end is the guarantee. If nothing is proved from below, the lower
// end is 0. If nothing is proved from above, as for every Approximation, the upper end is +Inf. For an Upper bound,
// the single number is the upper end. The number that the caller gave (δ for [Accountant].Epsilon, ε for Delta) is in
// all three of its fields.
type Bound struct {
	EpsilonLower, Epsilon, EpsilonUpper float64
	DeltaLower, Delta, DeltaUpper       float64

	Kind       Kind
	Accountant string
	Adjacency  Adjacency
	Sampling   Sampling
}

// BoundJSON is the form of a [Bound] in JSON. Embed it in a type of your own to have its keys in a larger object. A
// number that is infinite or NaN is nil here and null in JSON, because JSON cannot hold it.
type BoundJSON struct {
	Accountant   string    `json:"accountant"`
	Kind         Kind      `json:"kind"`
	Adjacency    Adjacency `json:"adjacency"`
	Sampling     Sampling  `json:"sampling"`
	EpsilonLower *float64  `json:"epsilon_lower"`
	Epsilon      *float64  `json:"epsilon"`
	EpsilonUpper *float64  `json:"epsilon_upper"`
	DeltaLower   *float64  `json:"delta_lower"`
	Delta        *float64  `json:"delta"`
	DeltaUpper   *float64  `json:"delta_upper"`
}

// JSON converts b to a [BoundJSON]. Numbers that are infinite or NaN become nil.
func (b Bound) JSON() BoundJSON {
	return BoundJSON{
		b.Accountant, b.Kind, b.Adjacency, b.Sampling,
		finite(b.EpsilonLower), finite(b.Epsilon), finite(b.EpsilonUpper),
		finite(b.DeltaLower), finite(b.Delta), finite(b.DeltaUpper),
	}
}

// MarshalJSON writes b with the keys of [BoundJSON].
func (b Bound) MarshalJSON() ([]byte, error) { return json.Marshal(b.JSON()) }

// UnmarshalJSON reads a Bound that MarshalJSON wrote. A lower end that is null or missing becomes 0, and any other
// number that is null or missing becomes +Inf. Both promise nothing, so a missing number never looks like a
// guarantee.
func (b *Bound) UnmarshalJSON(text []byte) error {
	var j BoundJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	or := func(x *float64, none float64) float64 {
		if x == nil {
			return none
		}
		return *x
	}
	most := math.Inf(1)
	*b = Bound{
		EpsilonLower: or(j.EpsilonLower, 0), Epsilon: or(j.Epsilon, most), EpsilonUpper: or(j.EpsilonUpper, most),
		DeltaLower: or(j.DeltaLower, 0), Delta: or(j.Delta, most), DeltaUpper: or(j.DeltaUpper, most),
		Kind: j.Kind, Accountant: j.Accountant, Adjacency: j.Adjacency, Sampling: j.Sampling,
	}
	return nil
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// ErrNotCovered is wrapped by the error of an [Accountant] that has no proof for the given events, for example for
// their sampling. Then it returns no ε. Another accountant may have a proof.
var ErrNotCovered = errors.New("not covered")

// Accountant computes the ε or δ of all given events together. The packages pld, rdp, gdp and closedform each have
// one, and you can write your own. An Accountant has no state and is safe for concurrent use. Three kinds of error
// exist:
//
//   - an error that wraps [ErrNotCovered], if the accountant has no proof for these events;
//   - another error, if an event or an argument is invalid;
//   - context.Cause(ctx), soon after ctx is cancelled. An answer may take seconds.
type Accountant interface {
	// Name returns the accountant's name, such as "pld". It is printed with each ε.
	Name() string
	// Epsilon bounds the least ε at which all events together are (ε, delta)-differentially private. delta is in (0,
	// 1).
	Epsilon(ctx context.Context, events []Event, delta float64) (Bound, error)
	// Delta bounds the least δ at which all events together are (epsilon, δ)-differentially private. epsilon is at
	// least 0.
	Delta(ctx context.Context, events []Event, epsilon float64) (Bound, error)
}
