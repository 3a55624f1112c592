package training

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/experiments"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Values of --probe that are not the name of a data set.
const (
	probeOwn       = string(propose.Own)
	probeSynthetic = "synthetic"
	probePrivate   = string(propose.Private)
)

type proposeFlags struct {
	where   cli.DataFlags
	train   cli.TrainFlags
	trainer trainerFlags
	request propose.Request
	target  float64 // the same as request.TargetAccuracy, for any metric
	probe   string
	out     string
	drawing drawingFlags
	workers int
	check   bool
	fresh   uint64
	against float64
}

func newPropose() *cobra.Command {
	f := proposeFlags{train: cli.TrainFlags{Spec: train.DefaultSpec()}, workers: runtime.GOMAXPROCS(0)}
	f.request = propose.DefaultRequest(f.train.Spec, 0)
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Propose complete settings for a budget, with the accuracy to expect",
		Long: `Search sample size, rounds, noise, clipping norm and step sizes for a target epsilon,
or for the least ε that gives a target accuracy, and rank complete settings: each with
its predicted accuracy and an interval, the certified ε of a record and of a client,
and what it costs. Nothing private is trained.

Accuracy is predicted by proxies: cheap trainings with a fraction f of the batch size and
of the noise, and step size η₀/f, in the same number of steps. They are judged by held-out
training rows, never by the test set.

On images, proxies first compare softmax regression on --features scatter with the usual
network of the data set, unless --model or --features says which to use. Models that take
too long to compare are listed. At least one listed setting has σ ≥ 2, if there is more than one.

A proxy has almost no noise. --probe says which data proxies see. For the named sets, which
are public, the default is own: the data itself. For your own file it is synthetic: a drawn
table with as many features and classes, of which one is frequent unless --metric is the
accuracy, or drawn images. It can also be a named set. The accuracy is then that of these
data. --probe private sees the data itself by private selection: about ten private
trainings for half of the target epsilon. Only the best one is shown, and one setting is
proposed. For linear regression (--target-bounds), synthetic means drawn numbers, and it is
the only choice.

--out writes a picture of the frontier with its data, and keeps finished proxies, so that
an interrupted command can continue. The exit status is 1 if no setting is predicted to
meet the request.

--check trains settings and makes a figure of how good the predictions are. With --count,
the settings are the first proposals at seven budgets on three data sets.
--against-grid compares the first proposal with the best of a grid of whole trainings that
takes this many times the arithmetic.

` + trainerHelp,
		Example: `  proactivedp propose --data phishing --target-epsilon 0.15
  proactivedp propose --data mnist --clients 1 --target-epsilon 0.105 --out out/propose-mnist
  proactivedp propose --data mushrooms --target-accuracy 0.98
  proactivedp propose --data my.libsvm --features 68 --target-epsilon 1 --probe phishing
  proactivedp propose --trainer 'python3 train.py' --n 50000 --public-n 10000 --target-epsilon 2 --out run`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if own, err := f.trainer.given(cmd); err != nil {
				return err
			} else if own {
				return f.proposeTrainer(cmd)
			}
			if f.check {
				return f.checkPredictions(cmd)
			}
			return f.propose(cmd)
		},
	}
	f.add(cmd)
	return cmd
}

// givenFlags are the training flags whose settings no proposal changes.
var givenFlags = []string{"model", "data", "clients", "delay", "partition", "features", "input-scale", "lambda",
	"split", "momentum", "delta", "seed", "metric", "class-weights", "at-most"}

func (f *proposeFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.where.Own.AddTarget(cmd)
	f.train.AddNamed(cmd, givenFlags...)
	f.trainer.add(cmd)
	fs, r := cmd.Flags(), &f.request
	fs.Float64Var(&r.Epsilon, "target-epsilon", 0, fmt.Sprintf("target epsilon of a record over all clients that hold it, "+
		"in [%g, %g] (default: the least that --target needs)", propose.MinEpsilon, float64(propose.MaxEpsilon)))
	fs.Float64Var(&r.TargetAccuracy, "target-accuracy", 0, "accuracy that is wanted, in (0, 1) (default: the best)")
	fs.Float64Var(&f.target, "target", 0, "value of --metric that is wanted, in (0, 1), above the one of guessing, or for rmse and mae below it "+
		"(default: the best)")
	fs.StringVar(&f.probe, "probe", "", "what proxies look at: own, synthetic, private or the `name` of a public set "+
		"(default: own for named sets, synthetic for a file)")
	cli.CountsVar(fs, &r.Rounds, "steps", r.Rounds, "numbers of steps (rounds) to try, of all clients together, each at "+
		"least the number of clients (default of networks: up to 4000; of --trainer: 250,1000)")
	cli.CountVar(fs, &r.Seeds, "seeds", r.Seeds, "matched seeds of the proxies, in [3, 100] (of networks: 3, "+
		"of --check: 5)")
	cli.CountVar(fs, &r.Count, "count", r.Count, "how many settings to propose at most, in [1, 100] (of networks: 3); with --check: "+
		"proposals to check at each budget")
	fs.StringVar(&f.out, "out", "", "`folder` for the picture and finished proxies (default: none)")
	f.drawing.add(fs)
	cli.CountVar(fs, &f.workers, "workers", f.workers, "proxies at the same time, at least 1; never changes the result")
	fs.BoolVar(&f.check, "check", false, "train settings, and compare their accuracies with the predictions")
	fs.Uint64Var(&f.fresh, "fresh", 0, "with --check: draw other settings by this `seed`, at least 0; the "+
		"intervals were not fitted to these")
	fs.Float64Var(&f.against, "against-grid", 0, "compare the first proposal with the best of a grid that takes this "+
		"many `times` its arithmetic, in [1, 1000]")
	cli.AddJSON(fs)
}

