package privacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// These defaults, together with those of the flags, are the paper's setting for LIBSVM data.
const (
	defaultN      = 10_000
	defaultSigma  = 19.29962
	defaultEpochs = 5
)

// planFlags are the flags for the request of a plan and for the form of the output.
type planFlags struct {
	req               plan.Request
	sizes             []int
	method, adjacency string
	sampling, redraw  string
	legs              legFlags
	tight, frontier   bool
	points            int
	by                accountantFlags
	files             fileFlags
	out               cli.OutputFlags
}

func newPlan() *cobra.Command {
	f := planFlags{by: accountantFlags{accuracy: pld.DefaultAccuracy}}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plan batch size, noise and steps from a budget or a noise multiplier",
		Long: `Plan the training of one client with N records. Give some of the epochs k, the batch size
s, the steps T = ⌈kN/s⌉, the noise multiplier σ and ε, and plan computes the others:

  --epochs and --target-epsilon            the recommended s, and the least σ for it
  two of --epochs, --batch-size, --steps,  the least σ
    with --target-epsilon
  the same two, with --noise-multiplier    ε
  --noise-multiplier and --target-epsilon  the largest s from --epochs or --steps,
                                             the most T from --batch-size
  several --batch-size, as 256,512,1024    a table with σ, T, signal and cost of each

The signal is s√T/σ, as a share of the signal of full batches at the same ε. It predicts
how well a training learns. A larger batch keeps more signal but leaves fewer updates. The
recommended s is the least power of two that keeps 80 %, with 100 to 1,000 updates where
possible.

The plan is accounted by pld, which gives a certified interval, for Poisson sampling, or by
another --method. closed-form is the paper's Theorem simpleF (corrected γ): σ determines ε
and ε determines σ, and the method finds the largest s from --epochs and one of the two.
Without flags, the plan is the paper's setting on LIBSVM data by that theorem. With any
flag except --json, --statement and --format, --n must give the number of records.

With --sampling allocation, each record chooses one of the t = ⌈N/s⌉ batches of an epoch,
independently of the others. This mostly needs less noise than Poisson sampling. --batches
gives t instead of s, and T = ⌈kt⌉. --redraw says whether records choose again in each
epoch, as in train --plan. --group K plans for the ε of a person who has up to K records.

--after FILE plans the next part of a training (a leg) after the rounds in FILE, for a
--target-epsilon that covers all of them: see proactivedp help rounds.`,
		Example: `  proactivedp plan --n 50000 --epochs 20 --target-epsilon 3 --delta 1e-5
  proactivedp plan --n 50000 --epochs 20 --target-epsilon 3 --delta 1e-5 --batch-size 256,512,1024
  proactivedp plan --n 60000 --epochs 6 --target-epsilon 0.15 --frontier --png frontier.png
  proactivedp plan --n 60000 --steps 4000 --batch-size 64 --target-epsilon 1 --adjacency replace-one --json
  proactivedp plan --n 10000 --epochs 5 --noise-multiplier 19.29962 --method closed-form
  proactivedp plan --n 50000 --epochs 20 --target-epsilon 3 --delta 1e-5 --batches 98 --sampling allocation --redraw epoch
  proactivedp plan --n 60000 --epochs 6 --target-epsilon 0.15 --format opacus
  proactivedp plan --n 10000 --epochs 2 --target-epsilon 0.1 --record rounds.json --budget 0.3
  proactivedp plan --after rounds.json --epochs 2 --noise-multiplier 8`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.frontier = f.frontier || cli.AnyChanged(cmd, "csv", "png", "points")
			return f.legs.locked(func() error {
				if cmd.Flags().Changed("after") {
					return f.replan(cmd)
				}
				return f.plan(cmd)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (f *planFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	cli.CountVar(fs, &f.req.N, "n", 0,
		fmt.Sprintf("records N of the client, in [1, 2^53], must be given with other options (default %d without "+
			"any)", defaultN))
	fs.Float64Var(&f.req.Epochs, "epochs", 0,
		fmt.Sprintf("gradient computations in epochs, k = K/N, in [1e-6, 1e9] (default %d, unless --batch-size or "+
			"--steps is given)", defaultEpochs))
	cli.CountsVar(fs, &f.sizes, "batch-size", nil, "batch size s, in [1, N], the mean if θ > 1; several, separated by "+
		"commas, are compared at --target-epsilon (default: the recommended one)")
	cli.CountVar(fs, &f.req.Rounds, "steps", 0, "steps (rounds) T of the client, at least 1")
	fs.Float64Var(&f.req.Sigma, "noise-multiplier", 0,
		fmt.Sprintf("noise multiplier σ, at least 0.05, or above √2 with a closed form (default %g with a closed form, "+
			"unless --target-epsilon is given)", defaultSigma))
	fs.Float64Var(&f.req.Epsilon, "target-epsilon", 0, "ε that is allowed, for a record, in [1e-8, 1e4]; with --after, for "+
		"all rounds (default: the ε of the filter in the file)")
	fs.Float64Var(&f.req.Delta, "delta", 0, "δ, in (0, 1) (default the largest power of ten that is at most 1/(10N), for N from 100 on; 1/N by --method paper and closed-form-printed)")
	fs.Float64Var(&f.req.Theta, "theta", 1, "θ = s_max/s̄ of the sample size sequence, in [1, 1e6]")
	fs.StringVar(&f.method, "method", string(plan.PLD),
		"pld (interval), rdp, closed-form (upper bounds); closed-form-printed, paper (NO guarantee, to compare)")
	fs.StringVar(&f.adjacency, "adjacency", "", "add-or-remove, or replace-one by rdp and pld (default add-or-remove)")
	fs.StringVar(&f.sampling, "sampling", string(dp.Poisson), "poisson, or allocation (each record chooses one batch of an "+
		"epoch, on its own)")
	cli.CountVar(fs, &f.req.Batches, "batches", 0, "batches of an epoch, in [1, N]; only with --sampling allocation, "+
		"instead of --batch-size")
	fs.StringVar(&f.redraw, "redraw", "", "with --sampling allocation: epoch (each epoch draws anew) or once (one draw is "+
		"kept for all epochs); no default")
	cli.CountVar(fs, &f.req.Group, "group", 1, "a person has up to so many records, in [1, 1000]; only with Poisson sampling "+
		"under add-or-remove adjacency")
	cli.CountVar(fs, &f.req.Clients, "clients", 1, "number of clients, in [1, 1000000]")
	fs.BoolVar(&f.req.Shared, "shared", false, "every client holds every record, which then pays for the rounds of all")
	fs.StringVar(&f.req.Root, "root", "", "public `name` of the source of the noise, such as seed:1: the "+
		"plan is its run 0, or, with --after, the run after the last one in FILE")
	fs.BoolVar(&f.tight, "tight", true, "show what the tight accountant pld allows, and the recommended sample size")
	fs.BoolVar(&f.frontier, "frontier", false,
		"add a table of sample sizes with their noise and rounds, at the plan's ε and k")
	cli.CountVar(fs, &f.points, "points", 25, "about how many sample sizes --frontier has, in [2, 1000]")
	f.legs.add(fs)
	f.by.addAccuracy(cmd, " in --tight, --after and --frontier")
	f.files.add(cmd, "the frontier")
	f.out.Add(cmd)
	f.out.AddFormat(cmd)
}

// common fills in defaults, and returns an error for flags that are wrong for every kind of plan.
func (f *planFlags) common(cmd *cobra.Command) error {
	err := cli.RefuseZeros(cmd, "epochs", "batch-size", "steps", "noise-multiplier", "target-epsilon", "delta", "theta", "clients",
		"accuracy", "points", "batches", "group")
	if len(f.sizes) == 1 {
		f.req.SampleSize, f.sizes = f.sizes[0], nil
	}
	// Instead of a 0, which is reported, a valid value takes part in the other checks.
	if f.req.Epochs == 0 && f.req.SampleSize == 0 && len(f.sizes) == 0 && f.req.Batches == 0 && f.req.Rounds == 0 {
		f.req.Epochs = defaultEpochs
	}
	if cli.AnyChanged(cmd, "noise-multiplier", "target-epsilon") && f.req.Sigma == 0 && f.req.Epsilon == 0 {
		f.req.Epsilon = 1
	}
	var methodErr error
	f.req.Method, methodErr = plan.ParseMethod(f.method)
	return errors.Join(err, methodErr, f.legs.check(cmd), f.out.Check())
}

func (f *planFlags) plan(cmd *cobra.Command) error {
	errs := []error{f.common(cmd), f.records(cmd)}
	switch bare := !f.plans(cmd); {
	case cli.AnyChanged(cmd, "noise-multiplier", "target-epsilon"):
	case bare:
		f.req.Method, f.req.Sigma, f.req.Delta = plan.ClosedForm, defaultSigma, 1./defaultN
	case f.req.Method == plan.PLD || f.req.Method == plan.RDP:
		errs = append(errs, errors.New("--target-epsilon is missing, or --noise-multiplier with --batch-size or --steps"))
		f.req.Epsilon = 1 // a valid value, so that the other fields are still checked
	default:
		f.req.Sigma = defaultSigma
	}
	if cmd.Flags().Changed("adjacency") {
		var err error
		f.req.Adjacency, err = dp.ParseAdjacency(f.adjacency)
		errs = append(errs, err)
	}
	errs = append(errs, f.drawn(cmd))
	// A question that is not covered is valid. It only has no answer.
	q := answer.PlanQuestion{Request: f.req, Sizes: f.sizes, Tight: f.tight, Accuracy: f.by.accuracy}
	if f.frontier {
		q.Points = f.points
	}
	if err := q.Validate(); err != nil && (!errors.Is(err, dp.ErrNotCovered) || errors.Join(errs...) != nil) {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return cli.Usage(err)
	}
	if err := f.files.writable(); err != nil {
		return err
	}
	solved, err := answer.Solve(cmd.Context(), q)
	if err != nil {
		return err
	}
	if solved.NoFrontier != "" {
		cli.Say(cmd, "no frontier: %s", solved.NoFrontier)
	}
	if solved.Frontier != nil {
		draw := func(w io.Writer) error { return Frontier(w, solved.Frontier) }
		if err := f.files.write(solved.Frontier.WriteCSV, draw); err != nil {
			return err
		}
	}
	if !solved.Feasible {
		cli.Say(cmd, "no plan: %s", solved.Reason)
	} else if err := f.legs.write(cmd, func() (plan.History, error) {
		return f.history(cmd.Context(), solved.Plan)
	}); err != nil {
		return err
	}
	if f.out.IsCode() {
		f.lessNoise(cmd.ErrOrStderr(), solved.Plan)
		release, err := libraries.OfPlan(solved.Plan)
		return f.out.PrintCode(cmd, release, err)
	}
	return f.out.Print(cmd, solved.Statement, solved, func(w io.Writer) error {
		if !f.plans(cmd) {
			fmt.Fprint(w, "This is the paper's setting on LIBSVM data, by its theorem. Give --n, --epochs and --target-epsilon for a "+
				"plan of your own\nwith the least noise.\n\n")
		}
		return printPlan(w, solved)
	})
}

// drawn sets how records are drawn, and returns an error for what it excludes.
func (f *planFlags) drawn(cmd *cobra.Command) error {
	if cmd.Flags().Changed("sampling") {
		f.req.Sampling = dp.Sampling(f.sampling)
	}
	var errs []error
	switch changed := cmd.Flags().Changed("redraw"); {
	case changed:
		var err error
		f.req.Redraw, err = dp.ParseRedraw(f.redraw)
		errs = append(errs, err)
	case f.req.Sampling == dp.Allocation:
		errs = append(errs, errNoRedraw)
		f.req.Redraw = dp.EachEpoch // a valid value, so that the rest is checked
	}
	if f.legs.record != "" && (f.req.Sampling == dp.Allocation || f.req.Group > 1) {
		errs = append(errs, errors.New("--record must not be given with --sampling allocation or --group: the Rényi filter of the "+
			"next legs covers neither"))
	}
	return errors.Join(errs...)
}

// lessNoise prints, for code with the noise of a closed form, how little noise the tight accountant
// would need. The user would not learn this from the other library.
func (f *planFlags) lessNoise(w io.Writer, p *plan.Plan) {
	if f.req.Epsilon == 0 || f.req.Method != plan.ClosedForm || p.Tight == nil {
		return
	}
	if least := p.Tight.AddOrRemove.LeastNoise; least != nil && least.Sigma < p.Sigma {
		fmt.Fprintf(w, "proactivedp: σ = %s is that of the closed form; --method pld plans σ = %s for the same "+
			"rounds\n", shownUp(p.Sigma), shownUp(least.Sigma))
	}
}

// history returns the history that --record writes for the plan. A filter admits fewer rounds than
// the tight accountant certifies, so the plan may need more than its own ε.
func (f *planFlags) history(ctx context.Context, p *plan.Plan) (plan.History, error) {
	h, err := p.History(ctx, cmp.Or(f.legs.budget, p.Epsilon), f.legs.orders...)
	if short, ok := errors.AsType[*plan.BudgetError](err); ok && f.legs.budget == 0 {
		return h, cli.Usage(fmt.Errorf("--budget is missing: the plan costs ε = %s by %s, but the filter of --record, "+
			"which holds whatever the next legs are chosen by, needs ε = %s for it: give --budget %s or more",
			shownUp(short.Budget), p.Method, shownUp(short.Needs), shownUp(short.Needs)))
	}
	return h, err
}

// shownBy are the flags that choose the form of the output and do not change the plan.
var shownBy = []string{"json", "statement", "format"}

// plans reports whether a flag was given that changes the plan.
func (f *planFlags) plans(cmd *cobra.Command) (any bool) {
	cmd.Flags().Visit(func(given *pflag.Flag) { any = any || !slices.Contains(shownBy, given.Name) })
	return any
}

// records sets N to the paper's if no flag describes another plan. The size of other data is not
// guessed.
func (f *planFlags) records(cmd *cobra.Command) error {
	if cmd.Flags().Changed("n") {
		return nil
	}
	f.req.N = defaultN
	if !f.plans(cmd) {
		return nil
	}
	return fmt.Errorf("--n is missing: with other options say how many records the client has (the paper's setting "+
		"has %d)", defaultN)
}

func printPlan(w io.Writer, a *answer.Plan) error {
	if len(a.Batches) > 0 {
		if err := plan.WriteBatches(w, a.Batches); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if err := a.WriteText(w); err != nil || a.Frontier == nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return a.Frontier.WriteText(w)
}
