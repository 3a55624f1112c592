package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/experiments"
	"proactivedp/internal/decimal"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
	"proactivedp/trainer"
)

// errNotSatisfied reports that the loop ended before all clients reached their targets.
var errNotSatisfied = errors.New("not every client has a model that reaches its target and beats the baseline")

type autoFlags struct {
	where                    cli.DataFlags
	train                    cli.TrainFlags
	trainer                  trainerFlags
	steps                    []int // with a trainer
	perf                     sim.Perf
	save                     saveFlag
	epsilon, delta, accuracy []float64
	target                   []float64 // the same as accuracy, for any metric
	strategy                 string
	file, dir, probe         string
	stages                   int
	clip, eta0               float64
	out                      cli.OutputFlags
}

func (f *autoFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.where.Own.AddTarget(cmd)
	f.addTraining(cmd)
	cli.NumbersVar(fs, &f.epsilon, "target-epsilon", nil, "ε that all releases together may cost a record (or a person, with --person), in "+
		"[1e-8, 1e4]: one for all clients, or one for each")
	cli.NumbersVar(fs, &f.delta, "delta", nil, "δ, in (0, 1): one for all clients, or one for each (default "+
		"1/N of the client; for your own file, the largest power of ten up to 1/(10N))")
	cli.NumbersVar(fs, &f.accuracy, "target-accuracy", nil, "accuracy on its held-out records with which a client is "+
		"satisfied, in (0, 1]: one for all clients, or one for each")
	cli.NumbersVar(fs, &f.target, "target", nil, "value of --metric on its held-out records with which a client is "+
		"satisfied, in (0, 1], or for rmse and mae above 0: one for all clients, or one for each")
	fs.StringVar(&f.file, "clients-file", "", "JSON `file` with the targets of each client, instead of --clients, "+
		"--target-epsilon, --delta and --target; its target_accuracy is a value of --metric")
	fs.StringVar(&f.strategy, "strategy", string(auto.Tight), "how stages are planned: paper (Theorem simpleF's σ and "+
		"s), paper-target (s for the target epsilon), tight (the least noise) or default (samples of 256, 15 epochs)")
	fs.StringVar(&f.dir, "dir", "", "`folder` that keeps the ledgers, the stages and the model; the same command "+
		"continues from it, and another task on the same data spends the same budget (default: none, for a "+
		"simulation)")
	cli.CountVar(fs, &f.stages, "stages", 0, "spend the budget in this many stages, each with twice as much as the one before, "+
		"and the last with all that is left, in [1, 6] (default: one; for a named set also less than all if the target is known to need less)")
	fs.Float64Var(&f.clip, "max-grad-norm", 0, "clipping norm C of all stages, in [1e-30, 1e30] (default: found)")
	fs.Float64Var(&f.eta0, "eta0", 0, "step size η₀ of all stages, which multiplies the sum of a batch's gradients, in [1e-30, 1e30] "+
		"(default: found)")
	fs.StringVar(&f.probe, "probe", "", "data that the utility graph sees without noise: own, synthetic or the `name` of "+
		"a public set (default: own for named sets; none for a file, whose step size follows from its size)")
	f.trainer.add(cmd)
	cli.CountsVar(fs, &f.steps, "steps", nil, "with --trainer: numbers of steps to try, each at least 1 (default 250,1000)")
	f.save.add(cmd)
	f.out.Add(cmd)
	cli.CountVar(fs, &f.perf.Workers, "workers", f.perf.Workers,
		"goroutines for gradients of large models, at least 1; never changes the result")
}

// addTraining adds the flags for settings of a training that the loop does not choose itself.
func (f *autoFlags) addTraining(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.train.AddNamed(cmd, "model", "data", "clients", "delay", "partition", "schedule", "features", "input-scale",
		"lambda", "split", "momentum", "average", "holdout", "seed", "seed-from-os", "exact", "metric", "class-weights", "at-most", "clipping")
	fs.Lookup("seed").Usage = "seed of the split, the deal and the default model, and without --seed-from-os of all " +
		"randomness; a whole number of at least 0"
	fs.Lookup("seed-from-os").Usage = "take samples and noise of every stage from the operating system: for a " +
		"release, not a simulation; a stage under way keeps its secret in --dir"
	fs.Lookup("average").Usage = "average the broadcasts of a stage; the average is judged, kept and trained further: " +
		"ema:D, D in (0, 1), tail:F, F in (0, 1], or none"
	schedule := fs.Lookup("schedule")
	schedule.DefValue = "" // the default for a single training does not apply
	schedule.Usage += " (default: the paper's, zero or constant, for the strategies paper, tight or default)"
	clients := fs.Lookup("clients")
	clients.DefValue = ""
	clients.Usage = "number of clients n, in [1, 1000000] (default: as many as --target-epsilon, --target or --delta list)"
}

