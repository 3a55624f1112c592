package trainer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// LedgerFile is the name of the file in the folder Options.Dir that holds the [Ledger]: the record of the private
// trainings that were started and of their cost. Do not delete the file: the program would forget these costs, and
// later trainings could exceed the budget.
const LedgerFile = "trainer-ledger.json"

// ErrFailed is the error that [Trainer.Private] wraps if the script of a private training was started and did not
// finish correctly. The ledger then still counts the privacy cost of the whole plan.
var ErrFailed = errors.New("the private training failed")

// maxLedger and maxText limit what is read: bytes of a file, and of a text in it. maxStages is the
// largest number of private trainings of a ledger.
const (
	maxLedger = 16 << 20
	maxText   = 2000
	maxStages = 100
)

// Ledger lists every private training (stage) that was ever started in a folder, with the rounds that determine its
// privacy cost. [Trainer.Private] writes it. plan.ReadHistory can read the ledger's file, so other commands can count
// this cost.
type Ledger struct {
	// Releases has the rounds of each stage, at the same index as in Stages: those of its plan, or more if the script
	// reported more.
	Releases []dp.Release `json:"releases"`
	// Notes has sentences that a statement about this ledger must contain, such as that the program cannot verify the
	// script.
	Notes  []string `json:"notes"`
	Stages []Stage  `json:"stages"`
}

// State says how far a private training (a [Stage]) has come: it was started, has failed or has finished.
type State string

// These are the states. In every state, the ledger counts the privacy cost of the whole plan.
const (
	Started  State = "started"  // the script runs, or this program was killed before it recorded how the script ended
	Failed   State = "failed"   // the script failed, or its report does not fit the plan
	Finished State = "finished" // the script reported a result
)

// Stage is one private training that was started. [Trainer.Private] adds it to the [Ledger]. Its rounds are in
// Ledger.Releases, at the same index as the stage in Ledger.Stages.
type Stage struct {
	Key    string  `json:"key"`  // the caller's name for the request, see [Trainer.Private]
	Task   Task    `json:"task"` // settings of the training, as the script got them
	State  State   `json:"state"`
	Reason string  `json:"reason,omitempty"` // why it failed
	Result *Result `json:"result,omitempty"` // as reported by the script
}

// The notes of a ledger, which every privacy statement about it repeats.
const (
	noteReported = "noise, samples, clipping norm and steps are as reported by the script that trained, which this program " +
		"cannot verify"
	noteSeveral = "an ε of all rounds together does not hold if a training was decided by results of earlier ones; the sum of " +
		"their ε does, see auto --statement"
	noteUnfinished = "a private training that did not finish counts with its whole plan, and with more if it reported more"
)

// ReadLedger reads the ledger of the folder dir (see Options.Dir). If dir has no ledger, it returns an empty one:
// nothing has been paid there. A damaged ledger is an error.
func ReadLedger(dir string) (*Ledger, error) {
	path := filepath.Join(dir, LedgerFile)
	text, err := bounded.File(path, maxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return &Ledger{}, nil
	}
	if err != nil {
		return nil, err
	}
	var l Ledger
	err = strictjson.DecodeWhole(text, &l, maxText)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it says what the private records have paid for, so nothing is trained on them "+
			"until it is mended", path, err)
	}
	return &l, nil
}

// check returns an error for a ledger that this program did not write.
func (l *Ledger) check() error {
	if len(l.Stages) == 0 || len(l.Stages) > maxStages || len(l.Releases) != len(l.Stages) {
		return fmt.Errorf("%d releases of %d stages, must be equally many, from 1 to %d", len(l.Releases), len(l.Stages),
			maxStages)
	}
	var errs []error
	for i, s := range l.Stages {
		r := l.Releases[i]
		err := s.Task.Validate()
		switch {
		case err != nil:
		case s.Task.Role != Private:
			err = fmt.Errorf("role = %q, must be %q", s.Task.Role, Private)
		case len(r.Events) != 1 || !atLeast(r.Events[0], s.Task.Plan.Event()):
			err = errors.New("its release must cost at least its plan")
		case !slices.Contains([]State{Started, Failed, Finished}, s.State):
			err = fmt.Errorf("state = %q, must be %q, %q or %q", s.State, Started, Failed, Finished)
		case (s.State == Finished) != (s.Result != nil):
			err = errors.New("a result must be given for a finished stage, and only for it")
		case s.State == Finished:
			err = s.Result.check(s.Task.Plan)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stage %d: %w", i, err))
		}
	}
	_, err := l.events()
	return errors.Join(append(errs, err)...)
}

