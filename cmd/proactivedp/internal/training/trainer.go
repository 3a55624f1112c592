package training

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/propose"
	"proactivedp/trainer"
)

// trainerHelp describes --trainer in the help of propose and auto.
const trainerHelp = `--trainer 'python3 train.py' plans for your own script, which trains. It gets the path of a
JSON file with the plan and prints its metric; see docs/python.md. --n and
--public-n are the numbers of private records and of public records. The script trains
proxies on the public ones.`

// trainerFlag is the flag that replaces the models and data of this program by a script.
const trainerFlag = "trainer"

// trainerFlags describe the user's own trainer.
type trainerFlags struct {
	command   string
	n, public int
	limit     time.Duration
}

func (*trainerFlags) names() []string { return []string{"n", "public-n", "time-limit"} }

func (f *trainerFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.command, trainerFlag, "", "`command` that trains, such as 'python3 train.py', instead of --model and --data")
	cli.CountVar(fs, &f.n, "n", 0, "with --trainer: number of private records, at least 1")
	cli.CountVar(fs, &f.public, "public-n", 0, "with --trainer: number of public records that the script uses for proxies, "+
		"at least 1")
	fs.DurationVar(&f.limit, "time-limit", 24*time.Hour, "with --trainer: `time` after which a run of the script is ended, "+
		"from 1s to 720h")
}

// given reports whether the user has a trainer. Otherwise it refuses the flags that need one.
func (f *trainerFlags) given(cmd *cobra.Command, others ...string) (bool, error) {
	if cmd.Flags().Changed(trainerFlag) {
		return true, nil
	}
	return false, cli.Usage(cli.Refuse(cmd, "must not be given without --"+trainerFlag, append(f.names(), others...)...))
}

// check returns an error for flags that a trainer does not have, and for those that are missing.
func (f *trainerFlags) check(cmd *cobra.Command, allowed ...string) error {
	allowed = append(append(allowed, f.names()...), trainerFlag, "target-epsilon", "target", "delta", "steps", "seed", "json", "help")
	var errs []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(allowed, flag.Name) {
			errs = append(errs, fmt.Errorf("--%s must not be given with --%s", flag.Name, trainerFlag))
		}
	})
	for _, name := range []string{"n", "public-n", "target-epsilon"} {
		if !cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s is missing, must be given with --%s", name, trainerFlag))
		}
	}
	return errors.Join(append(errs, cli.RefuseZeros(cmd, "n", "public-n", "target-epsilon", "target", "delta", "time-limit"))...)
}

// request returns the request of the flags. If δ is 0, it was not given.
func (f *trainerFlags) request(epsilon, delta, target float64) propose.TrainerRequest {
	if delta == 0 {
		delta = dp.DefaultDelta(f.n)
	}
	r := propose.DefaultTrainerRequest(f.n, f.public, epsilon, delta)
	r.Target = target
	return r
}

// open returns the trainer of a request, whose files are in dir. wrong is what is wrong with the flags.
func (f *trainerFlags) open(cmd *cobra.Command, dir string, r propose.TrainerRequest, wrong error) (*trainer.Trainer, error) {
	t, err := trainer.New(f.command, trainer.Options{Limit: f.limit, Dir: dir, Stderr: cmd.ErrOrStderr()})
	if wrong == nil {
		wrong = r.Validate()
	}
	if err := errors.Join(wrong, err); err != nil {
		return nil, cli.Usage(err)
	}
	if !cmd.Flags().Changed("delta") {
		cli.Say(cmd, "chosen for %s: δ = %s; --delta overrides this", decimal.Many(f.n, "record"), decimal.Exactly(r.Delta))
	}
	return t, nil
}