// propose searches for settings and prints the report.
func (f *proposeFlags) propose(cmd *cobra.Command) error {
	if cmd.Flags().Changed("fresh") {
		return cli.Usage(errors.New("--fresh is for --check, which is not given"))
	}
	if err := f.train.Fill(cmd, regression(cmd, cli.OwnUsual(pool.Train))); err != nil {
		return err
	}
	nameMetric(&f.train.Spec)
	f.request.Base = f.train.Spec
	fillUsual(cmd, &f.request)
	o := propose.Options{Perf: sim.Perf{Workers: f.workers}, Trials: trials(cmd, &f.where, f.workers, f.out)}
	var outside error
	if smaller := f.train.Spec.MetricOf().Smaller(); cmd.Flags().Changed("target") && f.target > 0 && (f.target < 1 || smaller) {
		f.request.TargetAccuracy = f.target
	} else if cmd.Flags().Changed("target") && smaller {
		outside = f.train.Spec.MetricOf().CheckTarget("--target", f.target)
		f.request.TargetAccuracy = 1
	} else if cmd.Flags().Changed("target") {
		f.request.TargetAccuracy = 0.5 // a valid value, so that the error is not repeated
		outside = fmt.Errorf("--target = %v, must be in (0, 1)", f.target)
	}
	wrong := errors.Join(outside, cli.RefuseZeros(cmd, "target-epsilon", "target-accuracy"), checkTargets(cmd, f.train.Spec),
		f.drawing.check(cmd, f.out))
	if cmd.Flags().Changed("against-grid") {
		wrong = errors.Join(wrong, experiments.CheckGridTimes(f.against),
			cli.RefuseWith(cmd, "against-grid", "target-accuracy", "target", "metric", cli.TargetFlag))
	}
	probed, probing, err := probeFor(f.request.Base.Data, f.probe)
	o.Probing = probing
	wrong = cli.Distinct([]error{wrong, f.request.Validate(), o.Validate(f.request), err})
	if err := checkTrain(cmd, f.request.Base, wrong, f.workers); err != nil {
		return err
	}
	d, err := f.where.LoadFor(cmd, f.request.Base)
	if err != nil {
		return err
	}
	start := time.Now()
	o.Data = train.NewSource(d)
	if cli.OwnFile(f.train.Spec.Data) {
		if err := f.chooseOwn(cmd, o.Data); err != nil {
			return err
		}
	}
	if o.Probe = o.Data; probing == propose.Other {
		other, err := loadProbed(cmd, &f.where, probed, f.request.Base, d)
		if err != nil {
			return err
		}
		o.Probe = train.NewSource(other)
	}
	head, compared, err := chooseHead(cmd, f.request.Base, headsFor(cmd, f.request.Base, d), f.request.Epsilon, o)
	if err != nil {
		return err
	}
	f.request.Base.Model, f.request.Base.FeatureMap = head.Model, head.Features
	fillUsual(cmd, &f.request)
	var answer answered
	err = inFolder(f.out, func() (err error) {
		answer, err = f.search(cmd, o)
		return err
	})
	if err != nil {
		return refuse(cmd, err)
	}
	if r, ok := answer.(*propose.Report); ok {
		r.Compared = compared
	}
	if f.out != "" {
		sources := []*train.Source{o.Data}
		if o.Probe != o.Data {
			sources = append(sources, o.Probe)
		}
		command := proposeCommand(f.request, f.probe, f.against) + cli.OwnText(cmd) + drawingText(f.drawing.Drawing)
		if err := answer.Write(f.out, command, f.drawing.Drawing, sources, time.Since(start)); err != nil {
			return err
		}
	}
	return cli.Report(cmd, answer)
}

// chooseOwn sets the settings that a proposal for a user's file takes as given, if the user has not
// given them: the model and δ.
func (f *proposeFlags) chooseOwn(cmd *cobra.Command, source *train.Source) error {
	f.train.OwnModel(cmd, source.Data())
	p, err := source.Prepare(f.train.Spec)
	if err != nil {
		return cli.Usage(err)
	}
	open := train.Open{Delta: !cmd.Flags().Changed("delta")}
	if err := f.train.Choose(cmd.Context(), cmd, p, open, f.request.Epsilon); err != nil {
		return err
	}
	f.request.Base = f.train.Spec
	return nil
}