// atLeast reports whether rounds cost at least as much as those of a plan.
func atLeast(e, plan dp.Event) bool {
	return e.Validate() == nil && e.Sampling == plan.Sampling && e.Adjacency == plan.Adjacency && e.Group <= 1 &&
		e.NoiseMultiplier <= plan.NoiseMultiplier && e.SampleRate() >= plan.SampleRate() && e.Count >= plan.Count
}

func (l *Ledger) events() ([]dp.Event, error) {
	lists := make([][]dp.Event, len(l.Releases))
	for i, r := range l.Releases {
		lists[i] = slices.Clone(r.Events)
		for j := range lists[i] {
			lists[i][j].Noise = dp.Noise{Name: r.Noise, Client: dp.AllClients}
		}
	}
	return dp.Compose(lists...)
}

// Bound returns the certified ε of a record at the given δ, for all private trainings (stages) of the ledger
// together. Use it to state what the trainings in a folder have cost so far. An empty ledger is an error.
//
// For a single stage, the bound is the interval that package dp/pld certifies. For several stages, it is an upper
// bound. The results of earlier stages may have decided the plan of a later stage, which dp/pld does not cover. Basic
// composition covers such stages (R. Rogers, A. Roth, J. Ullman and S. Vadhan, "Privacy Odometers and Filters:
// Pay-as-you-Go Composition", NeurIPS 2016). Bound therefore computes the ε of each stage i = 1, 2, … alone, at
// δ/2^i, and adds these ε.
func (l *Ledger) Bound(ctx context.Context, delta float64) (dp.Bound, error) {
	if l == nil || len(l.Stages) == 0 {
		return dp.Bound{}, errors.New("the ledger is empty: it has no ε")
	}
	events, err := l.events()
	if err != nil {
		return dp.Bound{}, err
	}
	if len(l.Stages) == 1 {
		return pld.Accountant{}.Epsilon(ctx, events, delta)
	}
	sum, b, err := l.charges(ctx, delta)
	b.EpsilonLower, b.Epsilon, b.EpsilonUpper = 0, sum, sum
	b.DeltaLower, b.Delta, b.DeltaUpper, b.Kind = delta, delta, delta, dp.Upper
	return b, err
}

// charges returns the sum of ε_i(δ/2^i) over the stages, and the bound of the last.
func (l *Ledger) charges(ctx context.Context, delta float64) (sum float64, last dp.Bound, err error) {
	for _, r := range l.Releases {
		delta /= 2
		if last, err = (pld.Accountant{UpperEnd: true}).Epsilon(ctx, r.Events, delta); err != nil {
			return 0, dp.Bound{}, err
		}
		sum = math.Nextafter(sum+last.EpsilonUpper, math.Inf(1))
	}
	return sum, last, nil
}

// Statement returns the privacy statement, as text, for all private trainings (stages) of the ledger together: their
// ε at the given δ (see [Ledger.Bound]), and what the guarantee assumes. An empty ledger is an error.
func (l *Ledger) Statement(ctx context.Context, delta float64) (string, error) {
	b, err := l.Bound(ctx, delta)
	if err != nil {
		return "", err
	}
	events, err := l.events()
	text := claim.Statement(claim.PerRecord, b, events...)
	if n := len(l.Stages); n > 1 {
		text += fmt.Sprintf(" The assumption is only needed within each training: this ε is the sum over %d private trainings. The ε of training i = 1, 2, … is taken at δ/2^i. So it "+
			"also holds if the plan of a training was decided by the results of earlier ones.", n)
	}
	return claim.Noted(text, l.Notes), err
}

