package main

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/experiments"
	"proactivedp/sim"
	"proactivedp/train"
)

func newUtility() *cobra.Command {
	var where dataFlags
	spec, clips := experiments.PaperUtilitySpec("", "")
	flags := trainFlags{spec: spec.Train}
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
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.fill(cmd, func(model, dataset string) train.Spec {
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
			spec.Train = flags.spec
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
			if err := checkTrain(cmd, spec.Train, distinct(errs), 1); err != nil {
				return err
			}
			d, err := where.loadFor(cmd, spec.Train)
			if err != nil {
				return err
			}
			source := train.NewSource(d)
			p, err := source.Prepare(spec.Train)
			if err != nil {
				return usage(err)
			}
			perf := sim.Perf{Workers: runtime.GOMAXPROCS(0)}
			if err := p.Fits(perf, int64(where.memory)); err != nil {
				return err
			}
			start := time.Now()
			r, err := spec.Graph(cmd.Context(), source, clips, perf, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if out != "" {
				if err := r.Write(out, utilityCommand(spec, clips)+where.own.text(), source,
					time.Since(start)); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return r.WriteText(cmd.OutOrStdout())
		},
	}
	where.addWithin(cmd)
	where.own.add(cmd)
	flags.add(cmd, settingFlags, pointFlags)
	f := cmd.Flags()
	numbersVar(f, &clips, "clip", clips, "clipping norms C, in [1e-30, 1e30]")
	numbersVar(f, &spec.Sigmas, "sigma", spec.Sigmas, "noise multipliers σ, at least 0")
	countVar(f, &spec.Draws, "draws", spec.Draws, "draws of n per point, in [1, 1000000]")
	f.StringVar(&out, "out", "", "`folder` for the graph as a picture, with its data and a manifest")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// distinct joins errors, each message once: the lines of a utility graph share
// all settings but one.
func distinct(errs []error) error {
	seen := map[string]bool{}
	var out []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !seen[line] {
				seen[line] = true
				out = append(out, errors.New(line))
			}
		}
	}
	return errors.Join(out...)
}
