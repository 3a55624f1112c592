package training

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/experiments/grid"
	"proactivedp/experiments/presets"
	"proactivedp/internal/lockfile"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
)

// What --probe may be beside the name of a data set.
const (
	probeOwn       = string(propose.Own)
	probeSynthetic = "synthetic"
	probePrivate   = string(propose.Private)
)

func newPropose() *cobra.Command {
	var where cli.DataFlags
	var most cli.MemoryFlag
	flags := cli.TrainFlags{Spec: train.DefaultSpec()}
	r := propose.DefaultRequest(flags.Spec, 0)
	var probe, out string
	var asJSON, check bool
	var fresh uint64
	var against float64
	workers := runtime.GOMAXPROCS(0)
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Propose complete settings for a budget, with the accuracy to expect",
		Long: `Search sample size, rounds, noise, clipping norm and step sizes for a target epsilon,
or for the least ε that gives a target accuracy, and rank complete settings: each with
its predicted accuracy and an interval, the certified ε of a record and of a client,
and what it costs. Nothing private is trained.

Accuracy is predicted by proxies: trainings with s and σ times f and η₀ over f, in as many
rounds, that have the steps of the whole one and cost f of it. They are judged by
training rows that they hold out, never by the test set.

A proxy is nearly without noise. --probe says what proxies look at: own, the data itself,
is the default for the named sets, which are public; for a file of yours it is synthetic,
data drawn like the named set that is most like it, or a named set by its name. Then
the predicted accuracy is that of the set looked at. --probe private looks at the data
by private selection: about ten private trainings, of which only the best is shown, for
half of the target epsilon; one setting is proposed.

--out writes a picture of the frontier with the proposals, figure.png, its data and a
manifest, and keeps finished proxies, from which an interrupted command goes on. The exit
status is 1 if no setting is predicted to do what is asked.

--check makes the figure of how well predictions did: every setting is trained.
--against-grid makes that of how good the first proposal is: it is held against the best
of a grid of whole trainings that takes so many times the arithmetic.`,
		Example: `  proactivedp propose --data phishing --epsilon 0.15
  proactivedp propose --data mnist --clients 1 --epsilon 0.105 --out out/propose-mnist
  proactivedp propose --data mushrooms --target-accuracy 0.98
  proactivedp propose --data my.libsvm --features 68 --epsilon 1 --probe phishing`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				o := grid.Options{Workers: workers, Progress: cmd.ErrOrStderr(), Memory: int64(most)}
				cases := checked{cases: propose.Checks(), seeds: checkSeeds}
				if cmd.Flags().Changed("seeds") {
					cases.seeds = r.Seeds
				}
				if cmd.Flags().Changed("fresh") {
					cases.cases, cases.flag = propose.FreshChecks(fresh), fmt.Sprintf(" --fresh %d", fresh)
				}
				return checkPredictions(cmd, &where, out, cases, o, asJSON)
			}
			if cmd.Flags().Changed("fresh") {
				return cli.Usage(errors.New("--fresh is for --check, which is not given"))
			}
			if err := flags.Fill(cmd, presets.Train); err != nil {
				return err
			}
			r.Base = flags.Spec
			fillUsual(cmd, &r)
			o := propose.Options{Perf: sim.Perf{Workers: workers}}
			o.Trials = grid.Options{Workers: workers, Progress: cmd.ErrOrStderr(), Memory: int64(most)}
			if out != "" {
				o.Trials.Folder = filepath.Join(out, grid.Folder)
			}
			zeros := cli.RefuseZeros(cmd, []cli.Allowed{
				{"epsilon", epsilonRange()}, {"target-accuracy", "in (0, 1)"}, {"against-grid", "in [1, 1000]"},
			})
			probed, probing, err := probeFor(r.Base.Data, probe)
			o.Probing = probing
			wrong := cli.Distinct([]error{zeros, r.Validate(), o.Validate(r), err})
			if err := checkTrain(cmd, r.Base, wrong, workers); err != nil {
				return err
			}
			d, err := where.LoadFor(cmd, r.Base)
			if err != nil {
				return err
			}
			start := time.Now()
			o.Data = train.NewSource(d)
			o.Probe = o.Data
			if probing == propose.Other {
				if probed == probeSynthetic {
					probed = likest(d)
				}
				p, err := where.Load(cmd, probed)
				if err != nil {
					return err
				}
				o.Probe = train.NewSource(p)
			}
			var answer answered
			search := func() (err error) {
				if cmd.Flags().Changed("against-grid") {
					answer, err = propose.AgainstGrid(cmd.Context(), r, o, propose.DefaultGrid(r), against,
						gridTestSeeds(d))
				} else {
					answer, err = propose.Propose(cmd.Context(), r, o)
				}
				return err
			}
			if out == "" {
				err = search()
			} else {
				err = lockfile.InFolder(out, search)
			}
			if err != nil {
				return err
			}
			if out != "" {
				sources := []*train.Source{o.Data}
				if o.Probe != o.Data {
					sources = append(sources, o.Probe)
				}
				if err := answer.Write(out, proposeCommand(r, probe, against), sources, time.Since(start)); err != nil {
					return err
				}
			}
			return cli.Report(cmd, asJSON, answer)
		},
	}
	where.Add(cmd)
	where.Own.Add(cmd)
	flags.AddNamed(cmd, "model", "data", "clients", "delay", "partition", "features", "input-scale", "lambda", "split",
		"delta", "seed")
	most.Add(cmd)
	f := cmd.Flags()
	f.Float64Var(&r.Epsilon, "epsilon", 0, "target epsilon of a record over all clients that hold it, "+epsilonRange()+
		" (default: the least that --target-accuracy needs)")
	f.Float64Var(&r.TargetAccuracy, "target-accuracy", 0, "accuracy that is wanted, in (0, 1) (default: the best)")
	f.StringVar(&probe, "probe", "", "what proxies look at: own, synthetic, private or the `name` of a public set "+
		"(default: own for named sets, synthetic for a file)")
	f.IntSliceVar(&r.Rounds, "rounds", r.Rounds, "numbers of rounds to try, of all clients together, each at least "+
		"the number of clients (default of networks: up to 4000)")
	cli.CountVar(f, &r.Seeds, "seeds", r.Seeds, "matched seeds of the proxies, in [3, 100] (of networks: 3, "+
		"of --check: 5)")
	cli.CountVar(f, &r.Count, "count", r.Count, "how many settings to propose at most, in [1, 100] (of networks: 3)")
	f.StringVar(&out, "out", "", "`folder` for the picture and finished proxies (default: none)")
	cli.CountVar(f, &workers, "workers", workers, "proxies at the same time, at least 1; never changes the result")
	f.BoolVar(&check, "check", false, "hold predictions for "+strconv.Itoa(checkedSettings())+" settings on four "+
		"data sets against trainings of them")
	f.Uint64Var(&fresh, "fresh", 0, "with --check: draw other settings by this `seed`, at least 0, which no "+
		"interval was chosen by")
	f.Float64Var(&against, "against-grid", 0, "hold the first proposal against the best of a grid that takes so many "+
		"`times` the arithmetic, in [1, 1000]")
	cli.JSONVar(f, &asJSON)
	return cmd
}

