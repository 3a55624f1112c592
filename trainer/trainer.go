// Package trainer runs the user's own training script (for example train.py) as an external process. The script trains
// the model. The program chooses the settings of the training, such as noise and batch size, and counts its privacy
// cost.
//
//	t, err := trainer.New("python3 train.py", trainer.Options{Dir: dir})
//	…
//	result, err := t.Public(ctx, task)             // a proxy on public data
//	ledger, err := t.Private(ctx, task, key, budget) // once, on the private records
//
// The script gets the path of a JSON file, a [Task], as its last argument. It reports by printing lines of JSON to
// stdout (see [Line]): points of its learning curve, the rounds that it really ran, and at the end the metric. It
// must print all other text to stderr.
//
// The accounting does not rely on the script. The whole cost of a private training is on disk in the
// [Ledger] before the script starts. What the script reports can only raise this cost. The program cannot
// verify that the script really clips, samples and adds noise, and every statement says so.
package trainer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"proactivedp/dp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/strictjson"
)

// Protocol is the version of the JSON that this program and the user's script exchange. Every [Task] has it in the
// key "protocol", so that a script can refuse a version that it does not know.
const Protocol = 1

// Role says which records a training may use: private or public ones.
type Role string

// These are the roles. A private training uses the private records, and the [Ledger] counts its cost. A public
// training is a proxy: a cheap training that predicts the metric of a private one, to compare settings. It has little
// noise and no ledger, so the script must run it on public records.
const (
	Public  Role = "public"
	Private Role = "private"
)

// Task says which training the user's script is to run. The script reads it as JSON from a file, whose path is the
// script's last argument.
type Task struct {
	Protocol int  `json:"protocol"` // 1
	Role     Role `json:"role"`     // the records that the script may use
	Plan     Plan `json:"plan"`     // the rounds to run
	// MaxGradNorm is the clipping norm C: the largest norm of the gradient of one record.
	MaxGradNorm float64 `json:"max_grad_norm"`
	// LearningRate multiplies the noised sum of clipped gradients after its division by Plan.BatchSize,
	// as in Opacus.
	LearningRate float64 `json:"learning_rate"`
	// Seed is the seed of all randomness of a public training. It is nil for a private training, which must draw
	// samples and noise from the operating system, because whoever knows the seed can subtract the noise.
	Seed *uint64 `json:"seed"`
	// Scale is 1 for a private training. For a public training, it is a factor in (0, 1]: Plan has the batch size and
	// the noise multiplier of the private training that it predicts, both multiplied by Scale.
	Scale float64 `json:"scale"`
}

// Plan describes the rounds (steps) of a training, all equal. The script must run exactly these rounds, because ε is
// computed from them.
type Plan struct {
	Sampling        dp.Sampling  `json:"sampling"`
	Adjacency       dp.Adjacency `json:"adjacency"`
	NoiseMultiplier float64      `json:"noise_multiplier"` // σ; the noise has standard deviation σ·C, with C = Task.MaxGradNorm
	BatchSize       int          `json:"batch_size"`       // expected number of records in a batch
	DatasetSize     int          `json:"dataset_size"`     // number of training records
	SampleRate      float64      `json:"sample_rate"`      // batch_size / dataset_size
	Steps           int          `json:"steps"`
}

// NewPlan returns a plan of steps equal rounds, whose batches are Poisson samples, under add-or-remove adjacency.
// noise is the noise multiplier σ, batch the expected batch size, and records the number of training records.
func NewPlan(noise float64, batch, records, steps int) Plan {
	return Plan{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: noise, BatchSize: batch, DatasetSize: records,
		SampleRate: float64(batch) / float64(records), Steps: steps,
	}
}

// Event returns the rounds of the plan as a [dp.Event], from which an accountant computes their ε.
func (p Plan) Event() dp.Event {
	return dp.Event{
		Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: p.NoiseMultiplier, SampleSize: p.BatchSize,
		DatasetSize: p.DatasetSize, Count: p.Steps,
	}
}

// Validate returns an error that lists every field of t outside its range. A training with such a task is refused.
func (t Task) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("task: "+format, args...)) }
	if t.Protocol != Protocol {
		fail("protocol = %d, must be %d", t.Protocol, Protocol)
	}
	if t.Role != Public && t.Role != Private {
		fail("role = %q, must be %q or %q", t.Role, Public, Private)
	}
	if p := t.Plan; p.Sampling != dp.Poisson || p.Adjacency != dp.AddOrRemove {
		fail("sampling = %q and adjacency = %q, must be %q and %q", p.Sampling, p.Adjacency, dp.Poisson, dp.AddOrRemove)
	} else if err := p.Event().Validate(); err != nil {
		fail("%w", err)
	} else if p.SampleRate != float64(p.BatchSize)/float64(p.DatasetSize) {
		fail("sample_rate = %v, must be batch_size / dataset_size", p.SampleRate)
	}
	if !(t.Plan.NoiseMultiplier > 0) {
		fail("noise_multiplier = %v, must be above 0", t.Plan.NoiseMultiplier)
	}
	errs = append(errs, dp.CheckPositive("task: max_grad_norm", t.MaxGradNorm),
		dp.CheckPositive("task: learning_rate", t.LearningRate))
	if !(t.Scale > 0 && t.Scale <= 1) || t.Role == Private && t.Scale != 1 {
		fail("scale = %v, must be in (0, 1], and 1 for the role %q", t.Scale, Private)
	}
	if (t.Seed == nil) != (t.Role == Private) {
		fail("seed must be given for the role %q, and only for it: a private training draws from the operating system",
			Public)
	}
	return errors.Join(errs...)
}

