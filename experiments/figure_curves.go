package experiments

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// member is one line of a figure of training curves.
type member struct {
	name      string     // what differs, and then perhaps further settings in brackets
	spec      train.Spec // spec of the runs, without the seed
	stated    float64    // ε that the paper states for its N, or 0
	reference bool       // whether it is the run without noise, which is a reference
	colour    color.RGBA // of its line, or the zero value for the next one of the palette
}

// sampleSizeFigure returns the paper's figure (b): test accuracy during training, for several constant
// sample sizes at one noise multiplier.
func (s experiment) sampleSizeFigure() Figure {
	fig := s.curveFigure("sample-size", "Sample-size sweep at σ = "+decimal.Exactly(s.Train.NoiseMultiplier),
		s.sizeMembers)
	fig.Sizes = true
	return fig
}

// sizeMembers returns a line for each sample size of the configuration, or of the experiment if it has
// none.
func (s experiment) sizeMembers(f *figureConfig) []member {
	sizes := s.sizes
	if len(f.sizes) > 0 {
		sizes = f.sizes
	}
	var members []member
	for _, size := range sizes {
		spec := s.Train
		spec.SampleSize = strconv.Itoa(size)
		name := fmt.Sprintf("s = %d", size)
		members = append(members, member{name: name, spec: spec, stated: s.paper.Basic.Epsilon.Value()})
	}
	return members
}

// epsilonFigure returns the paper's figure (c): test accuracy during training, for the rows of its
// budget table and without noise.
func (s experiment) epsilonFigure() Figure {
	return s.curveFigure("epsilon", fmt.Sprintf("Privacy budgets of the paper's table for N = %d", s.paper.N), s.budgetMembers)
}

// budgetMembers returns a line without noise, and then one for each row of the paper's budget table.
func (s experiment) budgetMembers(*figureConfig) []member {
	plain := s.WithoutNoise()
	members := []member{{name: fmt.Sprintf("no noise (s %s)", plain.SampleSize), spec: plain, reference: true}}
	for _, b := range s.paper.Budgets.Rows {
		spec := s.Train
		spec.SampleSize, spec.NoiseMultiplier = string(b.Size), b.Sigma.Value()
		// Rounded up, so that a reader who copies this σ does not pay more than the ε next to it.
		sigma := decimal.Up(spec.NoiseMultiplier, 4)
		members = append(members, member{
			name:   fmt.Sprintf("ε %g (σ %s, s %s)", b.Epsilon.Value(), sigma, b.Size),
			spec:   spec,
			stated: b.Epsilon.Value(),
		})
	}
	return members
}

// stepSizeFigure returns a figure that compares step sizes: the one that the paper prints, and those that this program
// found by a search. Each is used with and without noise, because the paper's loss of accuracy is one at a single step
// size.
func (s experiment) stepSizeFigure() Figure {
	return s.curveFigure("step-size", "Step sizes with and without noise", s.stepMembers)
}

// stepMembers returns two lines for each step size: with the noise of the experiment, and without.
func (s experiment) stepMembers(*figureConfig) []member {
	found := pool.Steps{Eta0: s.Train.Eta0, Beta: s.Train.Beta, Decay: sim.Decay(s.Train.Schedule)}
	var members []member
	for i, of := range []struct {
		steps pool.Steps
		what  string
	}{{s.Printed, "as printed"}, {found, "searched with noise"}, {s.Plain, "searched without noise"}} {
		noised := of.steps.Of(s.Train)
		plain := noised
		plain.NoiseMultiplier = 0
		colour := plots.Palette[i%len(plots.Palette)]
		members = append(members,
			member{name: fmt.Sprintf("%s (%s)", noised.StepText(), of.what), spec: noised,
				stated: s.paper.Basic.Epsilon.Value(), colour: colour},
			member{name: fmt.Sprintf("%s without noise", noised.StepText()), spec: plain, reference: true, colour: colour})
	}
	return members
}

// curveFigure returns a figure of training curves, with a line for each member. The configuration changes the specs of
// the members: its fraction of K and its runner.
func (s experiment) curveFigure(kind, title string, members func(f *figureConfig) []member) Figure {
	within := func(f *figureConfig) []member {
		out := slices.Clone(members(f))
		for i := range out {
			out[i].spec = f.by(out[i].spec)
			out[i].spec.GradComps = f.gradComps(s.paper.GradComps)
		}
		return out
	}
	return figureOf(Figure{
		Name:  s.name() + "-" + kind,
		Data:  s.Train.Data,
		Long:  s.long,
		Title: fmt.Sprintf("%s, %s on %s", title, train.ModelTitle(s.Train.Model), s.Train.Data),
	}, func(f *figureConfig) (cells []pool.Cell, err error) {
		for _, m := range within(f) {
			for seed := range f.seeds {
				m.spec.Seed = uint64(seed + 1)
				cells = append(cells, pool.OfCurve(m.spec, s.points, f.source))
			}
		}
		return cells, nil
	}, func(ctx context.Context, f *figureConfig, curves []*pool.Curve) (*content, error) {
		return s.drawCurves(ctx, f, within(f), curves)
	}, func(f *figureConfig, k *storedFigure) ([]*pool.Curve, error) {
		return storedCurves(k, len(members(f))*f.seeds)
	})
}