// fillUsual sets what was not given to what is usual for the model.
func fillUsual(cmd *cobra.Command, r *propose.Request) {
	usual := propose.DefaultRequest(r.Base, 0)
	given := cmd.Flags().Changed
	if !given("seeds") {
		r.Seeds = usual.Seeds
	}
	if !given("rounds") {
		r.Rounds = usual.Rounds
	}
	if !given("count") {
		r.Count = usual.Count
	}
}

// answered is what a search for settings comes to.
type answered interface {
	Write(dir, command string, sources []*train.Source, took time.Duration) error
	WriteText(w io.Writer) error
}

// gridTestSeeds is how often a proposal and the best of a grid are trained and judged by the
// test set: those of rows end more differently, and take less time.
func gridTestSeeds(d *data.Dataset) int {
	if d.Images != nil {
		return 20
	}
	return 100
}

// checkSeeds is how many matched seeds predictions are checked with.
const checkSeeds = 5

// checked says which predictions are held against trainings.
type checked struct {
	cases []propose.Case
	seeds int
	flag  string // that asks for the cases, after a blank; "" for the usual ones
}

// checkPredictions holds predictions against trainings, and writes a figure of it to the
// folder if one is named.
func checkPredictions(cmd *cobra.Command, where *cli.DataFlags, out string, asked checked, o grid.Options,
	asJSON bool) error {
	if err := cli.RefuseWith(cmd, "check", "model", "data", "clients", "delay", "partition", "features", "input-scale",
		"lambda", "split", "delta", "seed", "epsilon", "target-accuracy", "probe", "rounds", "count",
		"against-grid"); err != nil {
		return cli.Usage(err)
	}
	start := time.Now()
	var all []propose.Checked
	var sources []*train.Source
	work := func() error {
		known := map[string]*train.Source{}
		for _, c := range asked.cases {
			source := known[c.Base.Data]
			if source == nil {
				d, err := where.Load(cmd, c.Base.Data)
				if err != nil {
					return err
				}
				source = train.NewSource(d)
				known[c.Base.Data] = source
				sources = append(sources, source)
			}
			checked, err := c.Check(cmd.Context(), source, asked.seeds, o)
			if err != nil {
				return err
			}
			all = append(all, checked...)
		}
		return nil
	}
	var err error
	if out == "" {
		err = work()
	} else {
		o.Folder = filepath.Join(out, grid.Folder)
		err = lockfile.InFolder(out, work)
	}
	if err != nil {
		return err
	}
	r := propose.NewCheckReport(all)
	if out != "" {
		command := "proactivedp propose --check" + asked.flag + " --seeds " + strconv.Itoa(asked.seeds)
		if err := r.Write(out, command, asked.cases, sources, asked.seeds, time.Since(start)); err != nil {
			return err
		}
	}
	return cli.Report(cmd, asJSON, r)
}

