//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"proactivedp/auto"
	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/libsvm"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/files"
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
	"proactivedp/internal/version"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The comparison of auto with plain stages treats each table as a user's file: one client, a split
// by record, and a δ by its number of records. The plain stage is one training that spends the
// whole budget at the first setting of propose, which probed a public set. auto trains on fewer
// records, because it holds some out.
const (
	ownSeeds = 5
	// ownSmallSeeds is the number of seeds below ownTargeted, where the accuracy of one setting varies by
	// several points from seed to seed.
	ownSmallSeeds = 40
	ownUnreached  = 0.999 // an unreachable target, so that auto spends the whole budget
	// ownTargeted is the ε at which all tables are compared, and auto also runs with a target that can
	// be reached: ownPart of the way from the baseline to the mean accuracy of the plain stages,
	// rounded down to a hundredth.
	ownTargeted = 1.0
	ownPart     = 0.8
)

// ownEpsilons are those of the first ownWhole tables. The others are compared at ownTargeted only.
var ownEpsilons = []float64{0.03, 0.3, ownTargeted, 3}

const ownWhole = 6

type ownTable struct {
	Name     string           `json:"name"`
	Shape    synth.TableShape `json:"shape,omitzero"` // of a synthetic table
	Probe    string           `json:"probe"`          // the public set that propose probes
	Epsilons []float64        `json:"epsilons"`
}

// ownTables are public sets, and drawn ones that differ in size, features, classes, balance and noise.
func ownTables() []ownTable {
	all := []ownTable{{Name: "phishing", Probe: "mushrooms"}, {Name: "mushrooms", Probe: "phishing"}}
	for _, s := range []synth.TableShape{
		{Rows: 2000, Features: 10, Classes: 2, Noise: 0.1},
		{Rows: 5000, Features: 100, Classes: 2},
		{Rows: 20000, Features: 30, Classes: 2, Share: 0.8},
		{Rows: 10000, Features: 50, Classes: 5},
		{Rows: 1000, Features: 5, Classes: 2},
		{Rows: 1000, Features: 20, Classes: 2, Noise: 0.2},
		{Rows: 2000, Features: 50, Classes: 3},
		{Rows: 3000, Features: 8, Classes: 2, Share: 0.7, Noise: 0.1},
		{Rows: 5000, Features: 20, Classes: 2, Share: 0.9},
		{Rows: 5000, Features: 10, Classes: 4, Noise: 0.1},
		{Rows: 8000, Features: 200, Classes: 2},
		{Rows: 10000, Features: 15, Classes: 2, Noise: 0.4},
		{Rows: 10000, Features: 300, Classes: 2, Noise: 0.1},
		{Rows: 12000, Features: 40, Classes: 10},
		{Rows: 20000, Features: 100, Classes: 3, Share: 0.6},
		{Rows: 20000, Features: 10, Classes: 2, Noise: 0.2},
		{Rows: 30000, Features: 60, Classes: 2, Share: 0.75, Noise: 0.05},
		{Rows: 40000, Features: 12, Classes: 6},
	} {
		name := fmt.Sprintf("%d × %d, %d classes", s.Rows, s.Features, s.Classes)
		if s.Share > 0 {
			name += fmt.Sprintf(", one with %g %%", 100*s.Share)
		}
		if s.Noise > 0 {
			name += fmt.Sprintf(", %g %% noise", 100*s.Noise)
		}
		all = append(all, ownTable{Name: name, Shape: s, Probe: "phishing"})
	}
	for i := range all {
		if all[i].Epsilons = ownEpsilons; i >= ownWhole {
			all[i].Epsilons = []float64{ownTargeted}
		}
	}
	return all
}

// ownRow has the test accuracies of a table at an ε, by seed.
type ownRow struct {
	Table    string
	Epsilon  float64
	Baseline float64 // by always predicting the most frequent class, mean
	Plain    []float64
	Auto     []float64
	// Target is the accuracy that auto was also asked for, 0 if for none, and Satisfied has its answers.
	Target    float64
	Satisfied []bool
}

// reached returns how many plain stages reach the target, and how many of the runs of auto with their
// seeds are satisfied.
func (r ownRow) reached() (plain, satisfied int) {
	for i, yes := range r.Satisfied {
		if r.Plain[i] >= r.Target {
			if plain++; yes {
				satisfied++
			}
		}
	}
	return plain, satisfied
}