// drawCurves draws the curves, which are those of all members by seed.
func (s experiment) drawCurves(ctx context.Context, f *figureConfig, all []member, curves []*pool.Curve) (*content, error) {
	table := [][]string{{"data", "model", "series", "seed", "sample_size", "sigma", "clip", "rounds",
		"grad_computations", "broadcast_grad_computations", "test_accuracy",
		"delta", "epsilon_per_client", "epsilon_per_record",
		"certified_epsilon_per_client", "certified_epsilon_per_record",
		fmt.Sprintf("epsilon_stated_for_n_%d", s.paper.N)}}
	var lines []plots.Line
	var ends []string
	var config []train.Spec
	var privacy []claim.Report
	for i, m := range all {
		planned, err := f.planned(ctx, m.spec)
		if err != nil {
			return nil, err
		}
		bySeed := curves[i*f.seeds : (i+1)*f.seeds]
		for seed, curve := range bySeed {
			table = append(table, curveRows(f, m, seed, curve, planned)...)
		}
		lines, ends = append(lines, memberLine(m, bySeed, planned)), append(ends, finalAccuracy(bySeed))
		config, privacy = append(config, m.spec), append(privacy, planned)
	}
	picture := plots.Picture{
		Title: fmt.Sprintf("%s, %s: %s of the broadcast models", f.data().Name,
			train.ModelTitle(s.Train.Model), accuracyLabel(s.Train)),
		XLabel:  "gradient computations per client",
		YLabel:  accuracyLabel(s.Train) + " (fraction)",
		Caption: s.curveCaption(f, all, privacy),
		Rows:    privacyRows(all, privacy, ends),
		Banner:  f.banner(), Lines: lines,
		YMin: s.yMin, YMax: s.yMax,
	}
	picture.AddCloseUp()
	if err := addChance(&picture, f, all[0].spec); err != nil {
		return nil, err
	}
	return &content{
		picture: picture,
		table:   table,
		config: struct {
			Train   []train.Spec   `json:"train"`
			Privacy []claim.Report `json:"privacy"`
			Points  int            `json:"points"`
		}{config, privacy, s.points},
	}, nil
}

// curveRows returns the data of a run, with a row for each point.
func curveRows(f *figureConfig, m member, seed int, c *pool.Curve, planned claim.Report) [][]string {
	var rows [][]string
	for j, target := range c.Target {
		rows = append(rows, []string{f.data().Name, m.spec.Model, m.name, strconv.Itoa(seed + 1), m.spec.SampleSize,
			decimal.Exactly(m.spec.NoiseMultiplier), report.Number(m.spec.Clip),
			strconv.Itoa(planned.PerClient.Rounds),
			strconv.Itoa(target), strconv.Itoa(c.At[j]), report.Number(c.Accuracy[j]),
			decimal.Up(planned.Delta, 6), epsilonText(planned.Closed().PerClient.EpsilonUpper),
			epsilonText(planned.Closed().PerRecord.EpsilonUpper), epsilonText(planned.Certified.PerClient.EpsilonUpper),
			epsilonText(planned.Certified.PerRecord.EpsilonUpper), statedText(m.stated)})
	}
	return rows
}

// memberLine returns the line of m, the mean over seeds. Its name has the cost to a record in front of the settings in
// brackets.
func memberLine(m member, bySeed []*pool.Curve, planned claim.Report) plots.Line {
	line := averageCurves(m, bySeed)
	if e := planned.Certified.PerRecord.EpsilonUpper; e != nil && !m.reference {
		what, settings, has := strings.Cut(m.name, " (")
		line.Name = fmt.Sprintf("%s: certified ε ≤ %s", what, decimal.Up(*e, 3))
		if has {
			line.Name += "\n(" + settings
		}
	}
	return line
}

// finalAccuracy returns the mean final accuracy with its spread over seeds.
func finalAccuracy(curves []*pool.Curve) string {
	var ends []float64
	for _, c := range curves {
		ends = append(ends, c.Accuracy[len(c.Accuracy)-1])
	}
	mean, sd := report.Spread(ends)
	return report.SpreadText(mean, sd, len(ends))
}

// averageCurves returns the line of m: the mean of the curves, which differ in their seeds, with a
// band of one standard deviation.
func averageCurves(m member, curves []*pool.Curve) plots.Line {
	// A member that shares its colour with others needs a mark to be told apart.
	l := plots.Line{Name: m.name, Emphasise: m.reference && m.colour == (color.RGBA{}), Colour: m.colour}
	for j, target := range curves[0].Target {
		var y []float64
		for _, c := range curves {
			y = append(y, c.Accuracy[j])
		}
		addMean(&l, float64(target), y, 0)
	}
	return l
}

