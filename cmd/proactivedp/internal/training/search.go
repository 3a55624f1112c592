package training

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/experiments"
	"proactivedp/internal/decimal"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
)

type searchFlags struct {
	where   cli.DataFlags
	sweep   machines.SweepFlags
	train   cli.TrainFlags
	spec    experiments.SearchSpec
	options experiments.SearchOptions
	rates   []float64
	epsilon float64
}

func newSearch() *cobra.Command {
	f := searchFlags{spec: experiments.PaperSearch("", "mnist"), options: experiments.SearchOptions{Workers: runtime.GOMAXPROCS(0)}}
	f.train.Spec = f.spec.Train
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Search for a model variant and a step size on held-out training records",
		Long: `Train every combination of model, clipping norm, η₀ and β, with each σ, on the training set
without a held-out part, and rank them by the accuracy on that part. The test set is not
used. Clipping norms and η₀ are laid out by the rule of auto, unless lists are given. The
command prints the winners, each with the command that trains it, and writes a table of all
runs, the ranking and a manifest. No privacy statement covers the search itself.

On images, search first compares softmax regression on --features scatter with the usual
network of the data set, as propose does, for the ε that the largest σ costs. Your own file
gets scatter without a comparison. --models or --features says which to use, and with only
--noise-multiplier 0 the network stays. If search chooses, it tries only noise by default.

With noise, search trains proxies: trainings with batch size s·f, noise multiplier σ·f and
step size η₀/f, in the same number of rounds. A proxy takes the same steps as the whole
training and costs the part f of it. --proxy 1 runs whole trainings. Trainings without
noise are always whole. --noise-multiplier says for which noise to search.

For your own file, one client trains with the batch size, steps, schedule and noise that
train would choose for --target-epsilon (default 1). For a named data set, the other
defaults are the paper's, except the schedule and β of networks. The paper has
0.1/(1+0.01√t); the step sizes in train and figures were found by this search, with lists.
About a sixth of the training records is held out, unless --holdout says otherwise. A hash
of each record decides which ones.

An interrupted command keeps its finished runs below --out and continues from there.`,
		Example: `  proactivedp search --data mnist
  proactivedp search --data mnist --models lenet --eta0 0.01,0.02,0.04 --beta 0.01 --noise-multiplier 12.10881 --seeds 5
  proactivedp search --data mnist --models lenet,lenet-relu --noise-multiplier 12.10881 --schedule zero
  proactivedp search --data phishing --models logreg --proxy 1`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *searchFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.sweep.Add(cmd)
	f.train.Add(cmd, cli.SettingFlags, cli.EndFlags)
	fs, spec, o := cmd.Flags(), &f.spec, &f.options
	fs.StringSliceVar(&spec.Models, "models", spec.Models,
		"models to try, of "+cli.ModelsUsage())
	cli.NumbersVar(fs, &spec.Clips, "max-grad-norm", nil, "clipping norms C to try, in [1e-30, 1e30] (default: 0.1, 0.3 and 1; for "+
		"scatter 0.01, and for networks one, as only its product with the step size matters)")
	cli.NumbersVar(fs, &spec.Eta0, "eta0", nil, "initial step sizes η₀ to try, in [1e-30, 1e30] (default: multiples of 1/(C·s·n) for "+
		"batches of s and n clients, from 1/16 to 4 for networks and from 1/4 to 32 for other models)")
	cli.NumbersVar(fs, &f.rates, "learning-rate", nil, "initial step sizes to try that multiply the mean gradient of a batch, "+
		"instead of --eta0: η₀ is each of them divided by --batch-size; in [1e-30, 1e30]")
	cli.NumbersVar(fs, &spec.Beta, "beta", spec.Beta, "decays β of the step size to try, in [0, 1e30]")
	cli.NumbersVar(fs, &spec.Sigmas, "noise-multiplier", spec.Sigmas,
		"noise multipliers σ to search for, at least 0, each by itself; 0: without noise")
	fs.Float64Var(&f.epsilon, "target-epsilon", 0, "certified ε that the winner may cost a record over all clients that hold it, "+
		"in [1e-8, 1e4]: searches for the least noise that keeps it, instead of --noise-multiplier (default for your own file: 1)")
	fs.Float64Var(&spec.Scale, "scale", spec.Scale, "run this part of the gradient computations, in (0, 1]")
	fs.Float64Var(&spec.Proxy, "proxy", spec.Proxy, "fraction f, in (0, 1]: proxies have batch size f·s, noise "+
		"multiplier f·σ and step size η₀/f; 1 runs whole trainings")
	cli.CountVar(fs, &spec.Seeds, "seeds", spec.Seeds, "how many seeds, from 1 on, in [1, 10000]")
	fs.StringVar(&o.Out, "out", "", "`folder` to write to (default out/search-DATA)")
	cli.CountVar(fs, &o.Workers, "workers", o.Workers, "runs at the same time, at least 1; never changes the result")
	cli.AddJSON(fs)
}