// Options says how a script is run: its time limit, and where its results and messages are kept.
type Options struct {
	// Limit is the longest time of one run of the script, in [MinLimit, MaxLimit]. 0 means MaxLimit. A script that
	// takes longer is stopped and counts as failed.
	Limit time.Duration
	// Dir is the folder for the results of public trainings and for the ledger. With "", public trainings are not
	// kept and private ones are refused. The caller must ensure that no other process uses the folder at the same
	// time.
	Dir string
	// Stderr gets what the script prints to stderr, up to MaxStderr bytes of each run. It may be nil.
	Stderr io.Writer
}

// MinLimit and MaxLimit are the limits of Options.Limit, the longest time of one run of the script.
const (
	MinLimit = time.Second
	MaxLimit = 30 * 24 * time.Hour
)

// Trainer runs the user's training script. Make one with [New]. [Trainer.Public] runs the script on public data, and
// [Trainer.Private] on the private records.
type Trainer struct {
	command []string
	digest  string // of the command and of the files that it names
	o       Options
}

// notWords are characters that a shell would interpret. The command is not run by a shell.
const notWords = "'\"`$&|;<>()*?"

// maxScript is the largest size of a file in a command whose content is part of the digest, in bytes.
const maxScript = 16 << 20

// New returns a trainer for command, which is a program with its arguments, separated by spaces, such as "python3
// train.py". No shell runs it, so quotes and other special characters of a shell are errors. New runs nothing, but it
// reads the files that the command names, because [Trainer.Digest] covers them.
func New(command string, o Options) (*Trainer, error) {
	t := &Trainer{command: strings.Fields(command), o: o}
	var errs []error
	if o.Limit == 0 {
		t.o.Limit = MaxLimit
	} else if o.Limit < MinLimit || o.Limit > MaxLimit {
		errs = append(errs, fmt.Errorf("time limit = %v, must be in [%v, %v]", o.Limit, MinLimit, MaxLimit))
	}
	if len(t.command) == 0 {
		errs = append(errs, errors.New("trainer is empty, must be a command, such as python3 train.py"))
	}
	if strings.ContainsAny(command, notWords) {
		errs = append(errs, fmt.Errorf("trainer = %q, must have none of %s: it is words separated by spaces, and no shell "+
			"runs it; put anything else into a script", command, notWords))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, word := range t.command {
		fmt.Fprintf(h, "%q\n", word)
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			text, err := bounded.File(word, maxScript)
			if err != nil {
				return nil, fmt.Errorf("the command of the trainer: %w", err)
			}
			fmt.Fprintf(h, "%x\n", sha256.Sum256(text))
		}
	}
	t.digest = hex.EncodeToString(h.Sum(nil))
	return t, nil
}

// Digest returns a SHA-256, in hexadecimal, of the command and of the files that the command names, such as train.py.
// Use it to notice that the script has changed. It does not cover files that a script imports.
func (t *Trainer) Digest() string {
	if t == nil {
		return ""
	}
	return t.digest
}

var errNoTrainer = errors.New("this Trainer is not usable: make it with New")

// kept is the file of a finished public training.
type kept struct {
	Task   Task   `json:"task"`
	Result Result `json:"result"`
}

// TrialsFolder is the name of the folder in Options.Dir in which [Trainer.Public] keeps the results of finished
// public trainings.
const TrialsFolder = "trials"

// Public runs the script on public data, as task says, and keeps the result in Options.Dir. task.Role must be Public.
// If the folder already has the result of an equal task with the same script, Public returns that result and runs
// nothing. It is an error if the rounds that the script reports are not exactly those of task.Plan.
func (t *Trainer) Public(ctx context.Context, task Task) (Result, error) {
	if t == nil || len(t.command) == 0 {
		return Result{}, errNoTrainer
	}
	if err := task.Validate(); err != nil {
		return Result{}, err
	}
	if task.Role != Public {
		return Result{}, fmt.Errorf("task: role = %q, must be %q", task.Role, Public)
	}
	name, err := t.name(task)
	if err != nil {
		return Result{}, err
	}
	path := filepath.Join(t.o.Dir, TrialsFolder, name+".json")
	if t.o.Dir != "" {
		if text, err := bounded.File(path, maxLedger); err == nil {
			var found kept
			// A damaged file costs only another run: no private record is used.
			if strictjson.DecodeWhole(text, &found, maxText) == nil && reflect.DeepEqual(found.Task, task) &&
				found.Result.check(task.Plan) == nil {
				return found.Result, nil
			}
		}
	}
	result, err := t.run(ctx, task, name, nil)
	if err == nil {
		err = result.check(task.Plan)
	}
	if err != nil {
		return Result{}, fmt.Errorf("public training %s: %w", name, err)
	}
	if t.o.Dir == "" {
		return result, nil
	}
	return result, files.Write(path, files.JSON(kept{task, result}))
}

func (t *Trainer) name(task Task) (string, error) {
	text, err := json.Marshal(task)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(t.digest + "\n" + string(text)))
	return hex.EncodeToString(sum[:8]), nil
}

// writeTask writes the task to a file for the script, and remove removes it. That of a public training
// stays in a folder that the user named, so that the user can run the script on it.
func (t *Trainer) writeTask(task Task, name string) (path string, remove func(), err error) {
	dir, remove := filepath.Join(t.o.Dir, TrialsFolder), func() {}
	if t.o.Dir == "" {
		if dir, err = os.MkdirTemp("", "proactivedp-"); err != nil {
			return "", nil, err
		}
		remove = func() { _ = os.RemoveAll(dir) }
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, name+".task.json")
	err = files.Write(path, files.JSON(task))
	if task.Role == Private && t.o.Dir != "" { // it must not run again without the ledger
		remove = func() { _ = os.Remove(path) }
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// alike reports whether two numbers are equal up to the rounding of a script that prints 10 digits.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