// proposeTrainer searches for settings for the user's trainer.
func (f *proposeFlags) proposeTrainer(cmd *cobra.Command) error {
	wrong := f.trainer.check(cmd, "seeds", "count", "out")
	r := f.trainer.request(f.request.Epsilon, f.train.Spec.Delta, f.target)
	r.Rounds = cli.Given(cmd, "steps", f.request.Rounds, r.Rounds)
	r.Seeds = cli.Given(cmd, "seeds", f.request.Seeds, r.Seeds)
	r.Count = cli.Given(cmd, "count", f.request.Count, r.Count)
	r.Seed = cli.Given(cmd, "seed", f.train.Spec.Seed, r.Seed)
	t, err := f.trainer.open(cmd, f.out, r, wrong)
	if err != nil {
		return err
	}
	var answer *propose.TrainerReport
	err = inFolder(f.out, func() (err error) {
		answer, err = propose.ForTrainer(cmd.Context(), r, cmd.ErrOrStderr(), t.Public)
		return err
	})
	if err != nil {
		return refuse(cmd, err)
	}
	return cli.Report(cmd, answer)
}

// trained is what auto prints for the user's trainer.
type trained struct {
	Satisfied     bool          `json:"satisfied"` // the metric reaches the target
	Target        float64       `json:"target,omitempty"`
	Metric        float64       `json:"metric"` // as reported by the script; not covered by (ε, δ)
	TargetEpsilon float64       `json:"target_epsilon"`
	Stage         trainer.Stage `json:"stage"`
	Stages        int           `json:"stages"` // private trainings in the ledger; all of them count
	Ledger        string        `json:"ledger"`
	Certified     dp.Bound      `json:"certified"` // of all of them
	Statement     string        `json:"statement"`
}

func (t *trained) WriteText(w io.Writer) error {
	p := t.Stage.Task.Plan
	_, err := fmt.Fprintf(w, "metric          %s, as reported by the script; NOT covered by (ε, δ)\n"+
		"training        batch size %d, %s, σ = %s, clipping norm %s, learning rate %s\n"+
		"privacy         %s at δ = %s for a record, by %s; clipping, samples and noise are as reported by the script\n"+
		"ledger          %s: %s; account --events and plan --after read it\n--statement prints the statement in full.\n",
		report.Fixed(t.Metric, 4), p.BatchSize, decimal.Many(p.Steps, "step"), decimal.Up(p.NoiseMultiplier, 7),
		report.Number(t.Stage.Task.MaxGradNorm), report.Number(t.Stage.Task.LearningRate),
		claim.Short(&t.Certified), decimal.Up(t.Certified.DeltaUpper, 5), t.Certified.Accountant, t.Ledger,
		decimal.Many(t.Stages, "private training"))
	return err
}

// checkFolder refuses the folder of the other kind of auto, whose ledger would not be counted.
func checkFolder(dir, other, is string) error {
	if dir == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, other)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("--dir = %q has the ledger of auto %s --trainer: it would not be counted here; name another folder, "+
		"and add up the ε of both if they use the same records", dir, is)
}

// runTrainer plans for the user's trainer, and runs its private training once.
func (f *autoFlags) runTrainer(cmd *cobra.Command) error {
	r, t, err := f.trainerTask(cmd)
	if err != nil {
		return err
	}
	var answer *trained
	err = files.InFolder(f.dir, func() (err error) {
		answer, err = f.trainOnce(cmd, t, r)
		return err
	})
	if err != nil {
		return refuse(cmd, err)
	}
	if err := f.out.Print(cmd, answer.Statement, answer, answer.WriteText); err != nil {
		return err
	}
	if !answer.Satisfied {
		return fmt.Errorf("the metric is %s, below --target %s", report.Fixed(answer.Metric, 4), decimal.Exactly(answer.Target))
	}
	return nil
}