func (f *searchFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if err := f.sweep.Check(cmd); err != nil {
		return err
	}
	if err := f.fill(cmd); err != nil {
		return err
	}
	d, err := f.where.LoadFor(cmd, f.spec.Train)
	if err != nil {
		return err
	}
	o := &f.options
	o.Progress, o.Memory = cmd.ErrOrStderr(), int64(f.where.Memory)
	source := train.NewSource(d)
	if err := f.chooseHead(cmd, source); err != nil {
		return err
	}
	if err := f.chooseOwn(cmd, source); err != nil {
		return err
	}
	cli.SayWithoutNoise(cmd, f.spec.Train.Data, f.spec.Sigmas...)
	own := cli.OwnText(cmd) // flags without which the same file would be read differently
	o.Command = func(s experiments.SearchSpec) string { return searchCommand(s) + own }
	o.TrainCommand = func(s train.Spec) string { return trainCommand(s) + own }
	if o.Elsewhere, err = f.sweep.Open(cmd); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.sweep.Close()) }()
	r, err := experiments.Search(cmd.Context(), f.spec, source, *o)
	if err != nil {
		return err
	}
	cli.Say(cmd, "search in %s", o.Out)
	return cli.Report(cmd, r)
}

// chooseHead sets the model and the features of a search on images, as far as they were not given, and then the
// steps that they need. The choice is for the ε of the training with the most noise. Without noise there is no
// ε for which to choose, and the network of the data set stays.
func (f *searchFlags) chooseHead(cmd *cobra.Command, source *train.Source) error {
	spec := &f.spec
	given := propose.Head{Model: spec.Train.Model, Features: spec.Train.FeatureMap}
	heads := headsFor(cmd, spec.Train, source.Data())
	usual, sigma := heads[len(heads)-1], slices.Max(spec.Sigmas)
	if sigma == 0 || len(spec.Models) > 1 && cmd.Flags().Changed("models") {
		heads = []propose.Head{usual}
	}
	if len(heads) == 1 && usual == given {
		return nil
	}
	if err := f.options.CheckOut(); err != nil {
		return err
	}
	whole := spec.Train
	whole.Model, whole.FeatureMap, whole.NoiseMultiplier = usual.Model, usual.Features, sigma
	whole.TargetEpsilon, whole.Holdout, whole.Fold = 0, 0, 0 // the winner trains on all records
	_, probing, err := probeFor(whole.Data, "")
	if err != nil {
		return err
	}
	epsilon := 0.0
	if len(heads) > 1 {
		if cli.OwnFile(whole.Data) || f.epsilon != 0 {
			epsilon = cmp.Or(f.epsilon, train.UsualEpsilon)
		} else if epsilon, err = epsilonOf(cmd.Context(), source, whole); err != nil {
			return err
		}
		if !cmd.Flags().Changed("noise-multiplier") {
			spec.Sigmas = []float64{sigma}
		}
	}
	base, plain := whole, train.DefaultSpec() // proxies of proposals are plain
	base.Model, base.FeatureMap = given.Model, given.Features
	base.Sampling, base.Batches, base.Runner, base.TimeScale, base.Adapt = plain.Sampling, 0, plain.Runner, 0, 0
	head, compared, err := chooseHead(cmd, base, heads, epsilon, propose.Options{Data: source, Probe: source, Probing: probing,
		Trials: trials(cmd, &f.where, f.options.Workers, "")})
	if err != nil {
		return err
	}
	f.options.Compared = compared
	if head == given {
		return nil
	}
	return f.chooseSchedule(cmd, source, head)
}

