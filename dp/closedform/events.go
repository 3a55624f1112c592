package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// asked holds the errors about the δ or ε that an accountant was asked about: faulty if that number
// is invalid, uncovered if it is outside the accountant's range.
type asked struct{ faulty, uncovered error }

func askedDelta(delta float64) asked {
	err := checkDelta(delta)
	if delta > 0 && delta < 1 {
		return asked{uncovered: err}
	}
	return asked{faulty: err}
}

func askedEpsilon(eps float64) asked {
	err := checkEpsilon(eps)
	if eps >= 0 && !math.IsInf(eps, 0) {
		return asked{uncovered: err}
	}
	return asked{faulty: err}
}

// checkEvents returns the errors of invalid events and those of events that no theorem here covers.
func checkEvents(events []dp.Event) (invalid, uncovered error) {
	if len(events) == 0 {
		return nil, fmt.Errorf("no events: %w", dp.ErrNotCovered)
	}
	var faults, refusals remarks
	for i, e := range events {
		if err := e.Validate(); err != nil {
			faults.add(i, err)
			continue
		}
		switch scheme, _ := e.Scheme(); scheme {
		case dp.PoissonAddOrRemove:
		case dp.GroupAddOrRemove:
			refusals.add(i, fmt.Errorf("group = %d, the theorem is for single records: %w", e.Group, dp.ErrNotCovered))
		case dp.TruncatedAddOrRemove:
			refusals.add(i, fmt.Errorf("truncated batch size = %d, the theorem is for batches that are not cut: %w", e.Truncated,
				dp.ErrNotCovered))
		default:
			refusals.add(i, fmt.Errorf("%s sampling under %s adjacency, the theorem needs %s under %s: %w", e.Sampling,
				e.Adjacency, dp.Poisson, dp.AddOrRemove, dp.ErrNotCovered))
		}
	}
	return faults.join(), refusals.join()
}

// settingOf returns the run of all events together as a Setting without ε and δ. If the events do
// not all have sizes out of the same N, it uses their rates as sizes out of N = 1.
func settingOf(events []dp.Event, of asked) (Setting, error) {
	invalid, uncovered := checkEvents(events)
	if err := errors.Join(of.faulty, invalid); err != nil {
		return Setting{}, err
	}
	if len(events) == 0 {
		return Setting{}, uncovered
	}
	s := Setting{Sigma: math.Inf(1), N: commonSize(events)}
	for _, e := range events {
		size := float64(e.ExpectedSize())
		if s.N == 1 {
			size = e.SampleRate()
		}
		s.Sigma = min(s.Sigma, e.NoiseMultiplier)
		s.Rounds += float64(e.Count)
		s.Computed += float64(e.Count) * size
		s.MaxSize = max(s.MaxSize, size)
	}
	if s.N == 1 {
		// At the same max q_i and T, ε grows as Σq_i falls.
		s.Computed *= 1 - float64(len(events)+2)*ulp
	}
	return s, errors.Join(uncovered, s.uncovered(of))
}

// commonSize returns the N of all events, or 1 if they have no common N.
func commonSize(events []dp.Event) int {
	n := events[0].DatasetSize
	for _, e := range events {
		if e.DatasetSize != n {
			return 1
		}
	}
	return max(n, 1)
}

// uncovered returns an error that wraps dp.ErrNotCovered if a number of a valid s, or of the
// question, is outside the accountants' ranges.
func (s Setting) uncovered(of asked) error {
	var noise error
	if !math.IsInf(s.Sigma, 1) {
		noise = dp.CheckRange("sigma", s.Sigma, MinSigma, MaxSigma)
	}
	return notCovered(noise, s.checkRun(), of.uncovered)
}
