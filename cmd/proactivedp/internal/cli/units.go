package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"proactivedp/internal/decimal"
	"proactivedp/train"
)

// fieldUnits are flags in the field's units for settings that a spec has in the paper's units. The
// learning rate is for the mean gradient, and η₀ for the sum. Steps are K/s.
type fieldUnits struct {
	hasRate, hasSteps bool // whether the command has them
	rate              float64
	steps             int
}

// add adds those flags whose counterparts in the paper's units the command has.
func (u *fieldUnits) add(cmd *cobra.Command, groups []FlagGroup) {
	if u.hasRate = slices.Contains(groups, PointFlags); u.hasRate {
		cmd.Flags().Float64Var(&u.rate, "learning-rate", 0, "initial step size that multiplies the mean gradient of a batch, "+
			"instead of --eta0: η₀ is this divided by --batch-size; in [1e-30, 1e30]")
	}
	if u.hasSteps = slices.Contains(groups, SettingFlags); u.hasSteps {
		CountVar(cmd.Flags(), &u.steps, "steps", 0, "steps (rounds) of each client, at least 1, instead of "+
			"--grad-computations, which is this times --batch-size")
	}
}

func (u *fieldUnits) apply(cmd *cobra.Command, s *train.Spec) error {
	rated, stepped := u.hasRate && AnyChanged(cmd, "learning-rate"), u.hasSteps && AnyChanged(cmd, "steps")
	if !rated && !stepped {
		return nil
	}
	size, err := BatchSize(*s, FlagGiven(cmd, "learning-rate", "steps"))
	if err != nil {
		return err
	}
	var errs []error
	if rated {
		errs = append(errs, RefuseWith(cmd, "learning-rate", "eta0"))
		if s.Eta0, err = Eta0(u.rate, size); err != nil {
			errs = append(errs, err)
		}
	}
	if stepped {
		errs = append(errs, RefuseWith(cmd, "steps", "grad-computations", "adapt"))
		if most := decimal.MaxWhole / size; u.steps < 1 || u.steps > most {
			errs = append(errs, fmt.Errorf("--steps = %d, must be in [1, %d] with batches of %d", u.steps, most, size))
		} else {
			s.GradComps = u.steps * size
		}
	}
	return errors.Join(errs...)
}

// Eta0 returns the step size η₀, which multiplies a sum of gradients, for a learning rate, which multiplies the mean
// of batches of size records.
func Eta0(rate float64, size int) (float64, error) {
	if !(rate >= 1e-30 && rate <= 1e30) {
		return 1, fmt.Errorf("--learning-rate = %v, must be in [1e-30, 1e30]", rate)
	}
	return rate / float64(size), nil
}

// BatchSize returns the batch size of a spec. It is an error, which names flag, if the size is not the same in all
// rounds.
func BatchSize(s train.Spec, flag string) (int, error) {
	size, err := decimal.Count(s.SampleSize)
	if err != nil || size < 1 || size > math.MaxInt32 {
		return 1, fmt.Errorf("--%s needs the same batch size in all rounds, not --batch-size %s: give --eta0 and "+
			"--grad-computations instead", flag, s.SampleSize)
	}
	return size, nil
}
