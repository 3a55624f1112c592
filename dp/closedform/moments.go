package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Moments summarises the T rounds of a run by a few averages of their sample rates. The paper's Theorem thm1 needs
// only these numbers, and not each rate. For j = 1, 2 and 3, the average Ŝ_j is
//
//	Ŝ_j = (1/T)·Σ q_i^j/(1-q_i)^{j-1}
//
// where q_i is the sample rate of round i: its batch size divided by the number of records. Make one with
// [MomentsOfEvents]. It rounds Ŝ₂ and Ŝ₃ up, by the rounding error of their sums.
type Moments struct {
	Rounds  float64 // number of rounds T
	MaxRate float64 // largest sample rate max q_i, in (0, 1)
	// S1, S2 and S3 are the averages Ŝ₁, Ŝ₂ and Ŝ₃ of [Moments]. S1 is the mean sample rate, k/T for k epochs in T
	// rounds.
	S1, S2, S3 float64
}

// Epochs returns the number of epochs, k = T·Ŝ₁ = Σq_i.
func (m Moments) Epochs() float64 { return m.Rounds * m.S1 }

// Theta returns θ, the largest sample rate divided by the mean rate: max q_i/Ŝ₁.
func (m Moments) Theta() float64 { return max(1, m.MaxRate/m.S1) }

// rho returns Ŝ₁Ŝ₃/Ŝ₂², the least value that the paper's Theorem thm1 allows for its constant ρ: a larger one may
// require more noise.
func (m Moments) rho() float64 { return m.S1 / m.S2 * (m.S3 / m.S2) }

// rhoHat returns Ŝ₁²/Ŝ₂ < 1, the least value that the theorem allows for its constant ρ̂: a larger one may require more
// noise.
func (m Moments) rhoHat() float64 { return m.S1 / m.S2 * m.S1 }

// MomentsOfEvents returns the [Moments] (averages of the sample rates) of all rounds of the events, and their
// smallest noise multiplier. The error wraps dp.ErrNotCovered if an event is not Poisson sampling under add-or-remove
// adjacency, if its rounds use all records (sample rate 1), if it protects persons with several records (Group), or if
// its batches are cut to a largest size (Truncated).
func MomentsOfEvents(events []dp.Event) (Moments, float64, error) {
	return momentsOf(events, asked{})
}

func momentsOf(events []dp.Event, of asked) (Moments, float64, error) {
	invalid, uncovered := checkEvents(events)
	if err := errors.Join(of.faulty, invalid); err != nil {
		return Moments{}, 0, err
	}
	if err := errors.Join(uncovered, notCovered(of.uncovered)); err != nil {
		return Moments{}, 0, err
	}
	sigma := math.Inf(1)
	var sum momentSum
	for _, e := range events {
		sum.add(e.SampleRate(), float64(e.Count))
		sigma = min(sigma, e.NoiseMultiplier)
	}
	m, err := sum.moments()
	return m, sigma, err
}

// momentSum adds up the sums Ŝ_j of [Moments], with a bound on their rounding errors.
type momentSum struct {
	rounds, max, s1, s2, s3 float64
	terms                   int
}

func (s *momentSum) add(q, count float64) {
	ratio := q / (1 - q)
	s.rounds += count
	s.max = max(s.max, q)
	s.s1 += count * q
	s.s2 += count * q * ratio
	s.s3 += count * q * ratio * ratio
	s.terms++
}

func (s *momentSum) moments() (Moments, error) {
	if s.max >= 1 {
		return Moments{}, fmt.Errorf("largest sample rate = %v, must be below 1: %w", s.max,
			dp.ErrNotCovered)
	}
	up := (1 + float64(s.terms+8)*ulp) / s.rounds
	return Moments{Rounds: s.rounds, MaxRate: s.max, S1: s.s1 / s.rounds, S2: s.s2 * up, S3: s.s3 * up}, nil
}
