package privacy

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/audit"
	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/experiments"
)

// These are the errors of an audit whose result is not as expected. The command prints the result first. The error
// only sets the exit status.
var (
	ErrViolated = errors.New("the claimed guarantee is violated")
	ErrBroken   = errors.New("what is sent is not the mechanism that is claimed")
	ErrNotFound = errors.New("the planted fault was not found")
)

type auditFlags struct {
	options audit.Options
	workers machines.SweepFlags
	out     string
	audits  int
	scores  scoresFlags
}

func newAudit() *cobra.Command {
	f := auditFlags{options: audit.DefaultOptions(), audits: 50}
	f.options.Workers = runtime.GOMAXPROCS(0)
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Test the mechanism as it really runs: a lower bound on ε by experiment",
		Long: `Bound ε from below by experiment. Small asynchronous trainings are run many times, with
and without a canary record, by the same clients and server as train. An attack on
everything that the clients send then guesses which trainings had the canary. If it
succeeds more often than the certified upper bound of pld allows, the guarantee is
violated.

The messages are also checked directly: they must contain independent noise of the right
size on every coordinate, in every client, round and training, sums of clipped gradients,
and samples of the right size, and a repeated message must not change. If such a check
fails, the mechanism is not the claimed one. The check does not bound ε.

All bounds and checks together hold with probability --confidence. A violation that is
found is proof at this confidence. If none is found, nothing is proved.

--fault breaks the mechanism on purpose, to see that the audit finds it:

` + faultTable() + `
With --listen or --workers-at, workers on other machines compute the parts of the audit, or
the audits of a survey: see proactivedp worker. The report is the same, except for times.

With --out, audit makes a survey of what it can detect: it repeats the audit --audits times
for every fault and several sizes, down to those that less than half of the audits find. It
writes how often each fault is found to a folder. An interrupted audit continues where it
stopped.

The exit status is 3 if the audit finds that the sound mechanism is not the claimed one, or
if it does not find a planted fault.

` + scoresHelp,
		Example: `  proactivedp audit
  proactivedp audit --fault batch-clip --json
  proactivedp audit --fault less-noise --fault-size 0.95
  proactivedp audit --runner hogwild --seed 7
  proactivedp audit --runs 2000 --out out/audit
  proactivedp audit --canaries 1000 --out coins.csv
  proactivedp audit --scores scores.csv --delta 1e-5 --out roc.png`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *auditFlags) add(cmd *cobra.Command) {
	f.workers.Add(cmd)
	fs, o := cmd.Flags(), &f.options
	fs.StringVar((*string)(&o.Fault), "fault", string(o.Fault), "one of "+strings.Join(cli.Names(audit.Faults()), ", "))
	fs.Float64Var(&o.FaultSize, "fault-size", 0,
		"size of the fault, if it has one (default: the size in the list above)")
	fs.StringVar((*string)(&o.Runner), "runner", string(o.Runner),
		"virtual (repeatable) or hogwild (free-running goroutines)")
	fs.BoolVar(&o.Exact, "exact", false, "audit samples and noise that are drawn exactly, as by train --exact, in all "+
		"probes except the one of the training loop")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed of all randomness, a whole number of at least 0; without it, --canaries "+
		"takes coins from the operating system")
	cli.CountVar(fs, &o.Runs, "runs", o.Runs,
		fmt.Sprintf("runs of the largest probe with the canary, and as many without, in [%d, %d]; other probes have fewer",
			audit.MinRuns, audit.MaxRuns))
	fs.Float64Var(&o.Delta, "delta", o.Delta,
		"δ of the claims, in [1e-15, 0.5]; the one-run probe uses a smaller one; must be given with --scores")
	fs.Float64Var(&o.Confidence, "confidence", o.Confidence, "confidence of all bounds and checks together, in "+
		"[0.5, 1 - 1e-9]; with --scores, of each bound, by default 0.95")
	cli.CountVar(fs, &o.Workers, "workers", o.Workers,
		"runs at the same time, at least 1; never changes the result of virtual")
	fs.StringVar(&f.out, "out", "", "write to this `path`: with --canaries the coins, a CSV file; with --scores the ROC curve, "+
		"a PNG file; else a survey of all faults, a folder")
	cli.CountVar(fs, &f.audits, "audits", f.audits, "audits of each cell of a survey, at least 1")
	cli.AddJSON(fs)
	f.scores.add(cmd)
}

func (f *auditFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if cli.AnyChanged(cmd, "scores", "canaries") {
		return f.ofScores(cmd)
	}
	if err := f.check(cmd); err != nil {
		return cli.Usage(err)
	}
	if err := f.workers.Check(cmd); err != nil {
		return err
	}
	if f.options.Elsewhere, err = f.workers.OpenAudit(cmd); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.workers.Close()) }()
	if f.out != "" {
		return f.survey(cmd)
	}
	return f.once(cmd)
}

func (f *auditFlags) check(cmd *cobra.Command) error {
	errs := []error{f.options.Validate()}
	sizes := f.options.Fault.Sizes()
	if cmd.Flags().Changed("fault-size") && f.options.FaultSize == 0 && len(sizes) > 0 {
		errs = append(errs, fmt.Errorf("--fault-size = 0, must be above 0: without it the size is %v", sizes[0]))
	}
	if cmd.Flags().Changed("audits") && f.out == "" {
		errs = append(errs, errors.New("--audits is of a survey, give --out with it"))
	}
	if cmd.Flags().Changed("guesses") {
		errs = append(errs, fmt.Errorf("--guesses = %d, must be given with --scores only", f.scores.guesses))
	}
	if f.audits < 1 {
		errs = append(errs, fmt.Errorf("--audits = %d, must be at least 1", f.audits))
	}
	if f.out != "" {
		errs = append(errs, cli.Refuse(cmd, "goes without --out: a survey has all faults and both runners", "fault",
			"fault-size", "runner", "exact", "json"))
	}
	return errors.Join(errs...)
}

// once runs one audit. Its error says what the audit found.
func (f *auditFlags) once(cmd *cobra.Command) error {
	loop, err := auto.Course(cmd.Context())
	if err != nil {
		return err
	}
	f.options.Courses, f.options.Progress = []audit.Course{loop}, cmd.ErrOrStderr()
	r, err := audit.Run(cmd.Context(), f.options)
	if err != nil {
		return err
	}
	err = cli.Report(cmd, r)
	switch whole := f.options.Fault == audit.NoFault; {
	case err != nil:
		return err
	case whole && r.Violated:
		return ErrViolated
	case whole && r.Alarm():
		return ErrBroken
	case !whole && !r.Alarm():
		return ErrNotFound
	}
	return nil
}

// survey measures which faults an audit finds.
func (f *auditFlags) survey(cmd *cobra.Command) error {
	err := experiments.AuditSurvey(cmd.Context(), f.out, f.options, f.audits, func(p experiments.AuditPower) {
		cli.Say(cmd, "%s %v, %s: %d of %d audits of %d runs gave an alarm", p.Fault, p.Size, p.Runner, p.Found, p.Audits, p.Runs)
	})
	if err == nil {
		cli.Say(cmd, "survey in %s", f.out)
	}
	return err
}

func faultTable() string {
	var b strings.Builder
	for _, f := range audit.Faults()[1:] {
		fmt.Fprintf(&b, "  %-20s%s", f, f.About())
		if f.Unit() != "" {
			fmt.Fprintf(&b, "; size: %s, %v", f.Unit(), f.Sizes()[0])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
