package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/internal/message"
	"proactivedp/models"
	"proactivedp/models/mlp"
	"proactivedp/sim"
	"proactivedp/train"
)

// specFlag is the flag for one field of a training's spec. Package train knows only the fields, and
// this file knows the flags.
type specFlag struct {
	name  string
	group FlagGroup
	field func(*train.Spec) any // returns a pointer to the field
	usage string
}

// FlagGroup is a group of flags for a training's spec. Each command has some of the groups.
type FlagGroup int

// These are the groups. SettingFlags are for every command that trains. PointFlags are settings for which a
// search tries several values. EndFlags say how the final model is evaluated. NoiseFlags are for the noise and the privacy
// statement. RunFlags are for commands that run a single training.
const (
	SettingFlags FlagGroup = iota
	PointFlags
	EndFlags
	NoiseFlags
	RunFlags
)

// ModelsUsage returns text for the help: the names of the models, and how to name a perceptron with its layers.
func ModelsUsage() string {
	return fmt.Sprintf("%s; mlp:64:32 has hidden layers of these widths, up to %d of [1, %d], mlp one of %d",
		strings.Join(train.ModelNames(), ", "), mlp.MaxLayers, mlp.MaxWidth, mlp.DefaultWidth)
}

// specFlags lists the flags, in the order of printed commands.
var specFlags = []specFlag{
	{"model", PointFlags, func(s *train.Spec) any { return &s.Model }, ModelsUsage()},
	{"data", SettingFlags, func(s *train.Spec) any { return &s.Data },
		"data set `name` (see proactivedp data list), or your own file: LIBSVM, .csv with --label-column and " +
			"--label-map, or .npz, IDX images or CIFAR batches, or a folder of them, with --label-map"},
	{"clients", SettingFlags, func(s *train.Spec) any { return &s.Clients },
		"number of clients n, in [1, 1000000]; by default 1 for your own file, except in delay and host"},
	{"grad-computations", SettingFlags, func(s *train.Spec) any { return &s.GradComps },
		"gradient computations K of each client, at least the first batch size"},
	{"batch-size", SettingFlags, func(s *train.Spec) any { return &s.SampleSize },
		"expected batch size s, in [1, N], or a size for each round: linear:FIRST,SLOPE, " +
			"poly:FIRST,SLOPE,POWER or list:S0,S1,…"},
	{"noise-multiplier", NoiseFlags, func(s *train.Spec) any { return &s.NoiseMultiplier },
		"noise multiplier σ, at least 0: the noise of a sum of gradients is N(0, C²σ²) per " +
			"coordinate; 0 trains without noise"},
	{"max-grad-norm", NoiseFlags, func(s *train.Spec) any { return &s.Clip },
		"clipping norm C, in [1e-30, 1e30]"},
	{"eta0", PointFlags, func(s *train.Spec) any { return &s.Eta0 },
		"initial step size η₀, which multiplies the sum of a batch's gradients, not their mean, in [1e-30, 1e30]"},
	{"beta", PointFlags, func(s *train.Spec) any { return &s.Beta },
		"decay β of the step size, in [0, 1e30]; of the schedules linear and sqrt"},
	{"schedule", SettingFlags, func(s *train.Spec) any { return &s.Schedule },
		"step size after t gradients of a client: linear η₀/(1+βt), sqrt η₀/(1+β√t), constant, or, without β, " +
			"zero η₀(1−t/K) or cosine η₀(1+cos(πt/K))/2"},
	{"momentum", SettingFlags, func(s *train.Spec) any { return &s.Momentum },
		"momentum M of the server, in [0, 1): u ← M·u + U for each update, and u takes the place of U"},
	{"init", RunFlags, func(s *train.Spec) any { return &s.Initial },
		"begin with the weights in this `file`, .npz or .safetensors, with arrays as export writes them; they must be " +
			"public: ε does not cover them, and if they were trained on the same records, even privately, add the ε of that training (default: the " +
			"model's usual initial weights)"},
	{"average", EndFlags, func(s *train.Spec) any { return &s.Average },
		"also average the model: ema:D (exponential moving average of the broadcasts, D in (0, 1)), " +
			"tail:F (mean of those of the last part F of the rounds, F in (0, 1]) or none"},
	{"delay", SettingFlags, func(s *train.Spec) any { return &s.Delay },
		"permissible delay in rounds: a number, at least 0, unlimited, sqrt " +
			"(√(t/ln t) gradients), clients:T0,T1,… or, by round, list:D0,D1,…"},
	{"partition", SettingFlags, func(s *train.Spec) any { return &s.Partition },
		"who holds which rows: replicate (every client holds the training set), shard (disjoint parts) or " +
			"dirichlet:ALPHA (disjoint parts with different labels, ALPHA in [0.001, 1e6])"},
	{"sampling", SettingFlags, func(s *train.Spec) any { return &s.Sampling },
		"poisson, fixed (exactly s without replacement) or allocation (each record draws one of the --batches rounds of " +
			"an epoch, in train)"},
	{"batches", RunFlags, func(s *train.Spec) any { return &s.Batches },
		"rounds t of an epoch of --sampling allocation, in [1, 20000000], instead of --batch-size: a constant of the plan, " +
			"not a function of the records"},
	{"runner", SettingFlags, func(s *train.Spec) any { return &s.Runner },
		"virtual (repeatable) or hogwild (free-running goroutines)"},
	{"compute-time", SettingFlags, func(s *train.Spec) any { return &s.Compute },
		"virtual time of one gradient, at most 1h: constant:MEAN, exponential:MEAN, " +
			"uniform:LOW,HIGH, lognormal:MEAN,SIGMA, pareto:MEAN,ALPHA or trace:FILE (CSV: " +
			"client,duration)"},
	{"latency", SettingFlags, func(s *train.Spec) any { return &s.Latency },
		"virtual time of one message, at most 1h, in the same forms"},
	{"time-scale", SettingFlags, func(s *train.Spec) any { return &s.TimeScale },
		"hogwild on a real clock: really wait for --compute-time, --speeds and --latency, each second of them for " +
			"this many real seconds, in (0, 1e6] (default 0: do not wait)"},
	{"speeds", SettingFlags, func(s *train.Spec) any { return &s.Speeds },
		"speeds of the clients in [0.001, 1000], as 1,1,0.5 (a speed of 0.5 takes twice the " +
			"time), or times are multiplied by random factors of mean 1: lognormal:SIGMA, SIGMA in [0, 5], or " +
			"pareto:ALPHA, ALPHA in (1, 1000]"},
	{"loss", SettingFlags, func(s *train.Spec) any { return &s.Loss },
		"probability in [0, 0.99] that a message is lost, to or from the server; it is sent " +
			"again after --resend"},
	{"resend", SettingFlags, func(s *train.Spec) any { return &s.Resend },
		"virtual time, at most 1h, after which a lost message is sent again, such as 1ms"},
	{"duplicate", SettingFlags, func(s *train.Spec) any { return &s.Duplicate },
		"probability in [0, 1] that a message arrives twice"},
	{"churn", SettingFlags, func(s *train.Spec) any { return &s.Churn },
		"clients leave and return: mean times PRESENT,AWAY, each at most 1h, such as " +
			"100ms,20ms; an interrupted round begins again"},
	{"adapt", SettingFlags, func(s *train.Spec) any { return &s.Adapt },
		"clients adapt their batch sizes to their speed, by up to this factor in (1, 1000], or " +
			"0: they do not; ε counts the sizes that were run"},
	{"features", SettingFlags, func(s *train.Spec) any { return &featuresFlag{&s.Features, &s.FeatureMap} },
		"number of features D of the data, in [1, 2147483646], beyond which an index of a LIBSVM file is an error " +
			"(default: the largest index, which (ε, δ) does not cover); or hog:CELL:BINS, histograms of oriented " +
			"gradients instead of pixels: of cells of CELL×CELL pixels in [1, 256], in BINS directions in [1, " +
			"64]; or scatter[:OPTION=VALUE…], a scattering transform with public whitening (options: " +
			"colour=opponent|rgb, root=yes|no, fold=yes|no, ridge=λ in [0.001, 1000])"},
	{"input-scale", SettingFlags, func(s *train.Spec) any { return &s.InputScale },
		"public constant in [1e-6, 1e6] that multiplies the inputs of the model (default 1)"},
	{"precision", SettingFlags, func(s *train.Spec) any { return &s.Precision },
		"number format of matrix products in alexnet, convnet and mlp: bf16 (8 binary digits; needs AVX512-BF16) or " +
			"bf16x3 (relative error of a product up to 3·2⁻¹⁶; needs matrix tiles, AMX) (default: as exact as float32)"},
	{"lambda", SettingFlags, func(s *train.Spec) any { return &s.Lambda },
		"ridge penalty λ of the model logreg, in (0, 1e6] (default 1/N)"},
	{"split", SettingFlags, func(s *train.Spec) any { return &s.Split },
		"how a set without a test set is split: by-record (a hash of each row decides; covered by (ε, δ) under " +
			"add-or-remove adjacency) or shuffled (default: by-record for your own file, else shuffled)"},
	{"delta", NoiseFlags, func(s *train.Spec) any { return &s.Delta },
		"δ of the privacy statement, in (0, 1) (default 1/N; for your own file, the largest power of ten up to 1/(10N))"},
	{"target-epsilon", NoiseFlags, func(s *train.Spec) any { return &s.TargetEpsilon },
		"certified ε that a record may cost over all clients that hold it, in [1e-8, 1e4]: trains with the least " +
			"noise that keeps it, instead of --noise-multiplier"},
	{"holdout", SettingFlags, func(s *train.Spec) any { return &s.Holdout },
		"hold out this fraction of the training records, in (0, 1), and measure accuracy on it instead of on the test set; a hash " +
			"of each record picks them, so their number varies"},
	{"fold", SettingFlags, func(s *train.Spec) any { return &s.Fold },
		"which part of the records --holdout holds out, in [0, 1/holdout − 1]; each fold holds " +
			"out other records"},
	{"metric", SettingFlags, func(s *train.Spec) any { return &s.Metric },
		"metric by which models are compared: " + models.MetricsUsage + " (default accuracy)"},
	{"class-weights", SettingFlags, func(s *train.Spec) any { return &s.ClassWeights },
		"public weights of the loss by class, as LABEL:WEIGHT,… with weights in [0.001, 1000]; they scale a gradient " +
			"before it is clipped, so they cost no privacy (default: none)"},
	{"clipping", SettingFlags, func(s *train.Spec) any { return &s.Clipping },
		"norm clips gradients that are longer than C; automatic multiplies every gradient g by C/(‖g‖ + 0.01), with the same " +
			"sensitivity C (default norm)"},
	{"seed", PointFlags, func(s *train.Spec) any { return &s.Seed },
		"seed of all randomness, a whole number of at least 0"},
	{"seed-from-os", RunFlags, func(s *train.Spec) any { return &s.SeedFromOS },
		"take all randomness from the operating system instead of a seed, as a release needs"},
	{"bounds", RunFlags, func(s *train.Spec) any { return &boundsFlag{&s.BoundsEpsilon} },
		"private:EPS finds bounds of the numeric columns of your own file with noise, instead of --normalise with public " +
			"ones; a record pays EPS, in [1e-4, 100], more, which --target-epsilon includes"},
	{atMostFlag, RunFlags, func(s *train.Spec) any { return &s.AtMost },
		"use at most so many records of a person, in [1, 1000], with --person; a keyed hash picks them; ε is then for a " +
			"person"},
	{"exact", RunFlags, func(s *train.Spec) any { return &s.Exact },
		"draw samples and noise exactly, by integer arithmetic, so that low bits of a release reveal nothing; slower " +
			"(default: on with --seed-from-os, and in host)"},
	{"run", RunFlags, func(s *train.Spec) any { return &s.Run },
		"number of the release with this seed, in [0, 2^64): each number gives other samples and noise; releases " +
			"that are composed need different numbers"},
}

