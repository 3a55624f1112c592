package propose

import (
	"context"
	"fmt"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// longestTraining is the largest expected number of seconds, on this machine, of a setting that is listed
// only for its noise.
const longestTraining = 3600

// listed returns the proposals: the first of the found settings, which are in the order of proposals. If
// none has a noise multiplier of enoughNoise or more, the last one is replaced by such a setting. It
// takes more gradients, and has more signal s√T/σ for the same ε. If no such setting can be listed, the
// note says why. A list of one setting does not change.
func (s *searcher) listed(ctx context.Context, epsilon float64, found []*candidate) (list []*candidate, note string, err error) {
	list = slices.Clone(found[:min(s.Count, len(found))])
	enough := func(c *candidate) bool { return c.outlay.sigma >= enoughNoise }
	if s.Count == 1 || slices.ContainsFunc(list, enough) {
		return list, "", nil
	}
	var more *candidate
	why := ""
	if i := slices.IndexFunc(found, enough); i >= 0 {
		more = found[i]
	} else if more, why, err = s.withEnough(ctx, epsilon, found[0]); err != nil {
		return nil, "", err
	}
	if more != nil && more.accuracy < s.goal() {
		why = fmt.Sprintf("its predicted %s is %s", s.base.MetricName(), s.text(more.accuracy))
	}
	if why != "" {
		return list, fmt.Sprintf("no setting with σ ≥ %d is listed: %s", enoughNoise, why), nil
	}
	return append(list[:min(len(list), s.Count-1)], more), "", nil
}

// withEnough returns a setting like the given one with a noise multiplier of at least enoughNoise and all
// its seeds, or the reason why no such setting exists. If its training would take too long, it has fewer rounds.
func (s *searcher) withEnough(ctx context.Context, epsilon float64, like *candidate) (*candidate, string, error) {
	why := fmt.Sprintf("ε = %s needs less noise even for batches of all records", decimal.Exactly(epsilon))
	for _, rounds := range slices.Backward(slices.Sorted(slices.Values(s.Rounds))) {
		rounds /= s.base.Clients
		if rounds > like.outlay.rounds {
			continue
		}
		l, err := s.layOutEnough(ctx, epsilon, rounds)
		if err != nil {
			return nil, "", err
		}
		if l.size == 0 {
			continue
		}
		tried := s.candidates(like.variant, like.stride.near(), l)
		p, err := s.Data.Prepare(tried[0].spec)
		if err != nil {
			return nil, "", err
		}
		seconds, err := p.Seconds(s.Options.Perf)
		if err != nil {
			return nil, "", err
		}
		if seconds > longestTraining {
			why = fmt.Sprintf("its training would take %s here", report.Duration(seconds))
			continue
		}
		e := s.effort()
		if tried, err = s.rung(ctx, tried, e.few, e.first, 1); err != nil {
			return nil, "", err
		}
		return tried[0], "", s.try(ctx, tried[:1], s.Seeds, 1)
	}
	return nil, why, nil
}