// difference returns the test accuracy of auto minus that of one training with the whole budget (Plain), in
// percentage points: the mean with its standard error, the least and the largest over the seeds.
func (r ownRow) difference() (mean, standardError, least, most float64) {
	var d []float64
	for i := range r.Plain {
		d = append(d, 100*(r.Auto[i]-r.Plain[i]))
	}
	mean, sd := stat.MeanStdDev(d, nil)
	return mean, stat.StdErr(sd, float64(len(d))), slices.Min(d), slices.Max(d)
}

// compareOwn compares auto with plain stages, and writes the folder. The trainings of propose are kept in
// it, so an interrupted comparison does not repeat them.
func compareOwn(ctx context.Context, dir string, log io.Writer) error {
	var rows []ownRow
	for _, t := range ownTables() {
		d, err := t.load(ctx, t.Name)
		if err != nil {
			return err
		}
		probe, err := t.load(ctx, t.Probe)
		if err != nil {
			return err
		}
		source, probed := train.NewSource(d), train.NewSource(probe)
		for _, epsilon := range t.Epsilons {
			start := time.Now()
			row, err := t.row(ctx, source, probed, epsilon, filepath.Join(dir, pool.Folder))
			if err != nil {
				return fmt.Errorf("%s at ε = %v: %w", t.Name, epsilon, err)
			}
			mean, _, least, most := row.difference()
			reached, satisfied := row.reached()
			fmt.Fprintf(log, "%s at ε = %v: plain %.4f, auto %.4f, %+.2f points (%+.2f to %+.2f), target %.2f, %d of %d satisfied, %.0f s\n",
				t.Name, epsilon, stat.Mean(row.Plain, nil), stat.Mean(row.Auto, nil), mean, least, most, row.Target, satisfied,
				reached, time.Since(start).Seconds())
			rows = append(rows, row)
		}
	}
	return writeOwn(dir, rows)
}

func (t ownTable) load(ctx context.Context, name string) (*data.Dataset, error) {
	if name == t.Name && t.Shape.Rows > 0 {
		return synth.Table(rng.New(1), name, t.Shape)
	}
	return libsvm.Load(ctx, name, fetch.Locator{Dir: os.Getenv("PROACTIVEDP_DATA")})
}

// ownSeedsAt returns the number of seeds that are compared at an ε.
func ownSeedsAt(epsilon float64) int {
	if epsilon < ownTargeted {
		return ownSmallSeeds
	}
	return ownSeeds
}

// row trains the plain stages and runs auto, with the same seeds.
func (t ownTable) row(ctx context.Context, source, probed *train.Source, epsilon float64, kept string) (ownRow, error) {
	row := ownRow{Table: t.Name, Epsilon: epsilon}
	spec := train.DefaultSpec()
	spec.Data, spec.Clients, spec.Split = source.Data().Name, 1, train.RecordSplit
	spec.SampleSize, spec.GradComps = "1", 1
	if source.Data().Classes > 2 {
		spec.Model = train.Softmax
	}
	p, err := source.Prepare(spec)
	if err != nil {
		return row, err
	}
	spec.Delta = dp.DefaultDelta(p.Config.Mechanism.DatasetSize)
	perf := sim.Perf{Workers: runtime.GOMAXPROCS(0)}
	request := propose.DefaultRequest(spec, epsilon)
	request.Rounds, request.Seeds, request.Count = []int{250, 1000, 4000}, propose.MinSeeds, 1 // takes a third of the time
	proposed, err := propose.Propose(ctx, request, propose.Options{Data: source, Probe: probed,
		Probing: propose.Other, Perf: perf, Trials: pool.Options{Workers: perf.Workers, Folder: kept}})
	if err != nil {
		return row, err
	}
	seeds := ownSeedsAt(epsilon)
	for seed := range uint64(seeds) {
		setting := proposed.Proposals[0].Setting
		setting.Seed = seed + 1
		setting, err := source.Calibrate(ctx, setting, epsilon) // N depends on the seed's split
		if err != nil {
			return row, err
		}
		plain, err := source.Prepare(setting)
		if err != nil {
			return row, err
		}
		r, err := plain.Train(ctx, perf, nil)
		if err != nil {
			return row, err
		}
		row.Plain, row.Baseline = append(row.Plain, r.TestAccuracy), row.Baseline+r.MajorityShare/float64(seeds)
		a, err := runOwn(ctx, source, spec, seed+1, epsilon, ownUnreached, perf)
		if err != nil {
			return row, err
		}
		row.Auto = append(row.Auto, a.TestAccuracy)
	}
	if epsilon != ownTargeted {
		return row, nil
	}
	row.Target = math.Floor(100*(row.Baseline+ownPart*(stat.Mean(row.Plain, nil)-row.Baseline))) / 100
	for seed := range uint64(seeds) {
		a, err := runOwn(ctx, source, spec, seed+1, epsilon, row.Target, perf)
		if err != nil {
			return row, err
		}
		row.Satisfied = append(row.Satisfied, a.Satisfied)
	}
	return row, nil
}

