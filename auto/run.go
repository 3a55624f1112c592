package auto

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/sim"
)

// Options are the options of [Run]: the folder of its [Journal], the facts about the data that it treats as public (see
// [Public]), and functions that Run calls. Utility estimates accuracies before the first private training (see
// [Utility]).
type Options struct {
	// Dir is the folder of the journal and of each task's newest model. It is created if it does not exist.
	// With "" nothing is kept. Only a simulation may do that, because the record of what was spent is lost.
	Dir     string
	Public  Public
	Utility Utility
	// Open returns the trainer, which reads the clients' records. Run calls it after the first stage was
	// charged to the budgets, so it is not called for a refused task.
	Open func(ctx context.Context) (Trainer, error)
	// Progress, unless it is nil, receives a line of text for each step.
	Progress io.Writer
}

// ErrRefused is wrapped by the error for a task that probably cannot reach its targets within its budgets;
// see [Refusal]. The task is refused before any client's record is used.
var ErrRefused = errors.New("refused before any record was used")

// Refusal is the error for a target accuracy that is out of reach. Before any private training, auto
// estimates the accuracy for several amounts of noise on the task's own data (the utility graph, see
// [Outlook]). No estimate within the budgets reached a client's target, even with an allowance for the
// sampling error. It wraps [ErrRefused].
type Refusal struct {
	Metric   string  // name of the metric of both accuracies
	Target   float64 // the lowest of the clients' target accuracies
	Feasible float64 // largest accuracy that can be expected within the budgets
	// Sigma is the noise multiplier with which one stage uses the whole budget, if the estimate Feasible is for this
	// noise. It is 0 if Feasible is for more noise, and for the strategies Paper and PaperTarget.
	Sigma float64
	Of    string // description of the records of the utility graph
}

// Error says which target is out of reach, and what would be feasible.
func (r *Refusal) Error() string {
	how := message.When(r.Sigma > 0, ", at σ = %s, which takes the whole budget", decimal.Up(r.Sigma, 4))
	return fmt.Sprintf("target %s = %v: at most about %s can be expected within the budgets%s, judged by "+
		"%s: lower the target, or allow more ε: %v", r.Metric, r.Target, decimal.Down(r.Feasible, 4), how, r.Of, ErrRefused)
}

func (r *Refusal) Unwrap() error { return ErrRefused }

// Run plans and runs stages (private trainings) of the task until every client is satisfied (see [ClientReport]), or
// until the budgets of the unsatisfied clients allow no further stage. In both cases it returns a [Report]. If a task
// probably cannot succeed, Run refuses it with a [*Refusal].
//
// If the folder's journal already has the task, Run continues it. An interrupted task continues with the stage that
// was charged last, and the final model has the same bits as without the interruption. If the task has ended, Run
// trains nothing and returns its report again.
//
// After a task has ended, Run accepts a second task in the same folder. It must have the same data and promise the
// same budgets to the same records. What the first task has spent is counted.
func Run(ctx context.Context, t Task, o Options) (*Report, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if err := o.Public.check(t); err != nil {
		return nil, err
	}
	if o.Utility == nil || o.Open == nil {
		return nil, errors.New("options: Utility and Open are missing, must be given")
	}
	if o.Dir == "" {
		if t.Spec.SeedFromOS {
			return nil, ErrNoLedger
		}
		return run(ctx, t, o)
	}
	var report *Report
	err := files.InFolder(o.Dir, func() (err error) {
		report, err = run(ctx, t, o)
		return err
	})
	return report, err
}

// ErrNoLedger is the error of [Run] if noise comes from the operating system (Spec.SeedFromOS), but Options.Dir is "".
// Models with such noise may be published, so the spent budget must be kept in a folder. With a numbered seed nothing
// is protected, and no folder is needed.
var ErrNoLedger = errors.New("dir is missing, must name a folder if randomness comes from the operating system: " +
	"without a stored ledger, a release has no budget (a simulation with a numbered seed needs no " +
	"folder)")

func run(ctx context.Context, t Task, o Options) (*Report, error) {
	var j *Journal
	var err error
	if o.Dir != "" {
		if err := files.SweepFolder(o.Dir); err != nil {
			return nil, err
		}
		if j, err = readJournal(o.Dir); err != nil {
			return nil, err
		}
	}
	if j, err = enter(ctx, j, t, o); err != nil {
		return nil, err
	}
	l, err := newLoop(ctx, j)
	if err != nil {
		return nil, err
	}
	d := driver{loop: l, Options: o}
	l.newRoot = func() (string, error) { return newSecret(o.Dir) }
	if err := d.drive(ctx); err != nil {
		return nil, err
	}
	return d.report(ctx)
}