// TrainFlags are the flags of a training. For flags that are not given, the values are the paper's for the model and
// the data: see Fill.
type TrainFlags struct {
	Spec  train.Spec
	names []string
	units fieldUnits
}

func (t *TrainFlags) Add(cmd *cobra.Command, groups ...FlagGroup) {
	for _, f := range specFlags {
		if slices.Contains(groups, f.group) {
			t.addFlag(cmd.Flags(), f)
		}
	}
	t.units.add(cmd, groups)
}

// AddNamed adds the flags with the given names to cmd, whatever their group.
func (t *TrainFlags) AddNamed(cmd *cobra.Command, names ...string) {
	for _, f := range specFlags {
		if slices.Contains(names, f.name) {
			t.addFlag(cmd.Flags(), f)
		}
	}
}

func (t *TrainFlags) addFlag(flags *pflag.FlagSet, f specFlag) {
	switch p := f.field(&t.Spec).(type) {
	case pflag.Value:
		flags.Var(p, f.name, f.usage)
	case *string:
		flags.StringVar(p, f.name, *p, f.usage)
	case *int:
		CountVar(flags, p, f.name, *p, f.usage)
	case *uint64:
		flags.Uint64Var(p, f.name, *p, f.usage)
	case *float64:
		flags.Float64Var(p, f.name, *p, f.usage)
	case *bool:
		flags.BoolVar(p, f.name, *p, f.usage)
	}
	t.names = append(t.names, f.name)
}