// Finished returns the finished private training (stage) for the given key, the name that the caller of
// [Trainer.Private] gave to the request. The second result is false if the ledger has no finished training with this
// key. Call Finished before you start a training, so that the cost of a repeated request is not paid twice.
func (l *Ledger) Finished(key string) (Stage, bool) {
	if l == nil {
		return Stage{}, false
	}
	i := slices.IndexFunc(l.Stages, func(s Stage) bool { return s.Key == key && s.State == Finished })
	if i < 0 {
		return Stage{}, false
	}
	return l.Stages[i], true
}

// Budget is an upper limit (ε, δ) of what private trainings may cost a record. [Trainer.Private] gets the budget for
// all stages (private trainings) of a [Ledger] together, and [Ledger.Left] returns the budget that is left for the
// next stage.
type Budget struct{ Epsilon, Delta float64 }

// Left returns the budget that is left for the next private training (stage), if b is the budget for all stages
// together. Use it to plan that training. For the first stage, Left returns b itself. For stage i = 2, 3, …, the δ of
// the result is b.Delta/2^i, and its ε is b.Epsilon minus the sum of the ε of all earlier stages. As in
// [Ledger.Bound], the ε of stage j is computed at b.Delta/2^j. The first stage too then counts with a smaller δ,
// b.Delta/2, at which its ε is larger. So a first stage that costs all of b leaves nothing for later ones. If no ε is
// left, the error is a [*SpentError].
func (l *Ledger) Left(ctx context.Context, b Budget) (Budget, error) {
	if err := errors.Join(dp.CheckPositive("epsilon", b.Epsilon), dp.CheckDelta(b.Delta, 0)); err != nil {
		return Budget{}, err
	}
	if l == nil || len(l.Stages) == 0 {
		return b, nil
	}
	spent, _, err := l.charges(ctx, b.Delta)
	if errors.Is(err, dp.ErrNotCovered) { // a script reported rounds with hardly any noise
		spent, err = math.Inf(1), nil
	}
	if err != nil {
		return Budget{}, err
	}
	// The last bits are left for the rounding of the sum.
	left := Budget{(b.Epsilon - spent) * (1 - 1e-12), math.Ldexp(b.Delta, -len(l.Stages)-1)}
	if !(left.Epsilon > 0) {
		return Budget{}, &SpentError{Budget: b, Spent: spent, Stages: len(l.Stages), Unfinished: l.unfinished()}
	}
	return left, nil
}

// unfinished returns the number of stages that did not finish.
func (l *Ledger) unfinished() int {
	n := 0
	for _, s := range l.Stages {
		if s.State != Finished {
			n++
		}
	}
	return n
}

// SpentError is the error of [Ledger.Left] and [Trainer.Private] if earlier private trainings (stages) have spent the
// whole budget, so that no further one may start.
type SpentError struct {
	Budget     Budget
	Spent      float64 // the sum of the ε of all stages, see [Ledger.Bound]
	Stages     int     // number of earlier stages
	Unfinished int     // how many of the stages did not finish
}

// Error returns a text that says what the budget is and how much of it the earlier trainings have cost.
func (e *SpentError) Error() string {
	cost := "ε ≤ " + decimal.Up(e.Spent, 6) + " at δ/2, δ/4, …, which leaves δ for another one"
	if e.Stages == 1 {
		cost = "ε ≤ " + decimal.Up(e.Spent, 6) + " at δ/2, which leaves δ for another one"
	}
	if math.IsInf(e.Spent, 1) {
		cost = "more than any ε, because of what the script reported"
	}
	text := fmt.Sprintf("nothing is left of ε = %s at δ = %s: %s cost %s", decimal.Exactly(e.Budget.Epsilon),
		decimal.Exactly(e.Budget.Delta), decimal.Many(e.Stages, "private training"), cost)
	if e.Unfinished > 0 {
		text += fmt.Sprintf("; %d did not finish and count in full", e.Unfinished)
	}
	return text
}

