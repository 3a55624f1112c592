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

// An audit returns one of these errors if its result is not as expected. The result is already printed
// then; the error only sets the exit status.
var (
	ErrViolated = errors.New("the claimed guarantee is violated")
	ErrBroken   = errors.New("what is sent is not the mechanism that is claimed")
	ErrNotFound = errors.New("the planted fault was not found")
)

// auditFlags are the flags of audit.
type auditFlags struct {
	options audit.Options
	workers machines.SweepFlags
	out     string
	audits  int
	asJSON  bool
	scores  scoresFlags
}

func newAudit() *cobra.Command {
	f := auditFlags{options: audit.DefaultOptions(), audits: 50}
	f.options.Workers = runtime.GOMAXPROCS(0)
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "A lower bound on ε by experiment, of the mechanism as it really runs",
		Long: `Bound ε from below by experiment: small asynchronous trainings are run many times
with a canary record and without, by the same clients and server as train, and told
apart by all that the clients send. Where that works better than the certified upper
bound of the accountant pld allows, the guarantee is violated.

What is sent is also held against what it should be: independent noise of the right
size on every coordinate, in every client, round and training, sums of clipped
gradients, samples of the right size, and messages that are the same when they are
sent again. A check that fails says that another mechanism was run; it bounds no ε.

All bounds and checks hold together with --confidence. A violation is proof, up to
that; that none was found proves nothing.

--fault breaks the mechanism on purpose, to see that the audit finds it:

` + faultTable() + `
With --listen or --workers-at its parts, or the audits of a survey, are made by workers
on other machines: see proactivedp worker. The report is the same, but for times.

With --out the audit is made --audits times for every fault, of every size that at
least half of them find, and what is found how often is written to a folder, which
says what an audit can see. An interrupted audit continues where it stopped.

The exit status is 3 if the whole mechanism is found to be another than is claimed,
or a planted fault is not found.

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
	fs.StringVar((*string)(&o.Fault), "fault", string(o.Fault), "one of "+strings.Join(FaultNames(), ", "))
	fs.Float64Var(&o.FaultSize, "fault-size", 0,
		"how large the fault is, if it comes in sizes (default: the one above)")
	fs.StringVar((*string)(&o.Runner), "runner", string(o.Runner),
		"virtual (repeatable) or hogwild (free-running goroutines)")
	fs.BoolVar(&o.Exact, "exact", false, "audit samples and noise that are drawn exactly, as train --exact does, in "+
		"all probes but that of the loop")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed of all randomness, a whole number of at least 0; without it, --canaries "+
		"takes coins from the operating system")
	cli.CountVar(fs, &o.Runs, "runs", o.Runs,
		fmt.Sprintf("runs of the largest probe in each world, in [%d, %d]; the others make a part of it",
			audit.MinRuns, audit.MaxRuns))
	fs.Float64Var(&o.Delta, "delta", o.Delta,
		"δ of the claims, in [1e-15, 0.5]; the one-run probe takes its own, smaller; must be given with --scores")
	fs.Float64Var(&o.Confidence, "confidence", o.Confidence, "of all bounds and checks together, in [0.5, 1 - 1e-9]; "+
		"with --scores of each bound, by default 0.95")
	cli.CountVar(fs, &o.Workers, "workers", o.Workers,
		"runs at the same time, at least 1; never changes the result of virtual")
	fs.StringVar(&f.out, "out", "", "write to this `path`: with --canaries the coins, a CSV file; with --scores the ROC curve, "+
		"a PNG file; else a survey of all faults, a folder")
	cli.CountVar(fs, &f.audits, "audits", f.audits, "audits of each cell of a survey, at least 1")
	cli.JSONVar(fs, &f.asJSON)
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

// check returns an error for each invalid flag.
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
	if f.out == "" {
		return errors.Join(errs...)
	}
	for _, name := range []string{"fault", "fault-size", "runner", "exact", "json"} {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s goes without --out: a survey has all faults and both runners", name))
		}
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
	err = cli.Report(cmd, f.asJSON, r)
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
		fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: %s %v, %s: %d of %d audits of %d runs gave an alarm\n", p.Fault,
			p.Size, p.Runner, p.Found, p.Audits, p.Runs)
	})
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: survey in %s\n", f.out)
	}
	return err
}

// faultTable lists the faults, with their sizes.
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

// FaultNames lists the faults that an audit can plant.
func FaultNames() []string {
	var names []string
	for _, f := range audit.Faults() {
		names = append(names, string(f))
	}
	return names
}