// given returns the values of the flags that were given, by name. Names of models are in full.
func (t *TrainFlags) given(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	for _, name := range t.names {
		if f := cmd.Flags().Lookup(name); f.Changed {
			given[name] = f.Value.String()
		}
	}
	if model, named := given["model"]; named {
		given["model"] = train.FullName(model)
	}
	return given
}

// Fill sets the flags that were not given to the values of the spec that paper returns. It calls paper with the given
// model and data.
func (t *TrainFlags) Fill(cmd *cobra.Command, paper func(model, dataset string) train.Spec) error {
	given := t.given(cmd)
	t.Spec = paper(given["model"], given["data"])
	for name, value := range given {
		if err := cmd.Flags().Set(name, value); err != nil {
			return err
		}
	}
	if t.Spec.Average == "none" {
		t.Spec.Average = ""
	}
	if t.Spec.Clipping == "norm" {
		t.Spec.Clipping = ""
	}
	if _, asked := given["beta"]; !asked && sim.Decay(t.Spec.Schedule).Ends() {
		t.Spec.Beta = 0
	}
	if t.Spec.Split == "" && OwnFile(t.Spec.Data) {
		t.Spec.Split = train.RecordSplit
	}
	if train.IsRegression(given["model"]) && cmd.Flags().Lookup(TargetFlag) == nil {
		return Usage(fmt.Errorf("--model = %s is for train, auto, propose and predict: %s compares accuracies. Use train --model %[1]s "+
			"--%[3]s LOW,HIGH --target-epsilon E; with --seeds 3 it shows the spread", train.Linear, cmd.Name(), TargetFlag))
	}
	return Usage(t.units.apply(cmd, &t.Spec))
}

