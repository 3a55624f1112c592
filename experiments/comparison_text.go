package experiments

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// goalText defines "time to target".
func (c *comparison) goalText() string {
	return fmt.Sprintf("Target, seed by seed: the %s that the %s run ends with, less %.4f (%s); the time is "+
		"that of the first of %d looks at it or above, mean over seeds. "+
		"A run that ends more than %.4f below its target has not reached it. "+
		"Speed-up: of that time, over %s (in brackets the least of a seed).%s",
		c.all[0].spec.MetricName(), c.all[0].name, c.tolerance, c.toleranceText(), c.looks(), c.tolerance, c.all[0].name, c.goalNotes())
}

// goalNotes says if a target does not exist or is met from the start.
func (c *comparison) goalNotes() string {
	text := ""
	first := c.summaries()[0]
	if n := first.Diverged; n > 0 {
		text += fmt.Sprintf(" With %d of %s the %s run diverged: there is no target for them, and nobody reaches "+
			"one.", n,
			seedsText(len(c.goal)), first.Name)
	}
	if first.ToTarget != nil && *first.ToTarget == 0 {
		text += fmt.Sprintf(" The %s run itself is there from the start: the %s at its end is at most %.4f above "+
			"the one at its beginning.", first.Name, c.all[0].spec.MetricName(), c.tolerance)
	}
	return text
}

// goalField returns the accuracy that a seed must reach, for a table, or "".
func (c *comparison) goalField(seed int) string {
	if math.IsNaN(c.goal[seed]) {
		return ""
	}
	return report.Number(c.goal[seed])
}

func seedsText(n int) string { return decimal.Many(n, "seed") }

// spreadText explains lines and bands for the given number of seeds.
func spreadText(seeds int) string {
	if seeds == 1 {
		return seedsText(seeds)
	}
	return "mean and one standard deviation over " + seedsText(seeds)
}

// caption describes what all runs have in common, and their privacy.
func (c *comparison) caption(ctx context.Context, f *figureConfig) (string, error) {
	spec := c.all[0].spec
	noise := "σ = " + decimal.Exactly(spec.NoiseMultiplier)
	if spec.NoiseMultiplier == 0 {
		noise = "no noise"
	}
	part := ""
	if paper := pool.Train(spec.Model, spec.Data).GradComps; spec.GradComps != paper && pool.Has(spec.Data) {
		part = fmt.Sprintf(" (%.3g of the paper's)", float64(spec.GradComps)/float64(paper))
	}
	text := fmt.Sprintf("%s, K = %d each%s, s = %s, %s, C = %g, step size %s, partition %s; %s%s.\n"+
		"%s Accuracy is that of the server's model v, with every update that has come by then, on %s (%s).",
		decimal.Many(spec.Clients, "client"), spec.GradComps, part, spec.SampleSize, noise, spec.Clip, spec.StepText(),
		spec.Partition, spreadText(len(c.runs[0])), f.note(),
		timingText(spec), decimal.Many(c.runs[0][0].TestRows, "row"), spec.JudgedOn())
	notes := ""
	for _, note := range spec.Notes() {
		notes += "\nNote: " + note + "."
	}
	if slices.ContainsFunc(c.all, func(m series) bool { return m.spec.Adapt != 0 }) {
		return text + notes, nil // runs of different specs do not cost the same
	}
	privacy, err := c.privacyText(ctx, f)
	return text + privacy + notes, err
}

// targetCaption is the caption for a picture with the table of the comparison, which has times to a
// target.
func (c *comparison) targetCaption(ctx context.Context, f *figureConfig) (string, error) {
	text, err := c.caption(ctx, f)
	return text + "\n" + c.goalText(), err
}

// privacyText states the ε of the runs, which does not depend on Υ or on time.
func (c *comparison) privacyText(ctx context.Context, f *figureConfig) (string, error) {
	spec := c.all[0].spec
	if spec.NoiseMultiplier == 0 {
		return "", nil
	}
	r, err := f.planned(ctx, spec)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(" Whatever the delay, certified by %s for N = %d, δ = %s, %s adjacency, %s sampling: per "+
		"client %s, per record %s; numbered seeds: a simulation, no release.",
		r.Certified.PerClient.Accountant, r.PerClient.DatasetSize, decimal.Up(r.Delta, 4), r.Adjacency, r.Sampling,
		epsilonAtMost(r.Certified.PerClient.EpsilonUpper), epsilonAtMost(r.Certified.PerRecord.EpsilonUpper)), nil
}

func (c *comparison) noiseText() string {
	if sigma := c.all[0].spec.NoiseMultiplier; sigma > 0 {
		return "σ = " + decimal.Exactly(sigma)
	}
	return "no noise"
}

// rows returns the summaries as a table, after a header.
func (c *comparison) rows() [][]string {
	out := [][]string{{c.noiseText(), c.all[0].spec.MetricName() + " at the end", "whole run", "to target", "speed-up", "i − k: mean",
		"largest", "idle"}}
	for _, s := range c.summaries() {
		row := s.row(len(c.goal))
		if mean, _ := report.Spread(c.goal); s.Diverged == 0 && s.Accuracy < mean {
			row[1] += " (below the target)"
		}
		out = append(out, row)
	}
	return out
}

