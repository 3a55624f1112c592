package experiments

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/plan"
	"proactivedp/train"
)

// oneSigma is the series in which every sample size has the experiment's noise multiplier.
const oneSigma = "the same σ for every s"

// equalSizesFigure compares sample sizes twice: with the same noise multiplier, as the paper does, and
// with the least noise multiplier for the same certified ε. With the same σ, a larger sample costs
// more ε, so the first comparison is between unequal budgets.
func (s experiment) equalSizesFigure() Figure {
	fig := s.pricedFigure(s.name()+"-sample-size-equal", "", s.sizesTwice, nil, s.drawSizes)
	fig.Title = fmt.Sprintf("Sample sizes with the same σ, and with the same certified ε, %s on %s",
		train.ModelTitle(s.Train.Model), s.Train.Data)
	fig.Sizes, fig.Equal, fig.Long, fig.series = true, true, s.long, true
	return s.timed(fig)
}

// sizesTwice returns a training of each sample size with the σ of the experiment, and then one of each
// with the least σ for one ε: that of the configuration, or what the experiment's own training costs.
// All compute the same number of gradients.
func (s experiment) sizesTwice(ctx context.Context, f *figureConfig) ([]priced, error) {
	epsilon := f.epsilon
	if epsilon == 0 {
		spec, err := f.part(s.Train)
		if err != nil {
			return nil, err
		}
		own, err := f.price(ctx, "the experiment's own training", spec)
		if err != nil {
			return nil, err
		}
		epsilon = own.epsilon()
	}
	specs, err := s.sizeSpecs(f)
	if err != nil {
		return nil, err
	}
	all, err := f.series(ctx, oneSigma, len(specs), func(i int) (train.Spec, error) { return specs[i], nil })
	if err != nil {
		return nil, err
	}
	equal, err := f.series(ctx, results.OneEpsilon, len(specs), func(i int) (train.Spec, error) {
		spec, err := f.source.CalibrateSeeds(ctx, specs[i], f.seeds, epsilon)
		spec.TargetEpsilon = 0 // its σ is known now
		return spec, err
	})
	return append(all, equal...), err
}

