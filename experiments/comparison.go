package experiments

import (
	"encoding/json"
	"math"
	"slices"

	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// series holds the runs of one spec in a comparison on the virtual clock, one for each seed. A figure
// draws it as one line.
type series struct {
	name string
	spec train.Spec // spec of the runs, without the seed
}

// comparison holds several series with their runs. The first series is the reference: for the others,
// the time until they reach its accuracy is measured.
type comparison struct {
	all       []series
	runs      [][]pool.Timed // by series and seed
	goal      []float64      // accuracy to reach, by seed; NaN if the reference diverged
	tolerance float64        // how far the goal is below the reference's last accuracy
	// stored and kept are the manifest's description and the rows of the data, if the comparison was read
	// from a figure's folder. The runs then have only accuracies and times.
	stored *comparisonConfig
	kept   [][]string
}

func comparisonCells(all []series, seeds, looks int, source *train.Source) []pool.Cell {
	var cells []pool.Cell
	for _, c := range all {
		for seed := range seeds {
			c.spec.Seed = uint64(seed + 1)
			cells = append(cells, pool.OfTimed(c.spec, looks, source))
		}
	}
	return cells
}

// decodeComparison reads the results of comparisonCells.
func decodeComparison(all []series, results []json.RawMessage) (*comparison, error) {
	runs, err := pool.DecodeAll[pool.Timed](results)
	if err != nil {
		return nil, err
	}
	return newComparison(all, slices.Collect(slices.Chunk(runs, len(runs)/len(all)))), nil
}

// looks returns how often a run's accuracy was measured, including its start.
func (c *comparison) looks() int {
	if c.stored != nil {
		return c.stored.Looks
	}
	return len(c.runs[0][0].At)
}

// tolerance returns by how much a metric may be below the mean and still count as equal: one standard
// deviation over seeds or, if that is larger, of drawing the rows that an accuracy is judged by.
func tolerance(spec train.Spec, mean, sd float64, rows int) float64 {
	if !spec.IsAccuracy() {
		return sd
	}
	return max(sd, math.Sqrt(mean*(1-mean)/float64(rows)))
}

func newComparison(all []series, runs [][]pool.Timed) *comparison {
	c := &comparison{all: all, runs: runs}
	ended := slices.DeleteFunc(slices.Clone(runs[0]), func(r pool.Timed) bool { return r.Diverged })
	if len(ended) > 0 {
		mean, sd := report.Spread(finals(ended))
		c.tolerance = tolerance(all[0].spec, mean, sd, ended[0].TestRows)
	}
	for i, accuracy := range finals(runs[0]) {
		if runs[0][i].Diverged {
			accuracy = math.NaN() // otherwise every run would reach it at its start
		}
		c.goal = append(c.goal, accuracy-c.tolerance)
	}
	return c
}

// toleranceText says how far below the reference the goal is.
func (c *comparison) toleranceText() string {
	if c.all[0].spec.IsAccuracy() {
		return "the larger of one standard deviation over seeds and that of drawing the rows judged by"
	}
	return "one standard deviation over seeds"
}

func finals(runs []pool.Timed) []float64 {
	var out []float64
	for _, r := range runs {
		out = append(out, r.Accuracy[len(r.Accuracy)-1])
	}
	return out
}

// Summary is one line of the result of [DelaySpec.Compare]: accuracy, time and staleness of the trainings with one
// permissible delay, over all seeds. The target of a seed is the final accuracy of its synchronous training (delay
// 0), minus [DelayReport].Tolerance. Times are in seconds of the trainings' clock, which is simulated or real (see
// [DelaySpec]).
type Summary struct {
	Name       string  `json:"name"`             // name of the delay in tables and pictures
	Delay      string  `json:"delay"`            // the permissible delay as in DelaySpec.Delays, such as "4" or "sqrt"
	Accuracy   float64 `json:"test_accuracy"`    // final test accuracy, mean over seeds
	AccuracySD float64 `json:"test_accuracy_sd"` // standard deviation over seeds
	Seconds    float64 `json:"virtual_seconds"`  // duration of a training, mean over seeds
	// Reached is the number of seeds whose training reached the target and kept it: its final accuracy may be below
	// the target by at most the tolerance.
	Reached int `json:"seeds_at_target"`
	// ToTarget is the time to the target, mean over seeds; null unless all seeds reached it.
	ToTarget *float64 `json:"virtual_seconds_to_target"`
	// SpeedUp is the mean time to the target with delay 0, divided by that with this delay; null if ToTarget is null,
	// or if the untrained model of a seed already reaches the target, that is, in no time.
	SpeedUp *float64 `json:"speed_up"`
	// LeastUp is the smallest of the speed-ups of the single seeds; null if SpeedUp is null.
	LeastUp *float64 `json:"speed_up_least"`
	// MeanLag is the mean staleness: the mean of i − k over all rounds, where a client computed round i from global
	// model k.
	MeanLag float64 `json:"mean_lag"`
	MaxLag  int     `json:"max_lag"` // largest staleness of a round
	// Idle is the fraction of a client's time in which it waits for a global model, mean over clients.
	Idle     float64   `json:"idle"`
	IdleBy   []float64 `json:"idle_by_client"`     // Idle of each client, relative to the time until its last round ends
	Diverged int       `json:"diverged,omitempty"` // number of seeds that diverged; each counts as accuracy 0, and is left out of all other columns
}

func (c *comparison) summaries() []Summary {
	if c.stored != nil {
		return c.stored.Summaries
	}
	base, _ := c.times(0)
	var out []Summary
	for i := range c.all {
		out = append(out, c.summary(i, base))
	}
	return out
}

// times returns, for each seed of series i, the time at which its accuracy first reached the goal, and how
// many seeds count as having reached it. The time is NaN if the accuracy never reached the goal, or if it
// is below the goal by more than the tolerance at the end.
func (c *comparison) times(i int) (seconds []float64, reached int) {
	for seed, run := range c.runs[i] {
		at, ok := run.Reaches(c.goal[seed])
		if !ok || run.Accuracy[len(run.Accuracy)-1] < c.goal[seed]-c.tolerance {
			seconds = append(seconds, math.NaN())
			continue
		}
		seconds = append(seconds, clockSeconds(at))
		reached++
	}
	return seconds, reached
}

func (c *comparison) summary(i int, base []float64) Summary {
	runs := c.runs[i]
	s := Summary{Name: c.all[i].name, Delay: c.all[i].spec.Delay}
	s.Accuracy, s.AccuracySD = report.Spread(finals(runs))
	whole := 0.0
	for _, r := range runs {
		if r.Diverged {
			s.Diverged++
			continue
		}
		if whole == 0 {
			s.IdleBy = make([]float64, len(r.Busy))
		}
		whole++
		s.Seconds += clockSeconds(r.Clock)
		mean, most := r.Lag()
		s.MeanLag += mean
		s.MaxLag = max(s.MaxLag, most)
		for client := range r.Busy {
			s.IdleBy[client] += r.Waiting(client)
		}
	}
	if whole > 0 {
		s.Seconds /= whole
		s.MeanLag /= whole
		for client := range s.IdleBy {
			s.IdleBy[client] /= whole
			s.Idle += s.IdleBy[client] / float64(len(s.IdleBy))
		}
	}
	seconds, reached := c.times(i)
	if s.Reached = reached; reached < len(runs) {
		return s
	}
	mean, _ := report.Spread(seconds)
	s.ToTarget = &mean
	if slices.Min(seconds) == 0 {
		return s // the target is met from the start, so no run can be faster
	}
	baseMean, _ := report.Spread(base)
	up, least := baseMean/mean, math.Inf(1)
	for seed := range seconds {
		least = min(least, base[seed]/seconds[seed])
	}
	s.SpeedUp, s.LeastUp = &up, &least
	return s
}

func clockSeconds(t sim.Time) float64 { return float64(t) / 1e9 }