// runOwn runs auto for one client with the δ and the data of spec.
func runOwn(ctx context.Context, source *train.Source, spec train.Spec, seed uint64, epsilon, target float64,
	perf sim.Perf) (*auto.Report, error) {
	p, err := source.Prepare(spec)
	if err != nil {
		return nil, err
	}
	spec.Seed, spec.Holdout = seed, train.DefaultHoldout(p.Config.Mechanism.DatasetSize, epsilon)
	task := auto.NewTask(auto.Tight.Schedule(spec), auto.Tight,
		[]auto.Client{{Epsilon: epsilon, Delta: spec.Delta, Accuracy: target}})
	public, err := auto.PublicOf(source, task)
	if err != nil {
		return nil, err
	}
	return auto.Run(ctx, task, auto.Options{Public: public, Utility: auto.UsualSteps(source),
		Open: func(context.Context) (auto.Trainer, error) {
			return auto.NewTrainer(source, task, "", perf, 0, nil), nil
		}})
}

// ownSummary is what the comparison says about some of its rows.
type ownSummary struct {
	Cases     int     `json:"cases"`
	Mean      float64 `json:"mean_difference_points"`
	Least     float64 `json:"least_difference_points"` // of the means over the seeds
	Behind    int     `json:"all_seeds_behind"`        // cases in which auto is behind for each seed
	Reached   int     `json:"plain_runs_that_reach_the_target"`
	Satisfied int     `json:"satisfied_of_these"`
}

func summary(rows []ownRow, of func(ownRow) bool) ownSummary {
	var s ownSummary
	for _, r := range rows {
		if !of(r) {
			continue
		}
		mean, _, _, most := r.difference()
		if s.Cases == 0 || mean < s.Least {
			s.Least = mean
		}
		if s.Cases++; most < 0 {
			s.Behind++
		}
		s.Mean += mean
		reached, satisfied := r.reached()
		s.Reached, s.Satisfied = s.Reached+reached, s.Satisfied+satisfied
	}
	s.Mean /= float64(max(s.Cases, 1))
	return s
}