// sizeSpecs returns the training of each sample size with the σ of the experiment. The sizes increase, as the x axis
// needs it.
func (s experiment) sizeSpecs(f *figureConfig) ([]train.Spec, error) {
	sorted := *f
	sorted.sizes = slices.Sorted(slices.Values(f.sizes))
	var specs []train.Spec
	for _, m := range s.sizeMembers(&sorted) {
		spec, err := f.part(m.spec)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// drawSizes draws the figure: the accuracy over the sample size, and a table with a row for each size. It
// returns which size to use.
func (s experiment) drawSizes(f *figureConfig, all []priced, p *plots.Picture) string {
	n := len(all) / 2
	fixed, equal := all[:n], all[n:]
	p.Title = fmt.Sprintf("%s, %s: which sample size is best?", f.data().Name, train.ModelTitle(s.Train.Model))
	p.XLabel = "sample size s"
	metric := s.Train.MetricName()
	p.Lines = linesOver(all, func(p *priced) float64 { return float64(p.size()) })
	header := []string{"s", "T", "messages", "bytes", "simulated"}
	if f.measured() {
		header = append(header, "hogwild")
	}
	p.Rows = [][]string{append(header, "same σ: ε", metric, "same ε: σ", metric)}
	same := 0.0
	for i := range n {
		messages := fixed[i].messages()
		row := []string{fixed[i].Train.SampleSize, strconv.Itoa(fixed[i].Privacy.PerClient.Rounds),
			strconv.Itoa(messages), strconv.Itoa(plan.BytesPerParameter * messages)}
		row = append(row, f.times[i].row(f.measured())...)
		for j, one := range []priced{fixed[i], equal[i]} {
			mean, sd := report.Spread(one.accuracy)
			own := epsilonAtMost(one.Privacy.Certified.PerRecord.EpsilonUpper)
			if j == 1 {
				own = decimal.Up(one.Train.NoiseMultiplier, 4)
				same = max(same, one.epsilon())
			}
			row = append(row, own, report.SpreadText(mean, sd, len(one.accuracy)))
		}
		p.Rows = append(p.Rows, row)
	}
	spec, privacy := fixed[0].Train, fixed[0].Privacy
	p.Caption = fmt.Sprintf("%s, K = %d each, C = %g, step size %s, %s, partition %s; %s%s; %s at the end.\n"+
		"Same σ = %s: as the paper compares sizes; a larger s then costs more ε. Same ε ≤ %s: the least σ for it that the "+
		"certified accountant (%s) allows.\n"+
		"ε: certified, upper end, per record over all clients that hold it, δ = %s, %s adjacency, %s sampling. Messages: "+
		"updates of all clients; bytes: their size for each parameter. %s Numbered seeds: a simulation, no release.",
		decimal.Many(spec.Clients, "client"), spec.GradComps, spec.Clip, spec.StepText()+s.foundBy(), behindText(spec.Delay),
		spec.Partition, spreadText(f.seeds), f.note(), accuracyLabel(spec), decimal.Up(spec.NoiseMultiplier, 4), decimal.Up(same, 4),
		privacy.Certified.PerClient.Accountant, decimal.Up(privacy.Delta, 4), privacy.Adjacency, privacy.Sampling, f.timesText(spec))
	advice := sizesAdvice(fixed, equal, f.times, f.judged(spec))
	p.Caption += "\n" + advice
	return advice
}

// judges are the rows that trainings of a figure are judged by: how many there are, and the metric of always predicting
// the most frequent class.
type judges struct {
	rows     int
	baseline float64
}

// judged returns the rows that trainings of the spec are judged by. There are none if it cannot be trained.
func (f *figureConfig) judged(spec train.Spec) judges {
	p, err := f.source.Prepare(spec)
	if err != nil {
		return judges{}
	}
	return judges{p.Test.Len(), p.Baseline(p.Test)}
}

// size returns the constant sample size of the training.
func (p *priced) size() int {
	n, err := strconv.Atoi(p.Train.SampleSize)
	if err != nil {
		return 0 // sizesTwice makes constant sizes only
	}
	return n
}

// messages returns how many updates all clients send.
func (p *priced) messages() int { return p.Train.Clients * p.Privacy.PerClient.Rounds }

// sizesAdvice says what the figure shows, and which sample size to use: the largest that is as good as the
// best one at the same ε, see tolerance, because a larger size needs fewer messages.
func sizesAdvice(fixed, equal []priced, times []SizeTime, by judges) string {
	least, most := math.Inf(1), 0.0
	for i := range fixed {
		least, most = min(least, fixed[i].epsilon()), max(most, fixed[i].epsilon())
	}
	spec, seeds := equal[0].Train, len(equal[0].accuracy)
	best, worst, near := 0.0, 1.0, 0.0
	for _, p := range equal {
		mean, sd := report.Spread(p.accuracy)
		worst = min(worst, mean)
		if mean > best {
			best, near = mean, tolerance(spec, mean, sd, by.rows)
		}
	}
	text := fmt.Sprintf("With the same σ, the costs differ by a factor of %s in ε. With the same ε, the mean of %s is between "+
		"%s and %s. ", report.Fixed(most/least, 1), spec.MetricName(), report.Fixed(worst, 4), report.Fixed(best, 4))
	if len(equal) == 1 {
		return text + "There is one size, so none is recommended: use --sizes."
	}
	if by.rows < 1 {
		return text + "The rows that judge are not known, so no size is recommended."
	}
	if seeds == 1 && !spec.IsAccuracy() {
		return text + "One seed does not show which differences are chance, so no size is recommended: use --seeds."
	}
	if best <= by.baseline+near {
		return text + fmt.Sprintf("No size is clearly better than always predicting the most frequent class (%s), so none is "+
			"recommended: use a larger ε or more gradients.", report.Fixed(by.baseline, 4))
	}
	chosen, small := -1, 0
	for i := range equal {
		mean, _ := report.Spread(equal[i].accuracy)
		if mean >= best-near && (chosen < 0 || equal[i].size() > equal[chosen].size()) {
			chosen = i
		}
		if equal[i].size() < equal[small].size() {
			small = i
		}
	}
	text += fmt.Sprintf("Recommended: s = %d, the largest within %s of the best, which may be chance.", equal[chosen].size(),
		report.Fixed(near, 4))
	if chosen == small {
		return text
	}
	cost := func(i int) string {
		return decimal.Many(equal[i].messages(), "message") + " in " + times[i].text()
	}
	return text + fmt.Sprintf(" It sends %s; s = %d sends %s.", cost(chosen), equal[small].size(), cost(small))
}
