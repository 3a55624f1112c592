package training

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/experiments/search"
	"proactivedp/sim"
	"proactivedp/train"
)

func newSearch() *cobra.Command {
	var where cli.DataFlags
	var sweep machines.SweepFlags
	spec := search.Paper("", "mnist")
	flags := cli.TrainFlags{Spec: spec.Train}
	o := search.Options{Workers: runtime.GOMAXPROCS(0), Command: searchCommand,
		TrainCommand: trainCommand}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Search model variant and step size on held-out training records",
		Long: `Train every combination of model, η₀ and β, with each σ, on the training set without
its last records, and rank them by the accuracy on these; the test set is not looked
at. Prints the winners, each with the command that trains it, and writes a table of all
runs, the ranking and a manifest. The search itself is covered by no privacy statement.

What is trained with noise is a proxy: s and σ times f and η₀ over f, in as many rounds,
which has the steps of the whole training and costs f of it. --proxy 1 trains all whole.
A training without noise has no proxy and is run whole: --sigma says which to search for.

The defaults are the paper's but for the schedule, η₀ and β of networks: the paper
has 0.1/(1+0.01√t), the step sizes that train and figures use were found so. Held out
is a sixth of the training rows, unless --holdout says otherwise.

An interrupted command keeps its finished runs below --out and goes on from there.`,
		Example: `  proactivedp search --data mnist
  proactivedp search --data mnist --models lenet --eta0 0.01,0.02,0.04 --beta 0.01 --sigma 12.10881 --seeds 5
  proactivedp search --data mnist --sigma 12.10881 --schedule zero
  proactivedp search --data phishing --models logreg --proxy 1`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := sweep.Check(cmd); err != nil {
				return err
			}
			given := spec
			if err := flags.Fill(cmd, func(_, dataset string) train.Spec {
				model := ""
				if cmd.Flags().Changed("models") && len(given.Models) > 0 {
					model = given.Models[0]
				}
				spec = search.Paper(model, dataset)
				return spec.Train
			}); err != nil {
				return err
			}
			spec.Train = flags.Spec
			spec.Scale, spec.Proxy, spec.Seeds = given.Scale, given.Proxy, given.Seeds
			for _, list := range []struct {
				flag string
				take func()
			}{
				{"models", func() { spec.Models = given.Models }},
				{"eta0", func() { spec.Eta0 = given.Eta0 }},
				{"beta", func() { spec.Beta = given.Beta }},
				{"sigma", func() { spec.Sigmas = given.Sigmas }},
			} {
				if cmd.Flags().Changed(list.flag) {
					list.take()
				}
			}
			if sim.Decay(spec.Train.Schedule).Ends() && !cmd.Flags().Changed("beta") {
				spec.Beta = []float64{0}
			}
			if o.Out == "" {
				o.Out = filepath.Join("out", "search-"+strings.NewReplacer(":", "-", string(filepath.Separator),
					"-").Replace(filepath.Clean(spec.Train.Data)))
			}
			if err := cli.Distinct([]error{spec.Validate(), cli.RefuseZeros(cmd, "input-scale", "lambda"),
				cli.CheckData(spec.Train.Data), cli.CheckWorkers(o.Workers)}); err != nil {
				return cli.Usage(err)
			}
			d, err := where.LoadFor(cmd, spec.Train)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("holdout") {
				if err := spec.HoldOut(d); err != nil {
					return cli.Usage(err)
				}
				if err := spec.Validate(); err != nil {
					return cli.Usage(err)
				}
			}
			o.Progress, o.Memory = cmd.ErrOrStderr(), int64(where.Memory)
			if o.Elsewhere, err = sweep.Open(cmd); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, sweep.Close()) }()
			r, err := search.Run(cmd.Context(), spec, train.NewSource(d), o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: search in %s\n", o.Out)
			return cli.Report(cmd, asJSON, r)
		},
	}
	where.AddWithin(cmd)
	where.Own.Add(cmd)
	sweep.Add(cmd)
	flags.Add(cmd, cli.SettingFlags, cli.EndFlags)
	f := cmd.Flags()
	f.StringSliceVar(&spec.Models, "models", spec.Models,
		"models to try, of "+strings.Join(train.ModelNames(), ", "))
	cli.NumbersVar(f, &spec.Eta0, "eta0", spec.Eta0, "initial step sizes η₀ to try, in [1e-30, 1e30]")
	cli.NumbersVar(f, &spec.Beta, "beta", spec.Beta, "decays β of the step size to try, in [0, 1e30]")
	cli.NumbersVar(f, &spec.Sigmas, "sigma", spec.Sigmas,
		"noise multipliers σ to search for, at least 0, each by itself; 0: without noise")
	f.Float64Var(&spec.Scale, "scale", spec.Scale, "run this part of the gradient computations, in (0, 1]")
	f.Float64Var(&spec.Proxy, "proxy", spec.Proxy, "f of the proxies, in (0, 1]: this part of s and σ is run, at η₀ "+
		"over f; 1: whole trainings")
	cli.CountVar(f, &spec.Seeds, "seeds", spec.Seeds, "how many seeds, from 1 on, in [1, 10000]")
	f.StringVar(&o.Out, "out", "", "`folder` to write to (default out/search-DATA)")
	cli.CountVar(f, &o.Workers, "workers", o.Workers, "runs at the same time, at least 1; never changes the result")
	cli.JSONVar(f, &asJSON)
	return cmd
}
