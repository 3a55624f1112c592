package training

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/experiments"
	"proactivedp/sim"
	"proactivedp/train"
)

// curveFlags are the flags to train with several seeds, and to show how the accuracy grows.
type curveFlags struct {
	seeds   int
	out     string
	given   bool // whether one of them was given
	drawing drawingFlags
}

func (c *curveFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	cli.CountVar(f, &c.seeds, "seeds", 1, "train with this many seeds, from --seed on, and print how the accuracy "+
		"grows; in [1, 10000]")
	f.StringVar(&c.out, "out", "", "`folder` for the learning curve as a picture with its data, and for finished "+
		"trainings")
	c.drawing.add(f)
}

// notWithCurves are flags for a single training.
var notWithCurves = []string{"checkpoint", "checkpoint-every", "checkpoint-key", "resume", "trace", "save", "dry-run",
	"seed-from-os", "listen", "broker"}

func (c *curveFlags) check(cmd *cobra.Command) error {
	err := c.drawing.check(cmd, c.out)
	if c.given = cli.AnyChanged(cmd, "seeds", "out"); c.given {
		err = errors.Join(err, cli.RefuseWith(cmd, cli.FlagGiven(cmd, "seeds", "out"), notWithCurves...))
	}
	return cli.Usage(err)
}

func (c *curveFlags) fits(s train.Spec) error {
	if !c.given {
		return nil
	}
	return experiments.CheckLearning(s, c.seeds)
}

// run trains and prints the curve. It compares the cost of each seed with the setting from.
func (c *curveFlags) run(
	cmd *cobra.Command, p *train.Prepared, from *planFileFlags, where *cli.DataFlags, perf sim.Perf,
) error {
	spec := p.Spec
	if spec.TargetEpsilon != 0 && (cmd.Flags().Changed("target-epsilon") || cli.OwnFile(spec.Data) && from.setting == nil) { // no seed may cost more
		var err error
		if spec, err = p.Source().CalibrateSeeds(cmd.Context(), spec, c.seeds, spec.TargetEpsilon); err != nil {
			return err
		}
	}
	if err := from.holdsOfSeeds(cmd.Context(), p.Source(), spec, c.seeds); err != nil {
		return cli.Usage(err)
	}
	var l *experiments.LearningCurve
	err := inFolder(c.out, func() (err error) {
		trials := trials(cmd, where, perf.Workers, c.out)
		if l, err = experiments.TrainCurve(cmd.Context(), p.Source(), spec, c.seeds, trials); err != nil || c.out == "" {
			return err
		}
		spec := spec
		spec.TargetEpsilon = 0 // σ already follows from it
		command := trainCommand(spec) + cli.OwnText(cmd) + fmt.Sprintf(" --seeds %d", c.seeds) + drawingText(c.drawing.Drawing)
		return l.Write(c.out, command, c.drawing.Drawing)
	})
	if err != nil {
		return err
	}
	l.Notes = append(l.Notes, p.Notes...)
	return cli.Report(cmd, l)
}
