package training

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/experiments"
	"proactivedp/propose"
	"proactivedp/train"
)

// checkSeeds is the number of matched seeds with which predictions are checked.
const checkSeeds = 5

// checkPredictions compares predictions with trainings. If a folder is given, it writes a figure.
func (f *proposeFlags) checkPredictions(cmd *cobra.Command) error {
	others := []string{"target-epsilon", "target-accuracy", "target", "probe", "steps", "against-grid"}
	if err := cli.RefuseWith(cmd, "check", slices.Concat(givenFlags, cli.OwnFlagNames, others)...); err != nil {
		return cli.Usage(err)
	}
	if cmd.Flags().Changed("count") {
		r := propose.DefaultRequest(train.DefaultSpec(), train.UsualEpsilon)
		r.Count = f.request.Count
		if err := errors.Join(cli.RefuseWith(cmd, "count", "fresh"), r.Validate()); err != nil {
			return cli.Usage(err)
		}
	}
	if err := f.drawing.check(cmd, f.out); err != nil {
		return cli.Usage(err)
	}
	cases, seeds := experiments.PredictionCases(), cli.Given(cmd, "seeds", f.request.Seeds, checkSeeds)
	command := "proactivedp propose --check"
	switch {
	case cmd.Flags().Changed("count"):
		cases = experiments.ProposedPredictionCases(f.request.Count)
		command += fmt.Sprintf(" --count %d", f.request.Count)
	case cmd.Flags().Changed("fresh"):
		cases = experiments.FreshPredictionCases(f.fresh)
		command += fmt.Sprintf(" --fresh %d", f.fresh)
	}
	command += " --seeds " + strconv.Itoa(seeds) + drawingText(f.drawing.Drawing)
	start := time.Now()
	var all []experiments.PredictionCheck
	var sources []*train.Source
	err := inFolder(f.out, func() (err error) {
		all, sources, err = f.checkCases(cmd, cases, seeds)
		return err
	})
	if err != nil {
		return err
	}
	r := experiments.NewPredictionReport(all)
	if f.out != "" {
		if err := r.Write(f.out, command, f.drawing.Drawing, cases, sources, seeds, time.Since(start)); err != nil {
			return err
		}
	}
	return cli.Report(cmd, r)
}

// checkCases predicts and trains the settings of the cases. It also returns the data sets that it
// used.
func (f *proposeFlags) checkCases(cmd *cobra.Command, cases []experiments.PredictionCase, seeds int) (
	all []experiments.PredictionCheck, sources []*train.Source, err error,
) {
	known := map[string]*train.Source{}
	for _, c := range cases {
		source := known[c.Base.Data]
		if source == nil {
			d, err := f.where.Load(cmd, c.Base.Data)
			if err != nil {
				return nil, nil, err
			}
			source = train.NewSource(d)
			known[c.Base.Data] = source
			sources = append(sources, source)
		}
		checked, err := c.Check(cmd.Context(), source, seeds, trials(cmd, &f.where, f.workers, f.out))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, checked...)
	}
	return all, sources, nil
}