// writeOwn writes the picture, the table and the manifest.
func writeOwn(dir string, rows []ownRow) error {
	if len(rows) == 0 {
		return errors.New("nothing was compared")
	}
	table := [][]string{{"table", "epsilon", "seed", "baseline_mean", "plain_accuracy", "auto_accuracy", "target", "satisfied"}}
	short := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	p := plots.Picture{Title: "auto against one plain stage, on tables treated as own files", XLabel: "target epsilon of a record",
		YLabel: "auto − plain, points of test accuracy"}
	for _, e := range ownEpsilons {
		p.XNames = append(p.XNames, short(e))
	}
	zero := plots.Line{Emphasise: true}
	zero.AddLevel(0, float64(len(ownEpsilons)-1), 0)
	tables := ownTables()
	others := plots.Line{Name: fmt.Sprintf("the %d other tables", len(tables)-ownWhole), Scatter: true}
	for i, of := range tables {
		line := plots.Line{Name: of.Name, Points: true}
		for _, r := range rows {
			if r.Table != of.Name {
				continue
			}
			mean, _, _, _ := r.difference()
			to := &line
			if i >= ownWhole {
				to = &others
			}
			to.Add(float64(slices.Index(ownEpsilons, r.Epsilon)), mean, mean, mean)
			p.YMin, p.YMax = min(p.YMin, mean-1), max(p.YMax, mean+1)
			for i := range r.Plain {
				target, satisfied := "", ""
				if r.Satisfied != nil {
					target, satisfied = short(r.Target), strconv.FormatBool(r.Satisfied[i])
				}
				table = append(table, []string{r.Table, short(r.Epsilon), strconv.Itoa(i + 1), short(r.Baseline), short(r.Plain[i]),
					short(r.Auto[i]), target, satisfied})
			}
		}
		if i < ownWhole {
			p.Lines = append(p.Lines, line)
		}
	}
	p.Lines = append(p.Lines, others, zero)
	all := summary(rows, func(ownRow) bool { return true })
	targeted := summary(rows, func(r ownRow) bool { return r.Epsilon == ownTargeted })
	p.Caption = fmt.Sprintf("Mean over %d seeds, and %d below ε = 1. The plain stage is one training with the whole budget at the first setting of "+
		"propose --seeds 3 --steps 250,1000,4000, which probed a public set. auto holds out up to a sixth of the records, or about 500, "+
		"and half as many at small ε, and takes the usual steps. On average auto is %+.2f points from the plain stage; in %d of %d cases all seeds are behind it.",
		ownSeeds, ownSmallSeeds, all.Mean, all.Behind, all.Cases)
	return results.WriteFiles(dir, map[string]func(io.Writer) error{
		scalePicture: func(w io.Writer) error { return p.WritePNG(w) },
		scaleReadme:  files.Text(ownReadme(rows, all, targeted)),
	}, table, map[string]any{
		"command": "make auto-against-plain", "version": version.Get().Source(), "go": runtime.Version(),
		"made": time.Now().UTC().Format(time.DateOnly), "tables": tables, "seeds": ownSeeds, "seeds_below_one": ownSmallSeeds, "all": all, "at_one": targeted,
		"caption": p.Caption, "manifest_sha256": "", "files": []string{scalePicture, results.TableFile, scaleReadme},
	})
}

func ownReadme(rows []ownRow, all, targeted ownSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# auto and one plain training

Made by `+"`make auto-against-plain`"+`. This page compares the command auto with plain training on the same tables. Each
table is treated as a user's own file: one client, test rows chosen by a hash, and the default δ.

The *plain* training is one training that spends the whole budget. Its setting is the first one that propose finds on a
public data set. The command auto also spends the whole budget, but does not train on held-out records. Differences are
auto − plain, in percentage points of test accuracy, with the standard error of the mean over %d seeds, or %d below
ε = 1.

![difference of the accuracies against ε](figure.png)

- On %d tables at ε = %v, the accuracy of auto is %+.2f points from that of plain training on average, and %+.2f
  points on the worst table.
- In all %d cases (the first %d tables also at other ε), the accuracy of auto is %+.2f points from that of plain
  training on average, and %+.2f points in the worst case.
- At ε = %v, auto also got a target accuracy. It is above the baseline (always predicting the most frequent class) by %g
  times as much as plain training is. %d plain trainings reached the target. With their seeds, auto reported success in
  %d cases.

The number of records that auto holds out was chosen after runs on the first six tables, so these six are no
independent test.

| table | ε | plain | auto | auto − plain: mean | least | most | target | plain reaches it | auto satisfied then |
|---|---|---|---|---|---|---|---|---|---|
`, ownSeeds, ownSmallSeeds, targeted.Cases, ownTargeted, targeted.Mean, targeted.Least, all.Cases, ownWhole, all.Mean, all.Least, ownTargeted, ownPart,
		targeted.Reached, targeted.Satisfied)
	for _, r := range rows {
		mean, standardError, least, most := r.difference()
		target := "| | |"
		if r.Satisfied != nil {
			reached, satisfied := r.reached()
			target = fmt.Sprintf("%.2f | %d | %d |", r.Target, reached, satisfied)
		}
		fmt.Fprintf(&b, "| %s | %v | %.4f | %.4f | %+.2f ± %.2f | %+.2f | %+.2f | %s\n", r.Table, r.Epsilon, stat.Mean(r.Plain, nil),
			stat.Mean(r.Auto, nil), mean, standardError, least, most, target)
	}
	return b.String()
}
