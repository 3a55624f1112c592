package privacy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/message"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// Solvable lists the quantities that the command calibrate can solve for, as the names of their flags.
var Solvable = []string{"noise-multiplier", "sample-rate", "steps"}

func newCalibrate() *cobra.Command {
	var release releaseFlags
	var target plan.Target
	var out cli.OutputFlags
	var solve string
	by := accountantFlags{name: pld.Accountant{}.Name(), accuracy: pld.DefaultAccuracy}
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Find the least noise, or the most rounds, within a budget (ε, δ)",
		Long: `Give two of the noise multiplier σ, the sample rate q and the number of rounds T, and
calibrate finds the third: the least σ, the largest q, or the most rounds T for which the
upper bound on ε is at most --target-epsilon at --delta. With --n and no --batch-size, it
finds the largest sample size s instead of q. The accountant is pld, which gives a
certified interval, unless --accountant names another one. gdp is accepted only where it
is exact (q = 1).

The defaults are add-or-remove adjacency and Poisson sampling. The answer for Poisson
sampling does not hold for a data loader that shuffles: see account --help.`,
		Example: `  proactivedp calibrate --target-epsilon 2 --delta 1e-5 --solve sigma --sample-rate 0.01 --steps 10000
  proactivedp calibrate --target-epsilon 3 --delta 1e-5 --batch-size 512 --n 60000 --epochs 15
  proactivedp calibrate --target-epsilon 1 --delta 1e-5 --solve steps --noise-multiplier 1.2 --batch-size 256 --n 60000 --json
  proactivedp calibrate --target-epsilon 1 --delta 1e-5 --noise-multiplier 2 --steps 1000 --n 20000`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			unknown, unknownErr := unknownOf(cmd, solve)
			e, releaseErr := release.event(cmd, unknown)
			err := errors.Join(out.Check(), by.check(cmd), unknownErr, releaseErr)
			if unknown != "noise-multiplier" {
				err = errors.Join(err, cli.RefuseZeros(cmd, "noise-multiplier"))
			}
			for _, b := range []struct {
				flag  string
				value *float64
			}{{"target-epsilon", &target.Epsilon}, {"delta", &target.Delta}} {
				if !cli.AnyChanged(cmd, b.flag) {
					err, *b.value = errors.Join(err, fmt.Errorf("--%s is missing", b.flag)), 0.5 // a valid value, so that the other fields are still checked
				}
			}
			target.Sampling, target.Adjacency, target.Redraw = e.Sampling, e.Adjacency, e.Redraw
			target.Sigma, target.SampleRate = 1, 1 // valid values, so that the budget is checked in any case
			if err == nil {
				target.Sigma, target.SampleRate, target.Steps = e.NoiseMultiplier, e.Rate, e.Count
				target.SampleSize, target.DatasetSize, target.Group = e.SampleSize, e.DatasetSize, e.Group
				switch unknown {
				case "noise-multiplier":
					target.Sigma = 0
				case "sample-rate":
					target.SampleRate, target.DatasetSize = 0, release.n
				case "steps":
					target.Steps = 0
				}
			}
			q := answer.CalibrateQuestion{Target: target, Accountant: by.name, Accuracy: by.accuracy}
			if err := errors.Join(err, q.Validate()); err != nil {
				return cli.Usage(err)
			}
			c, err := answer.Calibrate(cmd.Context(), q)
			if err != nil {
				return err
			}
			if out.IsCode() {
				release, err := libraries.OfEvents([]dp.Event{c.Event()}, c.Bound())
				return out.PrintCode(cmd, release, err)
			}
			return out.Print(cmd, c.Statement, c, c.WriteText)
		},
	}
	release.add(cmd)
	by.add(cmd)
	out.Add(cmd)
	out.AddFormat(cmd)
	f := cmd.Flags()
	f.Lookup("noise-multiplier").Usage = "noise multiplier σ, in [0.05, 1e6]: the noise is N(0, C²σ²) per coordinate"
	f.StringVar(&solve, "solve", "", strings.Join(Solvable, ", ")+" (default: the one that is not given)")
	f.Float64Var(&target.Epsilon, "target-epsilon", 0, "ε that is allowed, in [1e-8, 1e4]")
	f.Float64Var(&target.Delta, "delta", 0, "δ in (0, 1)")
	return cmd
}

// unknownOf returns the quantity to solve for: solve, or else the one that was not given.
func unknownOf(cmd *cobra.Command, solve string) (string, error) {
	if cmd.Flags().Changed("solve") {
		solve = string(cli.FieldName(nil, solve))
		if !slices.Contains(Solvable, solve) {
			return "", fmt.Errorf("--solve = %q, must be one of %s%s",
				solve, strings.Join(Solvable, ", "), message.Meant(solve, Solvable))
		}
		return solve, nil
	}
	given := map[string]bool{"noise-multiplier": cli.AnyChanged(cmd, "noise-multiplier"),
		"sample-rate": cli.AnyChanged(cmd, givesRate...), "steps": cli.AnyChanged(cmd, stepsFlags...)}
	unknown := slices.DeleteFunc(slices.Clone(Solvable), func(name string) bool { return given[name] })
	if len(unknown) != 1 {
		return "", fmt.Errorf("give two of --noise-multiplier, --sample-rate and --steps, not %d, or say with --solve which "+
			"one is solved for", len(Solvable)-len(unknown))
	}
	return unknown[0], nil
}
