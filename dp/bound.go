package dp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
)

// Kind says what a reported ε is.
type Kind string

// The kinds of statement.
const (
	Exact         Kind = "exact"         // the true ε, to rounding
	Interval      Kind = "interval"      // the true ε lies in [lower, upper]
	Upper         Kind = "upper"         // the true ε is at most this
	Approximation Kind = "approximation" // may underestimate: no guarantee
)

// Bound is what an accountant answers: ε at a given δ, or δ at a given ε, with
// everything that such a number must say. Of the one that was given, lower,
// value and upper are equal.
//
// The true value is in [Lower, Upper]. Where nothing is proved from below the
// lower end is 0; where nothing is proved from above, as for every
// Approximation, the upper end is +Inf. The value between them is the best
// single number: the upper end of an Upper bound.
type Bound struct {
	EpsilonLower, Epsilon, EpsilonUpper float64
	DeltaLower, Delta, DeltaUpper       float64

	Kind       Kind
	Accountant string
	Adjacency  Adjacency
	Sampling   Sampling
}

// BoundJSON is a Bound as it is written in JSON, to be embedded where more is said
// beside it. A number that is infinite or none is nil, and null there.
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

// JSON returns b as it is written.
func (b Bound) JSON() BoundJSON {
	return BoundJSON{
		b.Accountant, b.Kind, b.Adjacency, b.Sampling,
		finite(b.EpsilonLower), finite(b.Epsilon), finite(b.EpsilonUpper),
		finite(b.DeltaLower), finite(b.Delta), finite(b.DeltaUpper),
	}
}

// MarshalJSON writes b with the keys of [BoundJSON].
func (b Bound) MarshalJSON() ([]byte, error) { return json.Marshal(b.JSON()) }

// UnmarshalJSON reads what MarshalJSON writes. A number that is null, or missing, promises
// nothing: it is 0 if it is a lower end, and +Inf else.
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

// ErrNotCovered is what accountants wrap when a release is outside what they
// are proved for. It is an answer, not a fault: no ε is claimed then.
var ErrNotCovered = errors.New("not covered")

// Accountant turns a release, the composition of all the events, into an ε or
// a δ. Implementations are stateless and safe for concurrent use. They fail with
// ErrNotCovered, wrapped, where they have no proof, with another error for an
// invalid release, and with context.Cause(ctx) soon after ctx is done: an
// answer may take seconds, and nobody has to wait for one that is not wanted.
type Accountant interface {
	// Name is the accountant's name as printed beside its numbers.
	Name() string
	// Epsilon bounds the least ε such that the release is (ε, δ)-differentially
	// private, for δ in (0, 1).
	Epsilon(ctx context.Context, events []Event, delta float64) (Bound, error)
	// Delta bounds the least δ such that the release is (ε, δ)-differentially
	// private, for ε ≥ 0.
	Delta(ctx context.Context, events []Event, epsilon float64) (Bound, error)
}