// checkedSettings is how many settings are checked.
func checkedSettings() int {
	n := 0
	for _, c := range propose.Checks() {
		n += len(c.Epsilon) * len(c.Noise) * len(c.Walks)
	}
	return n
}

func epsilonRange() string {
	return fmt.Sprintf("in [%g, %g]", propose.MinEpsilon, float64(propose.MaxEpsilon))
}

// probeFor returns what proxies look at for a data set and what was asked for, "" being
// the default: what is not the data is the name of a set, or synthetic.
func probeFor(dataset, asked string) (probed string, p propose.Probing, err error) {
	switch {
	case asked == "" && cli.OwnFile(dataset):
		return probeSynthetic, propose.Other, nil
	case asked == probePrivate:
		return dataset, propose.Private, nil
	case asked == "", asked == dataset:
		return dataset, propose.Own, nil
	case asked == probeOwn && cli.OwnFile(dataset):
		return "", "", errors.New("--probe = own: proxies are nearly without noise and would give away the records " +
			"of the file; must be synthetic or the name of a public data set")
	case asked == probeOwn:
		return dataset, propose.Own, nil
	case asked == probeSynthetic && !cli.OwnFile(dataset):
		return "synth-" + strings.TrimPrefix(dataset, "synth-"), propose.Other, nil
	case asked == probeSynthetic:
		return asked, propose.Other, nil
	case cli.OwnFile(asked):
		return "", "", fmt.Errorf("--probe = %q, must be own, synthetic, private or one of %s", asked,
			strings.Join(cli.AllDataNames(),
				", "))
	}
	return asked, propose.Other, cli.CheckData(asked)
}

// likest returns the drawn data set with about as many features as the data: with 68 or
// with 112.
func likest(d *data.Dataset) string {
	if d.Features <= 90 {
		return "synth-phishing"
	}
	return "synth-mushrooms"
}