// Private runs the script once on the private records, as task says, and returns the ledger of the folder
// Options.Dir, in which this training is the last stage. task.Role must be Private, and task.Plan says the noise, the
// sample rate and the rounds. key is a name that you choose for this training, by which [Ledger.Finished] finds its
// stage. b is the budget for all stages in this folder together.
//
// The script does not start if the plan does not fit into what the earlier stages have left of b, or if the ledger
// cannot be written. If nothing is left of b, the error is a [*SpentError]. If the script started but failed, Private
// returns both the ledger and an error that wraps [ErrFailed].
//
// Even if this program or the script is killed, the ledger counts at least the cost of the plan and of all rounds that
// the script reported. The order of the steps ensures this:
//
//  1. The whole plan is written to the ledger and flushed to disk.
//  2. The script starts.
//  3. If the script reports rounds that cost more than its plan, the ledger gets the higher cost before the next line
//     of the script's output is read.
//  4. The result is written last.
//
// A training that runs again is another stage, and is paid again.
func (t *Trainer) Private(ctx context.Context, task Task, key string, b Budget) (*Ledger, error) {
	if t == nil || len(t.command) == 0 {
		return nil, errNoTrainer
	}
	if t.o.Dir == "" {
		return nil, errors.New("a folder must be given for a private training: its cost must be recorded before it starts")
	}
	if err := errors.Join(task.Validate(), message.CheckText("key", key, maxText)); err != nil {
		return nil, err
	}
	if task.Role != Private {
		return nil, fmt.Errorf("task: role = %q, must be %q", task.Role, Private)
	}
	l, err := ReadLedger(t.o.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := l.Left(ctx, b); err != nil {
		return nil, err
	}
	if err := l.begin(task, key); err != nil {
		return nil, err
	}
	if all, err := l.Bound(ctx, b.Delta); err != nil {
		return nil, err
	} else if !(all.EpsilonUpper <= b.Epsilon) {
		return nil, fmt.Errorf("the training would cost ε ≤ %s with all before it, must be at most %s at δ = %s",
			decimal.Up(all.EpsilonUpper, 6), decimal.Exactly(b.Epsilon), decimal.Exactly(b.Delta))
	}
	path := filepath.Join(t.o.Dir, LedgerFile)
	if err := files.Write(path, files.JSON(l)); err != nil {
		return nil, err
	}
	name, err := t.name(task)
	if err != nil {
		return nil, err
	}
	stage, release := &l.Stages[len(l.Stages)-1], &l.Releases[len(l.Releases)-1]
	result, err := t.run(ctx, task, name, func(rounds []Rounds) error {
		more := raised(release.Events[0], rounds)
		if more == release.Events[0] {
			return nil
		}
		release.Events[0] = more
		return files.Write(path, files.JSON(l))
	})
	if err == nil {
		err = result.check(task.Plan)
	}
	stage.State, stage.Result = Finished, &result
	if err != nil {
		stage.State, stage.Result, stage.Reason = Failed, nil, shortened(message.OneLine(err))
		err = fmt.Errorf("%w, and it counts in full in %s: %w", ErrFailed, path, err)
	}
	l.note()
	return l, errors.Join(err, files.Write(path, files.JSON(l)))
}

// begin adds a stage with the whole cost of its plan.
func (l *Ledger) begin(task Task, key string) error {
	if len(l.Stages) >= maxStages {
		return fmt.Errorf("%d private trainings in the ledger, must be at most %d", len(l.Stages), maxStages)
	}
	// The name says that the noise of the stage is independent of all other noise, so a ledger that is
	// given twice has the same release twice. It is only a name: the script draws the noise.
	unique, err := rng.NewSecret()
	if err != nil {
		return err
	}
	name := rng.Name{Root: "script:" + hex.EncodeToString(unique[:16])}
	l.Stages = append(l.Stages, Stage{Key: key, Task: task, State: Started})
	l.Releases = append(l.Releases, dp.Release{Noise: name, Events: []dp.Event{task.Plan.Event()}})
	l.note()
	return nil
}

func (l *Ledger) note() {
	l.Notes = []string{noteReported}
	if len(l.Stages) > 1 {
		l.Notes = append(l.Notes, noteSeveral)
	}
	if l.unfinished() > 0 {
		l.Notes = append(l.Notes, noteUnfinished)
	}
}

// shortened cuts a text to what a ledger may hold.
func shortened(text string) string {
	const most = 500
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
