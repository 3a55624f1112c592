package audit

import (
	"context"
	"math"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/sim"
)

// sheet has the facts about a setting's releases that are known before a run, such as the coordinates that are
// pure noise, and the mean of the others.
type sheet struct {
	setting
	of        [][]float64 // gradients by record, correctly clipped
	free      []int       // coordinates that are their mean plus noise, for every sample
	mean      []float64   // of the free coordinates
	direction []float64   // of the sum of all gradients, with norm 1
	along     []float64   // component of each gradient in that direction
	marks     []mark      // coordinates that belong to a single record
	tolerance []float64   // largest effect of rounding on each coordinate of a release
}

// mark is a coordinate that shows whether a record was sampled.
type mark struct {
	at        int
	amplitude float64
}

func newSheet(s setting) (*sheet, error) {
	of, err := s.gradients()
	if err != nil {
		return nil, err
	}
	h := &sheet{setting: s, of: of, direction: make([]float64, len(of[0])), tolerance: make([]float64, len(of[0]))}
	holders := make([][]int, len(of[0]))
	for i, g := range of {
		for j, x := range g {
			h.direction[j] += x
			if h.tolerance[j] += models.MaxShade * math.Abs(x); x != 0 {
				holders[j] = append(holders[j], i)
			}
		}
	}
	for j, who := range holders {
		const rounding = 1e-5 // for float32 numbers of the size of the noise and sums here
		h.tolerance[j] += rounding * (s.sigma + math.Abs(h.direction[j]))
		switch {
		case s.size == s.places: // every record is in the sample
			h.free, h.mean = append(h.free, j), append(h.mean, h.direction[j])
		case len(who) == 0:
			h.free, h.mean = append(h.free, j), append(h.mean, 0)
		case len(who) == 1:
			h.marks = append(h.marks, mark{j, of[who[0]][j]})
		}
	}
	scale(h.direction, 1/norm(h.direction))
	for _, g := range of {
		h.along = append(h.along, dot(g, h.direction))
	}
	return h, nil
}

// sum returns the mean, the variance and the fourth cumulant of a release in the direction of the sum
// of all gradients, at sample rate q.
func (h *sheet) sum(q float64) (mean, variance, fourth float64) {
	total, squares := 0.0, 0.0
	for _, a := range h.along {
		total += a
		squares += float64(a * a)
	}
	variance = h.sigma * h.sigma
	switch n := float64(h.places); h.mechanism().Sampling {
	case dp.FixedSize:
		// Sampling without replacement: W. Cochran, "Sampling Techniques", 1977, (2.9). The fourth
		// cumulant is negligible, because the sum has many small terms.
		return q * total, variance + q*(1-q)*n/(n-1)*max(0, squares-total*total/n), 0
	case dp.Poisson, dp.Allocation: // in a single round, allocation is Poisson sampling
	default: // for an unknown scheme every check of the sum fails
		return math.NaN(), math.NaN(), math.NaN()
	}
	for _, a := range h.along {
		fourth += q * (1 - q) * (1 - 6*q*(1-q)) * math.Pow(a, 4)
	}
	return q * total, variance + q*(1-q)*squares, fourth
}

func (h *sheet) releases() int { return h.clients * h.rounds }

// watch is a setting whose releases are checked against the sum of clipped gradients plus
// independent noise.
type watch struct {
	name string
	setting
	share int // the watch makes Options.Runs/share runs, but at least
	least int // this many; both are even
}

// watchChunk is the number of runs of a watch that are made together. Runs come in pairs, the two legs of
// one root (see world.leg), one after the other. The seeds are only used in the first chunk.
const watchChunk = 10

func (p watch) tests() (int, error) {
	h, err := newSheet(p.setting)
	if err != nil {
		return 0, err
	}
	return len(newTally(h).checks(p.name)), nil
}

// runs returns the number of runs, which is even.
func (p watch) runs(o *Options) int { return max(p.least, o.Runs/p.share/2*2) }

// run makes the runs and the checks of a watch. It does not yet set which checks failed.
func (p watch) run(ctx context.Context, o *Options) ([]Check, error) {
	h, err := newSheet(p.setting)
	if err != nil {
		return nil, err
	}
	chunks := make([]*tally, (p.runs(o)+watchChunk-1)/watchChunk)
	workers := pool.New().WithContext(ctx).WithMaxGoroutines(o.Workers).WithCancelOnError().WithFirstError()
	for at := range chunks {
		workers.Go(func(ctx context.Context) (err error) {
			chunks[at], err = p.chunk(ctx, o, h, at)
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	all := newTally(h)
	for _, t := range chunks {
		all.merge(t)
	}
	return all.checks(p.name), nil
}

// chunk makes the runs of chunk number at, and returns their tally.
func (p watch) chunk(ctx context.Context, o *Options, h *sheet, at int) (*tally, error) {
	t := newTally(h)
	now, before := newSeen(h), newSeen(h)
	w := newWorld(p.name, "watched", p.setting, make([]bool, p.data.Len()), o,
		func(c *sim.Client, u []float32, ws *sim.Workspace) error { return now.see(c, u, ws) })
	if p.storm {
		w.onWire(func(u sim.Update) { now.sent(u) })
	}
	for number := at * watchChunk; number < min((at+1)*watchChunk, p.runs(o)); number++ {
		now.clear()
		if at == 0 {
			now.w = w
		}
		if _, err := w.leg(ctx, number); err != nil {
			return nil, err
		}
		if number%2 == 0 {
			t.add(now, nil)
		} else {
			t.add(now, before)
		}
		now, before = before, now
	}
	return t, nil
}