// addMean appends to l a point at x: the mean of y, with a band of one standard deviation. Each
// value of y may itself be a mean of numbers with the variance within, which is added to that of y.
func addMean(l *plots.Line, x float64, y []float64, within float64) {
	mean, sd := report.Spread(y)
	sd = math.Sqrt(sd*sd + within)
	l.Add(x, mean, mean-sd, mean+sd)
}

// curveCaption describes the plan of the runs and explains their table: the ε for the N that was used,
// and the one that the paper states for its own N.
func (s experiment) curveCaption(f *figureConfig, all []member, privacy []claim.Report) string {
	noised := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.reference })
	last := noised[len(noised)-1].spec
	differ := func(other func(train.Spec) bool) bool {
		return slices.ContainsFunc(noised, func(m member) bool { return other(m.spec) })
	}
	stated := fmt.Sprintf("The ε in a name is the one that the paper states for N = %d, δ = %s.", s.paper.N,
		decimal.Up(s.paper.Delta(), 4))
	if !differ(func(t train.Spec) bool { return t.NoiseMultiplier != last.NoiseMultiplier }) {
		stated = fmt.Sprintf("σ = %s; the paper states ε = %g for N = %d, δ = %s, s = %s.",
			decimal.Exactly(last.NoiseMultiplier), s.paper.Basic.Epsilon.Value(), s.paper.N,
			decimal.Up(s.paper.Delta(), 4), s.paper.Basic.Size)
	}
	if s.own != "" {
		stated = "" // the paper states nothing about custom data
	}
	step := "step size " + last.StepText()
	if first := all[0]; first.reference && first.spec.StepText() != last.StepText() {
		step += fmt.Sprintf(" (without noise %s)", first.spec.StepText())
	}
	step += s.foundBy()
	if differ(func(t train.Spec) bool { return t.StepText() != last.StepText() }) {
		step = "the step size of each line is in its name, t is the number of gradients of a client"
	}
	report, delta := privacy[0], "1/N"
	if last.Delta != 0 {
		delta = decimal.Up(last.Delta, 4)
	}
	return fmt.Sprintf("%s, K = %d each, C = %g, %s, %s, partition %s; "+
		"%s%s.\n",
		decimal.Many(last.Clients, "client"), last.GradComps, last.Clip, step, behindText(last.Delay), last.Partition,
		spreadText(f.seeds), f.note()) +
		fmt.Sprintf("ε for the N = %d of each client here, δ = %s, %s adjacency, %s sampling: per client, its T "+
			"rounds, and per record, which %s. "+
			"Certified: the upper end by %s, tight; closed form: an upper bound, corrected γ. "+
			"Numbered seeds: a simulation, no release. ",
			report.PerClient.DatasetSize, delta, report.Adjacency, report.Sampling, heldBy(last),
			report.Certified.PerClient.Accountant) + stated + " Legend: certified, per record."
}

// heldBy returns text about which clients hold a record, because a record pays for the rounds of
// all clients that hold it.
func heldBy(s train.Spec) string {
	switch {
	case data.Partition(s.Partition).Disjoint():
		return "one client alone holds"
	case s.Clients == 1:
		return "the client holds"
	}
	return fmt.Sprintf("all %d clients hold", s.Clients)
}

// privacyRows returns a table of the final accuracy and the ε of every member, after a header. It leaves out the closed
// form per record, which says little about the clients of the paper together.
func privacyRows(all []member, privacy []claim.Report, ends []string) [][]string {
	rows := [][]string{{"", all[0].spec.MetricName() + " at the end", "T", "certified: per client", "per record",
		"closed form: per client"}}
	for i, m := range all {
		row := []string{m.name, ends[i], strconv.Itoa(privacy[i].PerClient.Rounds)}
		certified, closed := privacy[i].Certified, privacy[i].Closed()
		for _, e := range []*float64{
			certified.PerClient.EpsilonUpper, certified.PerRecord.EpsilonUpper,
			closed.PerClient.EpsilonUpper,
		} {
			text := report.NotCovered
			if m.reference {
				text = report.NoAnswer
			} else if e != nil {
				text = "ε ≤ " + decimal.Up(*e, 4)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// foundBy returns text about the origin of a step size that is not the paper's. With custom data it follows from
// the noise.
func (s experiment) foundBy() string {
	if s.own == "" && train.IsNetwork(s.Train.Model) {
		return ", searched on held-out records"
	}
	return ""
}

// behindText describes how far behind a round may be under a permissible delay.
func behindText(delay string) string {
	if _, err := strconv.Atoi(delay); err != nil {
		return "permissible delay " + delayName(delay)
	}
	if delay == "1" {
		return "at most 1 round behind"
	}
	return "at most " + delay + " rounds behind"
}

func statedText(e float64) string {
	if e == 0 {
		return ""
	}
	return report.Number(e)
}
