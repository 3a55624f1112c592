package training

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/bounded"
	"proactivedp/train"
	"proactivedp/train/pool"
)

const maxPlanBytes = 16 << 20

// planFileFlags are the flags for a setting that is read from a file.
type planFileFlags struct {
	path    string
	choose  int
	setting *train.Setting // nil without a file
}

func (p *planFileFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.path, "plan", "", "train the setting in this `file`, which propose --json or plan --json wrote; "+
		"flags that decide its privacy must not be given, except --target-epsilon up to the file's, which finds the "+
		"noise again")
	cli.CountVar(f, &p.choose, "choose", 0, "which of the proposals in --plan, by rank, at least 1 (default 1)")
}

func (p *planFileFlags) read(cmd *cobra.Command) error {
	chosen := cmd.Flags().Changed("choose")
	switch {
	case chosen && p.choose < 1:
		return cli.Usage(fmt.Errorf("--choose = %d, must be at least 1", p.choose))
	case chosen && !cmd.Flags().Changed("plan"):
		return cli.Usage(errors.New("--choose needs --plan"))
	case !cmd.Flags().Changed("plan"):
		return nil
	}
	if err := cli.RefuseWith(cmd, "plan", "noise-multiplier", "delta", "batch-size", "grad-computations", "steps", "epochs", "clients",
		"partition", "sampling", "batches", "adapt", "split", "holdout", "resume"); err != nil {
		return cli.Usage(err)
	}
	text, err := bounded.File(p.path, maxPlanBytes)
	if err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	if p.setting, err = train.ReadSetting(text, p.choose); err != nil {
		return cli.Usage(fmt.Errorf("--plan %s: %w", p.path, err))
	}
	return nil
}

// usual returns the training that runs if no flag changes it: the setting in the file, and for the
// rest the paper's setting for the model and the data.
func (p *planFileFlags) usual(model, dataset string) train.Spec {
	if p.setting == nil {
		return pool.Train(model, dataset)
	}
	return p.setting.Over(pool.Train(model, dataset))
}

// fits returns an error if the run is not the planned one. It also adds the setting's notes to the
// run.
func (p *planFileFlags) fits(ctx context.Context, run *train.Prepared) error {
	if p.setting == nil {
		return nil
	}
	run.Notes = p.setting.Notes()
	return p.holds(ctx, run)
}

// holdsOfSeeds returns an error if a run of the spec with one of the seeds is not the planned one:
// each seed splits a user's file anew, and the training part may have fewer records.
func (p *planFileFlags) holdsOfSeeds(ctx context.Context, source *train.Source, spec train.Spec, seeds int) error {
	if p.setting == nil {
		return nil
	}
	costliest, err := source.Costliest(ctx, spec, seeds)
	if err != nil {
		return err
	}
	return p.holds(ctx, costliest)
}

func (p *planFileFlags) holds(ctx context.Context, run *train.Prepared) error {
	err := p.setting.Fits(ctx, run)
	if errors.Is(err, train.ErrCostsMore) {
		err = fmt.Errorf("%w: give --target-epsilon up to that with --plan, to find the noise for these records", err)
	}
	return err
}