// enter returns the journal with the task as its last one.
func enter(ctx context.Context, j *Journal, t Task, o Options) (*Journal, error) {
	if j != nil {
		if o.Public.Data != j.Public.Data {
			return nil, fmt.Errorf("content of the data, sha256 = %s, but the journal has %s: its ledgers are "+
				"for that data", o.Public.Data, j.Public.Data)
		}
		last := &j.Tasks[len(j.Tasks)-1]
		if equal(last.Task, t) {
			return j, nil
		}
		if last.End == "" {
			return nil, fmt.Errorf("%s holds an unfinished task: continue it with the same options, or give "+
				"another folder", o.Dir)
		}
		if err := j.fits(t); err != nil {
			return nil, err
		}
	}
	next := &Journal{Public: o.Public, Seed: t.Spec.Seed}
	if j != nil {
		*next = *j
	} else {
		next.Accounts = accountsOf(t, o.Public)
		for i := range next.Accounts {
			next.Accounts[i].Once = !t.Strategy.ByTheorem() && t.Stages <= 1
		}
	}
	e := JournalTask{Task: t}
	q := Question{Task: t, Public: o.Public}
	var err error
	if q.SampleSize, q.Rounds, q.Least, err = sizes(ctx, t, next.Accounts, j != nil); err != nil {
		return nil, err
	}
	e.SampleSize, e.Rounds = q.SampleSize, q.Rounds
	if e.Outlook, err = o.Utility(ctx, q); err != nil {
		return nil, err
	}
	if err := e.Outlook.check(); err != nil {
		return nil, err
	}
	next.Tasks = append(slices.Clone(next.Tasks), e)
	if err := next.expect(q); err != nil {
		return nil, err
	}
	if j == nil {
		err = next.useFilters(ctx)
	}
	return next, err
}

// useFilters gives a Rényi filter to the accounts that begin with less than the whole budget, because
// the utility graph of the task's own data says that less is enough. They may need more than one stage.
func (j *Journal) useFilters(ctx context.Context) error {
	again := *j
	again.Accounts = slices.Clone(j.Accounts)
	l := &loop{Journal: &again}
	e := l.currentTask()
	if e.Strategy != Tight || e.Stages != 0 || !e.Outlook.Same || e.Spec.AtMost != 0 {
		return nil
	}
	for i := range again.Accounts {
		a := &again.Accounts[i]
		a.Once = false
		if _, ok, err := a.fixOrder(ctx, e.SampleSize, e.Rounds); err != nil {
			return err
		} else if !ok {
			return nil
		}
	}
	var err error
	if l.accounts, err = again.ledgers(ctx); err != nil {
		return err
	}
	plans, err := l.plans(ctx, make([]string, len(e.Clients)))
	if err != nil {
		return err
	}
	for _, p := range plans {
		least, _, err := p.account.noiseFor(ctx, 1, e.SampleSize, e.Rounds, len(p.clients))
		if err != nil {
			return err
		}
		if p.sigma > least {
			i := slices.Index(l.accounts, p.account)
			j.Accounts[i] = again.Accounts[i]
		}
	}
	return nil
}

// equal reports whether two tasks are the same.
func equal(a, b Task) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// check reports why no stage can be planned from a utility graph.
func (o Outlook) check() error {
	if len(o.Points) == 0 {
		return errors.New("the utility graph has no points")
	}
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
	for i, p := range o.Points {
		if !positive(p.Clip) || !positive(p.Sigma) || !positive(p.Eta0) || !(p.Accuracy >= 0 && p.Accuracy <= 1) {
			return fmt.Errorf("point %d of the utility graph is %+v: clip, sigma and eta0 must be finite and "+
				"above 0, accuracy in [0, 1]", i, p)
		}
	}
	return nil
}

// expect refuses a task if its own utility graph shows that no client can be satisfied, by more than the
// sampling error of its held-out records. At that point nothing was charged and no record was used.
func (j *Journal) expect(q Question) error {
	e := j.Tasks[len(j.Tasks)-1]
	if !e.Outlook.Same {
		return nil
	}
	best := mostAccurate(e.Outlook.Points)
	lowest := math.Inf(1)
	for i, c := range e.Clients {
		if best.Accuracy >= j.score(e.Task, i)-j.Public.margin(e.Task, i) {
			return nil // the held-out records of the client cannot tell the two apart
		}
		lowest = min(lowest, c.Accuracy)
	}
	r := &Refusal{Metric: e.Spec.MetricName(), Target: lowest, Feasible: best.Accuracy, Of: e.Outlook.Of}
	if best.Sigma == q.Least {
		r.Sigma = q.Least
	}
	return r
}

// driver runs what the loop decides.
type driver struct {
	*loop
	Options
	trainer Trainer
	params  []float32 // newest model of the task; nil before the first
	why     []string  // why each client does not take part
}

func (d *driver) say(format string, args ...any) {
	if d.Progress != nil {
		fmt.Fprintf(d.Progress, format+"\n", args...)
	}
}