func (s Summary) row(seeds int) []string {
	accuracy := report.SpreadText(s.Accuracy, s.AccuracySD, seeds)
	if s.Diverged > 0 {
		accuracy += fmt.Sprintf(" (%d of %d diverged)", s.Diverged, seeds)
	}
	target, up := fmt.Sprintf("%d of %s", s.Reached, seedsText(seeds)), report.NoAnswer
	if s.ToTarget != nil {
		target = fmt.Sprintf("%.3g s", *s.ToTarget)
	}
	if s.SpeedUp != nil {
		up = fmt.Sprintf("%.2f (%.2f)", *s.SpeedUp, *s.LeastUp)
	}
	if s.Diverged == seeds { // no run has reached its end
		none := report.NoAnswer
		return []string{s.Name, accuracy, none, target, up, none, none, none}
	}
	return []string{s.Name, accuracy, fmt.Sprintf("%.3g s", s.Seconds), target, up,
		fmt.Sprintf("%.3g", s.MeanLag), strconv.Itoa(s.MaxLag), report.Share(s.Idle)}
}

// comparisonConfig is the manifest's description of a comparison.
type comparisonConfig struct {
	Train     []train.Spec `json:"train"`
	Looks     int          `json:"looks"`
	Tolerance float64      `json:"target_tolerance"` // how far the goal is below the reference's final accuracy
	Summaries []Summary    `json:"standings"`
}

func (c *comparison) config() comparisonConfig {
	out := comparisonConfig{Looks: c.looks(), Tolerance: c.tolerance, Summaries: c.summaries()}
	for _, m := range c.all {
		out.Train = append(out.Train, m.spec)
	}
	return out
}

// records returns rows of CSV for every run, after a header. rows returns the cells of the additional
// columns.
func (c *comparison) records(f *figureConfig, columns []string, rows func(i, seed int, r *pool.Timed) [][]string) [][]string {
	out := [][]string{append([]string{"data", "model", "series", "delay", "sigma", "seed"},
		clockColumns(c.all[0].spec, columns)...)}
	for i, m := range c.all {
		for seed := range c.runs[i] {
			own := []string{f.data().Name, m.spec.Model, m.name, m.spec.Delay, decimal.Exactly(m.spec.NoiseMultiplier),
				strconv.Itoa(seed + 1)}
			for _, row := range rows(i, seed, &c.runs[i][seed]) {
				out = append(out, append(own[:len(own):len(own)], row...))
			}
		}
	}
	return out
}

// table returns the result of every run as rows of CSV.
func (c *comparison) table(f *figureConfig) [][]string {
	columns := []string{"test_accuracy", "virtual_seconds", "target_accuracy", "virtual_seconds_to_target",
		"mean_lag", "max_lag", "idle", "diverged"}
	if c.stored != nil { // its runs have no lags and no idle times
		return append(c.records(f, columns, func(int, int, *pool.Timed) [][]string { return nil }), c.kept...)
	}
	return c.records(f, columns,
		func(_, seed int, r *pool.Timed) [][]string {
			mean, most := r.Lag()
			return [][]string{{report.Number(r.Accuracy[len(r.Accuracy)-1]), seconds(r.Clock),
				c.goalField(seed), c.reachedText(seed, r),
				report.Number(mean), strconv.Itoa(most), report.Number(r.Idle()), strconv.FormatBool(r.Diverged)}}
		})
}

// reachedText returns the time at which a run reached the target, or "".
func (c *comparison) reachedText(seed int, r *pool.Timed) string {
	at, ok := r.Reaches(c.goal[seed])
	if !ok {
		return ""
	}
	return seconds(at)
}

// seconds formats a virtual time in seconds, with nine decimals.
func seconds(t sim.Time) string { return strconv.FormatFloat(clockSeconds(t), 'f', 9, 64) }

// clientName returns the name of a client in a legend, with its speed if speeds are listed.
func (c *comparison) clientName(client int) string {
	name := fmt.Sprintf("client %d", client)
	if speeds := strings.Split(c.all[0].spec.Speeds, ","); len(speeds) > 1 && client < len(speeds) {
		name += ", speed " + speeds[client]
	}
	return name
}

// lookColumns is the header of look.
var lookColumns = []string{"virtual_seconds", "test_accuracy", "target_accuracy", "virtual_seconds_to_target"}

// look returns measurement j of a run as cells of a table.
func (c *comparison) look(seed int, r *pool.Timed, j int) []string {
	return []string{seconds(r.At[j]), report.Number(r.Accuracy[j]), c.goalField(seed), c.reachedText(seed, r)}
}

// curves returns every measurement of every run as rows of CSV.
func (c *comparison) curves(f *figureConfig) [][]string {
	return c.records(f, lookColumns,
		func(_, seed int, r *pool.Timed) (rows [][]string) {
			for j := range r.At {
				rows = append(rows, c.look(seed, r, j))
			}
			return rows
		})
}

// stalenessTable returns the number of rounds of every run by lag, as rows of CSV.
func (c *comparison) stalenessTable(f *figureConfig) [][]string {
	return c.records(f, []string{"lag", "rounds"}, func(_, _ int, r *pool.Timed) (rows [][]string) {
		for lag, n := range r.Staleness {
			rows = append(rows, []string{strconv.Itoa(lag), strconv.Itoa(n)})
		}
		return rows
	})
}

// idleTable returns how every client spent its time, as rows of CSV.
func (c *comparison) idleTable(f *figureConfig) [][]string {
	return c.records(f, []string{"client", "busy_virtual_seconds", "last_round_ends_virtual_seconds", "idle"},
		func(_, _ int, r *pool.Timed) (rows [][]string) {
			for client := range r.Busy {
				rows = append(rows, []string{strconv.Itoa(client), seconds(r.Busy[client]), seconds(r.Done[client]),
					report.Number(r.Waiting(client))})
			}
			return rows
		})
}
