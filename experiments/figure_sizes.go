package experiments

import (
	"context"
	"fmt"
	"math"
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
	fig := s.pricedFigure(s.name()+"-sample-size-equal", "", s.sizesTwice, s.drawSizes)
	fig.Title = fmt.Sprintf("Sample sizes with the same σ, and with the same certified ε, %s on %s",
		train.ModelTitle(s.Train.Model), s.Train.Data)
	fig.Sizes, fig.Equal, fig.Long = true, true, s.long
	return fig
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
	var all, equal []priced
	for _, m := range s.sizeMembers(f) {
		spec, err := f.part(m.spec)
		if err != nil {
			return nil, err
		}
		one, err := f.price(ctx, oneSigma, spec)
		if err != nil {
			return nil, err
		}
		if spec, err = f.source.CalibrateSeeds(ctx, spec, f.seeds, epsilon); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		spec.TargetEpsilon = 0 // its σ is known now
		other, err := f.price(ctx, results.OneEpsilon, spec)
		if err != nil {
			return nil, err
		}
		all, equal = append(all, one), append(equal, other)
	}
	return append(all, equal...), nil
}

// drawSizes draws the figure: the accuracy over the sample size, and a table with a row for each size. It
// returns which size to use.
func (s experiment) drawSizes(f *figureConfig, all []priced, p *plots.Picture) string {
	n := len(all) / 2
	fixed, equal := all[:n], all[n:]
	p.Title = fmt.Sprintf("%s, %s: which sample size is best?", f.data().Name, train.ModelTitle(s.Train.Model))
	p.XLabel = "sample size s"
	p.Lines = linesOver(all, func(p *priced) float64 { return float64(p.size()) })
	p.Rows = [][]string{{"s", "T", "messages", "bytes a parameter", "same σ", "ε", "accuracy", "same ε: σ", "ε", "accuracy"}}
	for i := range n {
		messages := fixed[i].Train.Clients * fixed[i].Privacy.PerClient.Rounds
		row := []string{fixed[i].Train.SampleSize, strconv.Itoa(fixed[i].Privacy.PerClient.Rounds),
			strconv.Itoa(messages), strconv.Itoa(plan.BytesPerParameter * messages)}
		for _, one := range []priced{fixed[i], equal[i]} {
			mean, sd := report.Spread(one.accuracy)
			row = append(row, decimal.Up(one.Train.NoiseMultiplier, 4),
				epsilonAtMost(one.Privacy.Certified.PerRecord.EpsilonUpper),
				report.SpreadText(mean, sd, len(one.accuracy)))
		}
		p.Rows = append(p.Rows, row)
	}
	spec, privacy := fixed[0].Train, fixed[0].Privacy
	p.Caption = fmt.Sprintf("%s, K = %d each, C = %g, step size %s, %s, partition %s; %s%s; test accuracy at the end.\n"+
		"Same σ: as the paper compares sizes; a larger s then costs more ε. Same ε: the least σ for it that the certified "+
		"accountant (%s) allows.\n"+
		"ε: certified, upper end, per record over all clients that hold it, δ = %s, %s adjacency, %s sampling. Messages: "+
		"updates of all clients. Numbered seeds: a simulation, no release.",
		decimal.Many(spec.Clients, "client"), spec.GradComps, spec.Clip, spec.StepText()+s.foundBy(), behindText(spec.Delay),
		spec.Partition, spreadText(f.seeds), f.note(), privacy.Certified.PerClient.Accountant,
		decimal.Up(privacy.Delta, 4), privacy.Adjacency, privacy.Sampling)
	advice := sizesAdvice(fixed, equal)
	p.Caption += "\n" + advice
	return advice
}

// size returns the constant sample size of the training.
func (p *priced) size() int {
	n, err := strconv.Atoi(p.Train.SampleSize)
	if err != nil {
		return 0 // sizesTwice makes constant sizes only
	}
	return n
}

// sizesAdvice says in two sentences what the figure shows, and which sample size to use: the largest
// whose mean accuracy at the same ε is within one standard deviation over seeds of the best mean. It
// needs the fewest messages.
func sizesAdvice(fixed, equal []priced) string {
	least, most := math.Inf(1), 0.0
	for i := range fixed {
		least, most = min(least, fixed[i].epsilon()), max(most, fixed[i].epsilon())
	}
	best, worst, spread := 0.0, 1.0, 0.0
	for _, p := range equal {
		mean, sd := report.Spread(p.accuracy)
		worst = min(worst, mean)
		if mean > best {
			best, spread = mean, sd
		}
	}
	chosen := 0
	for _, p := range equal {
		if mean, _ := report.Spread(p.accuracy); mean >= best-spread {
			chosen = max(chosen, p.size())
		}
	}
	return fmt.Sprintf("With the same σ, the costs differ by a factor of %s in ε. With the same ε, the mean accuracies are "+
		"between %s and %s. Recommended: s = %d, the largest within one standard deviation of the best, because it "+
		"needs the fewest messages.", report.Fixed(most/least, 1), report.Fixed(worst, 4), report.Fixed(best, 4), chosen)
}
