package dp

import "errors"

// Kind says what a reported ε is.
type Kind string

// The kinds of statement.
const (
	Exact         Kind = "exact"         // the true ε
	Interval      Kind = "interval"      // the true ε lies in [lower, upper]
	Upper         Kind = "upper"         // the true ε is at most this
	Approximation Kind = "approximation" // may underestimate: no guarantee
)

// Bound is an ε that an accountant answers for, with everything that such a
// number must say.
type Bound struct {
	Epsilon    float64   `json:"epsilon_upper"`
	Delta      float64   `json:"delta"`
	Kind       Kind      `json:"kind"`
	Accountant string    `json:"accountant"`
	Adjacency  Adjacency `json:"adjacency"`
	Sampling   Sampling  `json:"sampling"`
}

// ErrNotCovered is what accountants wrap when a release is outside what they
// are proved for. It is an answer, not a fault: no ε is claimed then.
var ErrNotCovered = errors.New("not covered")

// Accountant turns a release into an ε. Implementations are stateless.
type Accountant interface {
	// Name is the accountant's name as printed beside its numbers.
	Name() string
	// Epsilon returns an ε such that the release of all the events, composed,
	// is (ε, δ)-differentially private. It fails with ErrNotCovered where the
	// accountant has no proof.
	Epsilon(events []Event, delta float64) (Bound, error)
}
