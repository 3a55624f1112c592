package training

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/experiments"
	"proactivedp/sim"
	"proactivedp/train"
)

func newUtility() *cobra.Command {
	var where cli.DataFlags
	spec, clips := experiments.PaperUtilitySpec("", "")
	flags := cli.TrainFlags{Spec: spec.Train}
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "utility",
		Short: "How much accuracy a trained model keeps under noise, against σ and C",
		Long: `Train w* with clipping and without noise, add n ~ N(0, C²σ²I) to every coordinate,
and print the test accuracy of w* + n over that of w*: the paper's utility graph,
which tells which (σ, C) cannot work before any private training. It looks at the
data without noise and is itself covered by no (ε, δ). The defaults are the paper's,
but for the step size of networks, as those of train.`,
		Example: `  proactivedp utility
  proactivedp utility --data mushrooms --clip 0.1 --sigma 5,18,22 --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Fill(cmd, func(model, dataset string) train.Spec {
				paper, paperClips := experiments.PaperUtilitySpec(model, dataset)
				if !cmd.Flags().Changed("clip") {
					clips = paperClips
				}
				if !cmd.Flags().Changed("sigma") {
					spec.Sigmas = paper.Sigmas
				}
				if !cmd.Flags().Changed("draws") {
					spec.Draws = paper.Draws
				}
				return paper.Train
			}); err != nil {
				return err
			}
			spec.Train = flags.Spec
			slices.Sort(clips)
			errs := []error{spec.Validate()}
			for _, clip := range clips {
				one := spec.Train
				one.Clip = clip
				errs = append(errs, one.Validate())
			}
			if len(clips) == 0 {
				errs = append(errs, errors.New("--clip: none given, must be at least one"))
			}
			if err := checkTrain(cmd, spec.Train, cli.Distinct(errs), 1); err != nil {
				return err
			}
			d, err := where.LoadFor(cmd, spec.Train)
			if err != nil {
				return err
			}
			source := train.NewSource(d)
			p, err := source.Prepare(spec.Train)
			if err != nil {
				return cli.Usage(err)
			}
			perf := sim.Perf{Workers: runtime.GOMAXPROCS(0)}
			if err := p.Fits(perf, int64(where.Memory)); err != nil {
				return err
			}
			start := time.Now()
			r, err := experiments.Graph(cmd.Context(), spec, source, clips, perf, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if out != "" {
				if err := r.Write(out, utilityCommand(spec, clips)+where.Own.Text(), source,
					time.Since(start)); err != nil {
					return err
				}
			}
			return cli.Report(cmd, asJSON, r)
		},
	}
	where.AddWithin(cmd)
	where.Own.Add(cmd)
	flags.Add(cmd, cli.SettingFlags, cli.PointFlags)
	f := cmd.Flags()
	cli.NumbersVar(f, &clips, "clip", clips, "clipping norms C, in [1e-30, 1e30]")
	cli.NumbersVar(f, &spec.Sigmas, "sigma", spec.Sigmas, "noise multipliers σ, at least 0")
	cli.CountVar(f, &spec.Draws, "draws", spec.Draws, "draws of n per point, in [1, 1000000]")
	f.StringVar(&out, "out", "", "`folder` for the graph as a picture, with its data and a manifest")
	cli.JSONVar(f, &asJSON)
	return cmd
}