func (d *driver) drive(ctx context.Context) error {
	if err := d.load(); err != nil {
		return err
	}
	if d.pending() == nil && d.Dir != "" {
		if err := forgetSecret(d.Dir); err != nil {
			return err
		}
	}
	for {
		s := d.pending()
		if s == nil && d.currentTask().End == "" {
			var err error
			if s, d.why, err = d.advance(ctx); err != nil {
				return err
			}
			first := len(d.stagesOfTask()) == 0
			if s == nil && first {
				return fmt.Errorf("no client can take part: %s: %w", reasons(d.why), ErrRefused)
			}
			// The charge must be on disk before anything of the stage is drawn.
			if err := d.keep(); err != nil {
				return err
			}
		}
		if s == nil {
			return nil
		}
		if err := d.train(ctx, s); err != nil {
			return err
		}
	}
}

// train runs the pending stage and enters its result.
func (d *driver) train(ctx context.Context, s *Stage) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	number := len(d.Stages) - 1
	d.say("stage %d: %s", number, s)
	params, err := d.trainer.Train(ctx, *s, d.params)
	if errors.Is(err, errLostSecret) {
		return d.stranded(ctx, err)
	}
	if err != nil {
		return err
	}
	heldOut, err := d.trainer.HeldOut(params)
	if err != nil {
		return err
	}
	if d.Dir != "" {
		if err := writeModel(d.model(number), params); err != nil {
			return err
		}
	}
	if err := d.trained((&sim.Result{Params: params}).ParamsSHA256(), heldOut); err != nil {
		return err
	}
	if err := d.keep(); err != nil {
		return err
	}
	d.params = params
	spec := d.currentTask().Spec
	metric := spec.MetricOf()
	d.say("stage %d: %s on held-out records %s, %s %s", number, spec.MetricName(), list(s.HeldOut, metric), baselineName(spec),
		list(s.Baseline, metric))
	return d.forget(number)
}

// stranded completes err for a stage under way that cannot be trained. It adds what the records have
// paid in this folder, and what the user can do.
func (d *driver) stranded(ctx context.Context, err error) error {
	var paid []string
	for _, l := range d.accounts {
		used, failed := l.used(ctx)
		if failed != nil {
			return errors.Join(err, failed)
		}
		paid = append(paid, fmt.Sprintf("clients %v: %s of ε = %v at δ = %v", l.Clients, percentUsed(used), l.Epsilon,
			l.Delta))
	}
	return fmt.Errorf("%w; without it no further stage can be trained in this folder, and the records have paid, "+
		"including the stage under way: %s; a training in another folder has a separate budget, which they "+
		"pay in addition", err,
		strings.Join(paid, ", "))
}

// keep writes the journal, if there is a folder.
func (d *driver) keep() error {
	if d.Dir == "" {
		return nil
	}
	return d.write(d.Dir)
}

// forget removes files that are not needed after a stage is trained and entered: its secret, and the
// model of the stage before, unless that was the last one of its task.
func (d *driver) forget(stage int) error {
	if d.Dir == "" {
		return nil
	}
	if err := forgetSecret(d.Dir); err != nil {
		return err
	}
	if stage == 0 || d.Stages[stage-1].Task != d.Stages[stage].Task {
		return nil
	}
	if err := os.Remove(d.model(stage - 1)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (d *driver) open(ctx context.Context) (err error) {
	if d.trainer == nil {
		d.trainer, err = d.Open(ctx)
	}
	return err
}

// load reads the newest model of the task.
func (d *driver) load() error {
	number := len(d.Stages) - 1
	if d.pending() != nil {
		number--
	}
	if number < 0 || d.Stages[number].Task != len(d.Tasks)-1 {
		return nil
	}
	params, err := readModel(d.model(number))
	if err != nil {
		return err
	}
	if sum := (&sim.Result{Params: params}).ParamsSHA256(); sum != d.Stages[number].Params {
		return fmt.Errorf("%s is damaged: sha256 = %s, but the journal has %s", d.model(number), sum,
			d.Stages[number].Params)
	}
	d.params = params
	return nil
}

// model returns the file name of the global model after a stage, or "" if nothing is kept.
func (d *driver) model(stage int) string {
	if d.Dir == "" {
		return ""
	}
	return filepath.Join(d.Dir, fmt.Sprintf(modelFile, stage))
}

// modelFile is the pattern of the names of models, by stage.
const modelFile = "model-%v.f32"

// writeModel writes a model's parameters, each as four bytes, little-endian.
func writeModel(path string, params []float32) error {
	return files.Write(path, func(w io.Writer) error {
		return binary.Write(w, binary.LittleEndian, params)
	})
}

func readModel(path string) ([]float32, error) {
	text, err := bounded.Within(filepath.Dir(path), filepath.Base(path), 4*sim.MaxClientParams)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if len(text)%4 != 0 {
		return nil, fmt.Errorf("model %s: %d bytes, must be four for each parameter", path, len(text))
	}
	params := make([]float32, len(text)/4)
	_, err = binary.Decode(text, binary.LittleEndian, params)
	return params, err
}