// checkTargets reports that a target is given twice, or as an accuracy for another metric.
func checkTargets(cmd *cobra.Command, spec train.Spec) error {
	if !cmd.Flags().Changed("target-accuracy") {
		return nil
	}
	if spec.Metric != "" && spec.Metric != "accuracy" {
		return fmt.Errorf("--target-accuracy must not be given with --metric %s: give --target, a value of that metric", spec.Metric)
	}
	return cli.RefuseWith(cmd, "target-accuracy", "target")
}

// nameMetric names the usual metric of regression in the spec, so that a target is a value of it.
func nameMetric(s *train.Spec) {
	if metric := s.MetricOf(); metric.Regression() {
		s.Metric = metric.String()
	}
}

func (f *autoFlags) clients(cmd *cobra.Command) ([]auto.Client, error) {
	if f.file != "" {
		if err := cli.RefuseWith(cmd, "clients-file", "clients", "target-epsilon", "delta", "target-accuracy", "target"); err != nil {
			return nil, err
		}
		return auto.ReadClients(f.file)
	}
	wrong, accuracy := checkTargets(cmd, f.train.Spec), f.accuracy
	if cmd.Flags().Changed("target") {
		accuracy = slices.Clone(f.target)
		for i, v := range accuracy {
			if err := f.train.Spec.MetricOf().CheckTarget("--target", v); err != nil {
				wrong = errors.Join(wrong, err)
				accuracy[i] = 1 // a valid value, so that the error is not repeated
			}
		}
	}
	if len(accuracy) == 0 && f.train.Spec.Metric != "" {
		wrong, accuracy = errors.Join(wrong, fmt.Errorf("--target is missing, must be given: a value of --metric %s",
			f.train.Spec.Metric)), []float64{1}
	}
	n := cli.Given(cmd, "clients", f.train.Spec.Clients, max(len(f.epsilon), len(accuracy), len(f.delta), 1))
	clients, err := auto.NewClients(n, f.epsilon, f.delta, accuracy)
	return clients, errors.Join(wrong, err)
}

