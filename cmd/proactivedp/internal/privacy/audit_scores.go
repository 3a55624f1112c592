package privacy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/audit"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/internal/files"
	"proactivedp/rng"
)

const scoresHelp = `With --scores, audit bounds the ε of a training that ran anywhere:

  1. Draw the coins of N canaries: --canaries N --out FILE.
  2. Train on the data and on the canaries whose member is 1.
  3. Compute a score for every canary without looking at the coins. A higher score must
     say member; the negative loss is a score. Add it as the column score.
  4. Audit the file: --scores FILE --delta δ. --out draws the ROC curve.

The columns member and score are read, and an id must not occur twice.`

type scoresFlags struct {
	file              string
	canaries, guesses int
}

func (f *scoresFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.file, "scores", "", "audit the training whose canaries have these scores, a CSV `file` with the columns "+
		"member and score")
	cli.CountVar(fs, &f.canaries, "canaries", 0, fmt.Sprintf("draw which of this many canaries are in the training "+
		"data, in [%d, %d]; --out names the file", audit.MinCanaries, audit.MaxCanaries))
	cli.CountVar(fs, &f.guesses, "guesses", 0, fmt.Sprintf("with --scores, how many canaries are guessed, an even number in "+
		"[2, %d], chosen before the scores are seen (default: several numbers are tried, and the bound is corrected for that)", audit.MaxCanaries))
}

// ofScores draws coins for canaries, or audits scores, as the flags ask.
func (f *auditFlags) ofScores(cmd *cobra.Command) error {
	if cmd.Flags().Changed("canaries") {
		return f.draw(cmd)
	}
	errs := []error{only(cmd, "scores", "delta", "confidence", "guesses", "seed", "out", "json"), cli.RefuseZeros(cmd, "guesses")}
	o := audit.ScoresOptions{Delta: f.options.Delta, Confidence: cli.Given(cmd, "confidence", f.options.Confidence, 0.95),
		Guesses: f.scores.guesses, Seed: f.options.Seed}
	if !cmd.Flags().Changed("delta") {
		errs = append(errs, errors.New("--delta is missing: give the δ of the guarantee that is audited"))
	}
	if err := errors.Join(append(errs, o.Validate())...); err != nil {
		return cli.Usage(err)
	}
	if f.out != "" {
		if err := files.Check(f.out); err != nil {
			return err
		}
	}
	r, err := f.scores.audit(o)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := files.Write(f.out, func(w io.Writer) error { return drawROC(w, r) }); err != nil {
			return err
		}
	}
	return cli.Report(cmd, r)
}

func (f *scoresFlags) audit(o audit.ScoresOptions) (*audit.ScoresReport, error) {
	file, err := os.Open(f.file)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, err := audit.ReadScores(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	return s.Audit(o)
}

func (f *auditFlags) draw(cmd *cobra.Command) error {
	n := f.scores.canaries
	err := only(cmd, "canaries", "seed", "out")
	err = errors.Join(err, dp.CheckCount("--canaries", n, audit.MinCanaries, audit.MaxCanaries))
	if f.out == "" {
		err = errors.Join(err, errors.New("--out is missing: it names the file of the coins"))
	}
	if err != nil {
		return cli.Usage(err)
	}
	root := rng.New(f.options.Seed)
	if !cmd.Flags().Changed("seed") {
		if root, err = rng.NewFromOS(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(f.out); err == nil {
		return fmt.Errorf("--out = %s exists, and its coins may be those of a training: remove it, or name another file", f.out)
	}
	if err := files.Write(f.out, func(w io.Writer) error { return audit.DrawCanaries(w, n, root) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "The coins of %d canaries are in %s. Train with the canaries whose member is 1.\n", n,
		f.out)
	return err
}

// only refuses flags other than the named ones. The first name is the flag that they must not be given with.
func only(cmd *cobra.Command, names ...string) error {
	var others []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(names, flag.Name) && cmd.InheritedFlags().Lookup(flag.Name) == nil {
			others = append(others, flag.Name)
		}
	})
	return cli.RefuseWith(cmd, names[0], others...)
}