func (f *autoFlags) trainerTask(cmd *cobra.Command) (propose.TrainerRequest, *trainer.Trainer, error) {
	wrong := errors.Join(f.trainer.check(cmd, "dir", "statement"), f.out.Check(),
		checkFolder(f.dir, auto.JournalFile, "without"))
	if f.dir == "" {
		wrong = errors.Join(wrong, errors.New("--dir is missing, must name a folder with --trainer: the cost of the private "+
			"training is recorded there before it starts"))
	}
	one := func(name string, values []float64) float64 {
		if len(values) > 1 {
			wrong = errors.Join(wrong, fmt.Errorf("--%s has %d values, must be one with --%s", name, len(values), trainerFlag))
		}
		if len(values) == 0 {
			return 0
		}
		return values[0]
	}
	r := f.trainer.request(one("target-epsilon", f.epsilon), one("delta", f.delta), one("target", f.target))
	r.Rounds = cli.Given(cmd, "steps", f.steps, r.Rounds)
	r.Seed = cli.Given(cmd, "seed", f.train.Spec.Seed, r.Seed)
	t, err := f.trainer.open(cmd, f.dir, r, wrong)
	return r, t, err
}

// trainOnce searches for settings and runs the private training of the best, unless the ledger has the one
// of the same request.
func (f *autoFlags) trainOnce(cmd *cobra.Command, t *trainer.Trainer, r propose.TrainerRequest) (*trained, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%x", sha256.Sum256(append(text, t.Digest()...)))
	ledger, err := trainer.ReadLedger(f.dir)
	if err != nil {
		return nil, err
	}
	stage, done := ledger.Finished(key)
	if done {
		cli.Say(cmd, "%s has the private training of this command; it does not run again", f.dir)
	} else if stage, ledger, err = f.trainBest(cmd, t, r, ledger, key); err != nil {
		return nil, err
	}
	bound, err := ledger.Bound(cmd.Context(), r.Delta)
	if err != nil {
		return nil, err
	}
	statement, err := ledger.Statement(cmd.Context(), r.Delta)
	return &trained{
		Satisfied: stage.Result.Metric >= r.Target, Target: r.Target, Metric: stage.Result.Metric, TargetEpsilon: r.Epsilon,
		Stage: stage, Stages: len(ledger.Stages), Ledger: filepath.Join(f.dir, trainer.LedgerFile), Certified: bound,
		Statement: statement,
	}, err
}

// trainBest searches for settings within what the ledger leaves, and trains with the best.
func (f *autoFlags) trainBest(
	cmd *cobra.Command, t *trainer.Trainer, r propose.TrainerRequest, ledger *trainer.Ledger, key string,
) (trainer.Stage, *trainer.Ledger, error) {
	budget := trainer.Budget{Epsilon: r.Epsilon, Delta: r.Delta}
	left, err := ledger.Left(cmd.Context(), budget)
	if spent, ok := errors.AsType[*trainer.SpentError](err); ok {
		return trainer.Stage{}, nil, fmt.Errorf("%w; allow a larger --target-epsilon for all of them and another one", spent)
	}
	if err != nil {
		return trainer.Stage{}, nil, err
	}
	r.Epsilon, r.Delta = left.Epsilon, left.Delta
	if len(ledger.Stages) > 0 {
		cli.Say(cmd, "%s in %s; another one may cost ε = %s at δ = %s",
			decimal.Many(len(ledger.Stages), "private training"), f.dir, decimal.Down(left.Epsilon, 6), decimal.Exactly(left.Delta))
	}
	found, err := propose.ForTrainer(cmd.Context(), r, cmd.ErrOrStderr(), t.Public)
	if err != nil {
		return trainer.Stage{}, nil, err
	}
	best := found.Proposals[0]
	cli.Say(cmd, "predicted metric %s; the private training begins: ε ≤ %s, written to %s",
		report.Fixed(best.Accuracy, 4), decimal.Up(best.Certified.EpsilonUpper, 6), filepath.Join(f.dir, trainer.LedgerFile))
	ledger, err = t.Private(cmd.Context(), best.Task, key, budget)
	if err != nil {
		return trainer.Stage{}, nil, err
	}
	return ledger.Stages[len(ledger.Stages)-1], ledger, nil
}