func newAuto() *cobra.Command {
	f := autoFlags{train: cli.TrainFlags{Spec: train.DefaultSpec()}, perf: sim.Perf{Workers: runtime.GOMAXPROCS(0)}}
	cmd := &cobra.Command{
		Use:   "auto",
		Short: "Train a private model for a budget and a target accuracy",
		Long: `Choose the settings, train a private model within --target-epsilon, and say whether it
reaches --target-accuracy (or --target, for another --metric).

The whole budget is spent in one training (a stage), unless --stages asks for more or the
utility graph of a named set says that less is enough. The utility graph is the accuracy to
expect for each amount of noise. It sees its data without noise, so those must be public.
Your own file has none unless --probe names other data: its clipping norm and step size
follow from its size and the noise.

With several stages, each client judges the model by held-out records after each. A
satisfied client stops training, still receives the model, and returns if its accuracy
falls. What happens next then depends on released results, so every round passes a privacy
filter that is fixed before the first release. A single stage is charged like train. With
--person, ε is for a person, and there is only one stage.
Nothing is released beyond ε, and the privacy statement always states the whole budget. With
--partition replicate every record is in the data of every client, and pays for all rounds.

--dir keeps the ledgers of the budgets. Its folder course has a picture of the stages, which
proactivedp report shows. After an interrupt the same command continues, to the same bits.
Another task on the same data spends what is left of the budget. Do not delete this folder
or restore an older copy. Without --dir every call has the whole budget: that is only for
simulations, and --seed-from-os needs a folder. --save writes the model, for predict.

On images, auto first compares softmax regression on --features scatter with the usual
network of the data set, by proxies (cheap trainings on public data), unless --model or
--features says which to use. The strategy paper uses the paper's network. Proxies do not
look at your own file: it gets scatter, with softmax unless --model says otherwise.

Held-out records are not protected. A client is satisfied if the accuracy on them reaches
the target and beats the majority-class baseline by more than its sampling error, and if the
test records do not contradict that. The exit status is 0 if every client is satisfied. With
--target-bounds the model is linear regression, and --target is a value of R², or of
--metric rmse or mae.

` + trainerHelp + ` After a search by proxies the private training
runs once. Its whole cost is written to the ledger in --dir before it starts. A training
that fails or is killed counts in full; another one needs a larger --target-epsilon, which is
the ε of all private trainings in --dir.`,
		Example: `  proactivedp auto --data phishing --target-epsilon 0.5 --target-accuracy 0.9
  proactivedp auto --data my.csv --label-column sick --label-map no,yes --columns columns.csv --normalise ranges.csv --target-epsilon 1 --target-accuracy 0.85 --seed-from-os --dir run --save private.model
  proactivedp auto --target-epsilon 0.5,1,2 --target-accuracy 0.85,0.9,0.9 --partition shard --dir run3
  proactivedp auto --strategy paper --target-epsilon 0.5 --target-accuracy 0.9 --dir paper --json
  proactivedp auto --trainer 'python3 train.py' --n 50000 --public-n 10000 --target-epsilon 2 --dir run`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *autoFlags) run(cmd *cobra.Command, _ []string) error {
	if own, err := f.trainer.given(cmd, "steps"); err != nil {
		return err
	} else if own {
		return f.runTrainer(cmd)
	}
	task, graph, err := f.task(cmd)
	if err := cli.Distinct(append([]error{err}, f.check(cmd, task)...)); err != nil {
		return cli.Usage(err)
	}
	if err := f.save.check(); err != nil {
		return err
	}
	d, err := f.where.LoadFor(cmd, task.Spec)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(task.Clients, func(c auto.Client) bool { return c.Records > 0 }) {
		cli.NotCovered(d, "which records a client of fewer than it is dealt uses, the first: another takes the place "+
			"of one that leaves")
	}
	source := train.NewSource(d)
	if cli.OwnFile(f.train.Spec.Data) {
		if err := f.chooseOwn(cmd, source, &task); err != nil {
			return cli.Usage(err)
		}
	}
	if err := f.chooseHead(cmd, source, &task); err != nil {
		return err
	}
	r, err := f.loop(cmd, source, task, graph)
	if err != nil {
		return refuse(cmd, err)
	}
	r.OfData(d)
	err = f.save.write(r, d, &f.where.Own)
	if f.dir != "" {
		err = errors.Join(err, writeCourse(cmd, f.dir, source, r))
	}
	if err := errors.Join(err, f.out.Print(cmd, r.Privacy.Statement, r, r.WriteText)); err != nil {
		return err
	}
	if !r.Satisfied {
		return fmt.Errorf("%w: %s", errNotSatisfied, r.Unsatisfied())
	}
	return nil
}

// chooseOwn sets those settings of a task on a user's file that were not given and that the loop
// does not choose: the model, the held-out part, each client's δ, and K, which only the strategy
// paper uses.
func (f *autoFlags) chooseOwn(cmd *cobra.Command, source *train.Source, task *auto.Task) error {
	f.train.OwnModel(cmd, source.Data())
	task.Spec.Model = f.train.Spec.Model
	if !cmd.Flags().Changed("holdout") {
		all := task.Spec
		all.Holdout, all.SeedFromOS = 0, false
		p, err := source.Prepare(all)
		if err != nil {
			return err
		}
		least := slices.MinFunc(task.Clients, func(a, b auto.Client) int { return cmp.Compare(a.Epsilon, b.Epsilon) })
		task.Spec.Holdout = train.DefaultHoldout(p.Config.Mechanism.DatasetSize, least.Epsilon)
	}
	public, err := auto.PublicOf(source, *task)
	if err != nil {
		return err
	}
	task.Spec.GradComps = train.UsualEpochs * public.Records
	var chosen []string
	for i := range task.Clients {
		c := &task.Clients[i]
		if c.Delta == 0 {
			c.Delta = dp.DefaultDelta(cmp.Or(c.Records, public.Records))
			if text := decimal.Exactly(c.Delta); !slices.Contains(chosen, text) {
				chosen = append(chosen, text)
			}
		}
	}
	if len(chosen) > 0 {
		cli.Say(cmd, "chosen for %s with %s: δ = %s; --delta overrides this",
			decimal.Many(len(task.Clients), "client"), decimal.Many(public.Records, "record"), strings.Join(chosen, ", "))
	}
	return nil
}

// check returns everything that is wrong with the flags and the task. It reads no data.
func (f *autoFlags) check(cmd *cobra.Command, task auto.Task) []error {
	errs := []error{f.out.Check(), task.Validate()}
	_, probing, err := probeFor(task.Spec.Data, f.probe)
	if probing == propose.Private {
		err = errors.New("--probe = private: auto accounts for no probe; must be own for a public set, synthetic or " +
			"the name of a public data set")
	}
	onOther := cmd.Flags().Changed("probe") || task.Strategy == auto.Paper || task.Strategy == auto.PaperTarget
	if task.Spec.ClassWeights != "" && onOther && probing == propose.Other {
		err = errors.Join(err, errors.New("--class-weights must not be given with --probe of other data, which has other labels, "+
			"nor with a strategy of the paper, which needs such a probe"))
	}
	errs = append(errs, err, checkFolder(f.dir, trainer.LedgerFile, "with"))
	if task.Spec.SeedFromOS && f.dir == "" {
		errs = append(errs, errors.New("--dir is missing, must name a folder with --seed-from-os: a release whose "+
			"ledger is kept nowhere has no budget"))
	}
	return append(errs, cli.RefuseZeros(cmd, append([]string{"stages", "max-grad-norm", "eta0"}, zeroIsNone...)...), cli.CheckData(task.Spec.Data),
		cli.CheckWorkers(f.perf.Workers))
}

// chooseHead sets the model and the features of a task on images, as far as they were not given. The
// strategy paper keeps the paper's.
func (f *autoFlags) chooseHead(cmd *cobra.Command, source *train.Source, task *auto.Task) error {
	if task.Strategy.ByTheorem() {
		return nil
	}
	_, probing, err := probeFor(task.Spec.Data, f.probe)
	if err != nil {
		return err
	}
	base, epsilon := task.Spec, math.Inf(1)
	for _, c := range task.Clients {
		if c.Epsilon < epsilon {
			epsilon, base.Delta = c.Epsilon, c.Delta
		}
	}
	base.Holdout, base.SeedFromOS, base.Exact = 0, false, false // proxies of public data hold out their own records
	trials := trials(cmd, &f.where, f.perf.Workers, "")         // --dir is not locked yet
	head, _, err := chooseHead(cmd, base, headsFor(cmd, base, source.Data()), epsilon,
		propose.Options{Data: source, Probe: source, Probing: probing, Trials: trials})
	if err == nil {
		task.Spec.Model, task.Spec.FeatureMap = head.Model, head.Features
	}
	return err
}

// loop runs the task on the data.
func (f *autoFlags) loop(
	cmd *cobra.Command, source *train.Source, task auto.Task, graph auto.Graph,
) (*auto.Report, error) {
	public, err := auto.PublicOf(source, task)
	if err != nil {
		return nil, cli.Usage(err)
	}
	utility := auto.UsualSteps(source)
	if !cli.OwnFile(task.Spec.Data) || f.probe != "" || task.Strategy.ByTheorem() {
		probe, err := f.probeOf(cmd, source, task)
		if err != nil {
			return nil, err
		}
		probe.Graph = graph
		probe.Trials = trials(cmd, &f.where, f.perf.Workers, f.dir)
		utility = probe.Utility
	}
	return auto.Run(cmd.Context(), task, auto.Options{
		Dir: f.dir, Public: public, Utility: utility, Progress: cmd.ErrOrStderr(),
		Open: func(context.Context) (auto.Trainer, error) {
			return auto.NewTrainer(source, task, f.dir, f.perf, int64(f.where.Memory), cmd.ErrOrStderr()), nil
		},
	})
}

// probeOf returns the probe for the utility graph, which says on which data it is measured.
func (f *autoFlags) probeOf(cmd *cobra.Command, source *train.Source, task auto.Task) (auto.Probe, error) {
	probed, probing, err := probeFor(task.Spec.Data, f.probe)
	if err != nil || probing == propose.Own {
		return auto.NewProbe(source, task), err
	}
	other, err := loadProbed(cmd, &f.where, probed, task.Spec, source.Data())
	if err != nil {
		return auto.Probe{}, err
	}
	return auto.NewProbeOn(other, task), nil
}

// task returns the task that the flags ask for, with its utility graph.
func (f *autoFlags) task(cmd *cobra.Command) (auto.Task, auto.Graph, error) {
	if err := f.train.Fill(cmd, regression(cmd, cli.OwnUsual(pool.Train))); err != nil {
		return auto.Task{}, auto.Graph{}, err
	}
	f.train.DrawExactly(cmd)
	nameMetric(&f.train.Spec)
	spec := f.train.Spec
	wishes, err := f.clients(cmd)
	if spec.Holdout == 0 {
		spec.Holdout = train.UsualHoldout
	}
	strategy := auto.Strategy(f.strategy)
	if !cmd.Flags().Changed("schedule") {
		spec = strategy.Schedule(spec)
	}
	task := auto.NewTask(spec, strategy, wishes)
	task.Stages, task.Clip, task.Eta0 = f.stages, f.clip, f.eta0
	return task, graphFor(spec, len(wishes)), err
}

// mostGradients is the largest number of gradients, of all clients, for w* of auto's utility graph.
// It bounds the time before the first stage. The paper's w* of logistic regression took five times as
// many, and with fewer the graph can be another one (docs/paper.md, utility graphs).
const mostGradients = 3_500_000

// graphFor returns the paper's utility graph for the given number of clients, with a shorter
// training of w*.
func graphFor(s train.Spec, clients int) auto.Graph {
	spec, clips := experiments.PaperUtilitySpec(s.Model, s.Data)
	all := min(spec.Train.GradComps*spec.Train.Clients, mostGradients)
	return auto.Graph{Clips: clips, Sigmas: spec.Sigmas, Draws: spec.Draws, GradComps: all / max(1, clients)}
}