// The tables that probes draw: fewestDrawn to mostDrawn rows of at most mostDrawnFeatures features, of which drawnNoise of the
// labels do not depend on the features, or of the variance of numbers. For metrics other than the accuracy, which are
// for rare classes, drawnShare of the rows are of class 0. A table is dense, so its size must not follow a sparse file
// of many features.
const (
	fewestDrawn, mostDrawn = 2000, 20_000
	mostDrawnFeatures      = 1000
	drawnNoise             = 0.2
	drawnShare             = 0.9
)

// loadProbed loads the data set that proxies use instead of the training data d, see [probeFor]. For a user's file of rows
// it draws a table: about as many rows, as many features up to mostDrawnFeatures, and as many classes as the file has, or
// numbers within the same public bounds.
func loadProbed(cmd *cobra.Command, where *cli.DataFlags, probed string, spec train.Spec, d *data.Dataset) (*data.Dataset, error) {
	if d.Targets != nil && probed != probeSynthetic {
		return nil, cli.Usage(fmt.Errorf("--probe = %s has classes, and %s has targets: must be %s, which draws numbers", probed, d.Name,
			probeSynthetic))
	}
	if probed == probeSynthetic && d.Images == nil && d.Classes <= synth.MaxTableClasses {
		root, shape := rng.New(cli.StandInSeed), synth.TableShape{Rows: min(max(d.Len(), fewestDrawn), mostDrawn),
			Features: min(d.Features, mostDrawnFeatures), Classes: d.Classes, Noise: drawnNoise}
		if d.Targets != nil {
			shape.Classes = 0
			return synth.Numbers(root, "synth-numbers", shape, d.Targets.Bounds)
		}
		if !spec.IsAccuracy() {
			shape.Share = drawnShare
		}
		return synth.Table(root, "synth-table", shape)
	}
	if probed == probeSynthetic {
		probed = likest(d)
	}
	return where.Load(cmd, probed)
}

// search searches for settings. On request, it compares the first one with the best of a grid.
func (f *proposeFlags) search(cmd *cobra.Command, o propose.Options) (answered, error) {
	if !cmd.Flags().Changed("against-grid") {
		return propose.Propose(cmd.Context(), f.request, o)
	}
	return experiments.AgainstGrid(cmd.Context(), f.request, o, experiments.ProposalGrid(f.request), f.against,
		gridTestSeeds(o.Data.Data()))
}

func fillUsual(cmd *cobra.Command, r *propose.Request) {
	usual := propose.DefaultRequest(r.Base, 0)
	r.Seeds = cli.Given(cmd, "seeds", r.Seeds, usual.Seeds)
	r.Rounds = cli.Given(cmd, "steps", r.Rounds, usual.Rounds)
	r.Count = cli.Given(cmd, "count", r.Count, usual.Count)
}

// answered is the result of a search for settings.
type answered interface {
	Write(dir, command string, d results.Drawing, sources []*train.Source, took time.Duration) error
	WriteText(w io.Writer) error
}

// gridTestSeeds is how often a proposal and the best setting of the grid are trained and evaluated
// on the test set. Trainings on rows vary more and take less time, so they get more seeds.
func gridTestSeeds(d *data.Dataset) int {
	if d.Images != nil {
		return 20
	}
	return 100
}

// probeFor returns the data that proxies use, for a data set and the value of --probe, where "" is
// the default. If it is not the data itself, probed is the name of a data set, or synthetic.
func probeFor(dataset, asked string) (probed string, p propose.Probing, err error) {
	switch {
	case asked == "" && cli.OwnFile(dataset):
		return probeSynthetic, propose.Other, nil
	case asked == probePrivate:
		return dataset, propose.Private, nil
	case cli.OwnFile(dataset) && (asked == probeOwn || asked == dataset):
		return "", "", fmt.Errorf("--probe = %s: what looks without noise, or nearly so, gives away the records "+
			"of the file; must be synthetic, private (of propose) or the name of a public data set", asked)
	case asked == "", asked == dataset, asked == probeOwn:
		return dataset, propose.Own, nil
	case asked == probeSynthetic && !cli.OwnFile(dataset):
		return "synth-" + strings.TrimPrefix(dataset, "synth-"), propose.Other, nil
	case asked == probeSynthetic:
		return asked, propose.Other, nil
	case cli.OwnFile(asked):
		return "", "", fmt.Errorf("--probe = %q, must be own, synthetic, private or one of %s", asked,
			strings.Join(cli.AllDataNames(), ", "))
	}
	return asked, propose.Other, cli.CheckData(asked)
}

// likest returns the named synthetic data set that is most like the data: by the number of features, 68
// or 112, or for images by the number of channels.
func likest(d *data.Dataset) string {
	if d.Images != nil && d.Images.Channels == 1 {
		return "synth-mnist"
	}
	if d.Images != nil {
		return "synth-cifar10"
	}
	if d.Features <= 90 {
		return "synth-phishing"
	}
	return "synth-mushrooms"
}