// epsilonOf returns the certified ε of a record in a training, or infinity.
func epsilonOf(ctx context.Context, source *train.Source, spec train.Spec) (float64, error) {
	p, err := source.Prepare(spec)
	if err != nil {
		return 0, cli.Usage(err)
	}
	r, err := p.PlannedPrivacy(ctx)
	if err != nil || r.Certified.PerRecord.EpsilonUpper == nil {
		return math.Inf(1), err
	}
	return *r.Certified.PerRecord.EpsilonUpper, nil
}

// chooseSchedule sets the model and features that the search chose, and a schedule for them if none was given: the
// paper's is for its networks.
func (f *searchFlags) chooseSchedule(cmd *cobra.Command, source *train.Source, head propose.Head) error {
	spec := &f.spec
	spec.Train.Model, spec.Train.FeatureMap, spec.Models = head.Model, head.Features, []string{head.Model}
	if cli.OwnFile(spec.Train.Data) {
		return nil // chooseOwn chooses and checks the rest
	}
	if !cli.AnyChanged(cmd, "schedule", "beta") {
		spec.Train.Schedule, spec.Train.Beta, spec.Beta = string(sim.ZeroDecay), 0, []float64{0}
		cli.Say(cmd, "the schedule is zero (step sizes fall to 0); --schedule overrides this")
	}
	if _, err := source.Prepare(spec.Train); err != nil {
		return cli.Usage(err)
	}
	if err := spec.Validate(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// chooseOwn chooses the settings of a training on a user's file that no flag gives, and the noise for --target-epsilon:
// of the winner, which trains on all training records.
func (f *searchFlags) chooseOwn(cmd *cobra.Command, source *train.Source) error {
	spec := &f.spec
	if !cli.OwnFile(spec.Train.Data) && f.epsilon == 0 {
		return nil
	}
	changed := cmd.Flags().Changed
	f.train.Spec = spec.Train
	open := f.train.Open(cmd, 0)
	open.Clip, open.Eta0 = false, false // several are tried
	f.train.Spec.Holdout, f.train.Spec.Fold = 0, 0
	if spec.Train.FeatureMap == "" { // else chooseHead chose the model
		if f.train.OwnModel(cmd, source.Data()); f.train.Spec.Model != spec.Train.Model {
			spec.Models = []string{f.train.Spec.Model}
		}
	}
	if open.Rounds > 0 { // the batches must fit the records that are not held out, whatever the seed
		trial := f.train.Spec
		trial.Holdout, trial.Fold = spec.Train.Holdout, spec.Train.Fold
		var err error
		if open.MostSize, err = source.LeastRecords(trial, spec.Seeds); err != nil {
			return cli.Usage(err)
		}
	}
	if err := f.train.ChooseOwn(cmd, source, spec.Seeds, open); err != nil {
		return err
	}
	f.train.Spec.Holdout, f.train.Spec.Fold = spec.Train.Holdout, spec.Train.Fold
	spec.Train = f.train.Spec
	if open.Noise {
		spec.Sigmas = []float64{spec.Train.NoiseMultiplier}
		cli.Say(cmd, "σ = %v, the least for ε = %v; --target-epsilon and --noise-multiplier override this", spec.Sigmas[0],
			cmp.Or(f.epsilon, train.UsualEpsilon))
	}
	if open.Schedule && cli.OwnFile(spec.Train.Data) {
		spec.Beta = []float64{0}
	}
	if changed("learning-rate") {
		if err := f.eta0(cmd); err != nil {
			return cli.Usage(err)
		}
	}
	if size, err := decimal.Count(spec.Train.SampleSize); err == nil && !changed("proxy") && float64(size)*spec.Proxy < 0.5 {
		spec.Proxy = 1 // a proxy would have no record
	}
	return cli.Usage(cli.Distinct([]error{spec.Validate()}))
}

// eta0 sets the step sizes of the search from --learning-rate.
func (f *searchFlags) eta0(cmd *cobra.Command) error {
	size, err := cli.BatchSize(f.spec.Train, "learning-rate")
	errs := []error{err, cli.RefuseWith(cmd, "learning-rate", "eta0")}
	f.spec.Eta0 = nil
	for _, rate := range f.rates {
		eta0, err := cli.Eta0(rate, size)
		f.spec.Eta0 = append(f.spec.Eta0, eta0)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fill completes the search with the paper's values for what was not given, and returns an error
// for what is wrong with it.
func (f *searchFlags) fill(cmd *cobra.Command) error {
	given, spec, o := f.spec, &f.spec, &f.options
	for i, model := range given.Models {
		given.Models[i] = train.FullName(model)
	}
	changed := cmd.Flags().Changed
	if err := f.train.Fill(cmd, cli.OwnUsual(func(_, dataset string) train.Spec {
		model := ""
		if changed("models") && len(given.Models) > 0 {
			model = given.Models[0]
		}
		*spec = experiments.PaperSearch(model, dataset)
		return spec.Train
	})); err != nil {
		return err
	}
	f.train.Spec.TargetEpsilon = f.epsilon
	spec.Train = f.train.Spec
	spec.Scale, spec.Proxy, spec.Seeds = given.Scale, given.Proxy, given.Seeds
	spec.Models = cli.Given(cmd, "models", given.Models, spec.Models)
	spec.Clips = cli.Given(cmd, "max-grad-norm", given.Clips, spec.Clips)
	spec.Eta0 = cli.Given(cmd, "eta0", given.Eta0, spec.Eta0)
	spec.Sigmas = cli.Given(cmd, "noise-multiplier", given.Sigmas, spec.Sigmas)
	if changed("learning-rate") {
		if err := f.eta0(cmd); err != nil {
			return cli.Usage(err)
		}
	}
	if changed("beta") {
		spec.Beta = given.Beta
	} else if decay := sim.Decay(spec.Train.Schedule); decay.Ends() || decay == sim.NoDecay {
		spec.Beta = []float64{0}
	}
	if o.Out == "" {
		o.Out = filepath.Join("out", "search-"+strings.NewReplacer(":", "-", string(filepath.Separator),
			"-").Replace(filepath.Clean(spec.Train.Data)))
	}
	checked := *spec
	if cli.OwnFile(spec.Train.Data) && !changed("batch-size") && experiments.CheckPart("proxy", spec.Proxy) == nil {
		checked.Proxy = 1 // the batch size is not chosen yet
	}
	var scaled error
	if changed("target-epsilon") {
		scaled = cli.RefuseWith(cmd, "target-epsilon", "scale") // the noise would be for the whole training
	}
	if err := cli.Distinct([]error{checked.Validate(), checkTarget(cmd, spec.Train), scaled, cli.RefuseZeros(cmd, "input-scale", "lambda"),
		checkBeta(cmd, spec.Train.Schedule), cli.CheckData(spec.Train.Data), cli.CheckWorkers(o.Workers)}); err != nil {
		return cli.Usage(err)
	}
	return nil
}