// DrawExactly makes a release draw samples and noise exactly, unless --exact says otherwise, because the low bits of
// floating-point noise can reveal more than ε counts. A spec that already asks for exact draws, for example from a
// plan, keeps that.
func (t *TrainFlags) DrawExactly(cmd *cobra.Command) {
	if !cmd.Flags().Changed("exact") {
		t.Spec.Exact = t.Spec.Exact || t.Spec.Secret()
	}
}

// Contradict returns an error for each flag that was given with another value than in kept, the spec of a
// checkpoint's run. The data may have another name if the content is the same.
func (t *TrainFlags) Contradict(cmd *cobra.Command, kept train.Spec) error {
	given := t.given(cmd)
	t.Spec = kept
	var errs []error
	for _, name := range t.names {
		value, was := given[name]
		if has := cmd.Flags().Lookup(name).Value.String(); was && value != has && name != "data" {
			errs = append(errs, fmt.Errorf("--%s = %s, the checkpoint has %s", name, value, cmp.Or(has, "none")))
		}
	}
	errs = append(errs, t.units.apply(cmd, &t.Spec))
	if t.Spec.Eta0 != kept.Eta0 {
		errs = append(errs, fmt.Errorf("--learning-rate is η₀ = %v, the checkpoint has %v", t.Spec.Eta0, kept.Eta0))
	}
	if t.Spec.GradComps != kept.GradComps {
		errs = append(errs, fmt.Errorf("--steps = %d, the checkpoint has %d gradient computations per client in "+
			"batches of %s", t.units.steps, kept.GradComps, kept.SampleSize))
	}
	t.Spec = kept
	return errors.Join(errs...)
}

// FlagsText returns the flags that turn the settings usual into spec, as text for a command line: one flag
// for each setting that differs, with a blank before it. It leaves out the flags in stated, which the
// caller writes itself.
func FlagsText(spec, usual train.Spec, stated ...string) string {
	var text strings.Builder
	for _, f := range specFlags {
		value, other := flagValue(f.field(&spec)), flagValue(f.field(&usual))
		if value != other && !slices.Contains(stated, f.name) {
			fmt.Fprintf(&text, " --%s %s", f.name, message.Word(fmt.Sprint(value)))
		}
	}
	return text.String()
}

func flagValue(field any) any {
	if v, ok := field.(pflag.Value); ok {
		return v.String()
	}
	return reflect.ValueOf(field).Elem().Interface()
}
