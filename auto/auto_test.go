package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/train"
)

// taskOf is a task of clients that want so much.
func taskOf(strategy Strategy, partition data.Partition, clients ...Client) Task {
	s := train.DefaultSpec()
	s.NoiseMultiplier, s.Clients, s.Holdout, s.Partition = 0, len(clients), 0.1, string(partition)
	return Task{Spec: s, Strategy: strategy, Clients: clients}
}

// publicOf is what is public for the task, of records of each client.
func publicOf(t Task, records int) Public {
	return Public{Data: "drawn", Records: records, HeldOut: slices.Repeat([]int{100}, len(t.Clients)), Features: 5,
		Classes: 2}
}

// linear is a utility graph in which accuracy falls with the noise.
func linear(_ context.Context, q Question) (Outlook, error) {
	o := Outlook{GradComps: q.SampleSize * q.Rounds, Of: "a line", Same: true}
	least := q.Least
	if q.Task.Strategy.ByTheorem() {
		o.GradComps, least = 4*q.Public.Records, 4
	}
	for i := range 12 {
		sigma := least * math.Pow(1.5, float64(i))
		for _, clip := range []float64{0.1, 0.2} {
			o.Points = append(o.Points, Point{Clip: clip, Sigma: sigma, Eta0: 0.1, Accuracy: 0.95 - 0.02*float64(i)})
		}
	}
	return o, nil
}

// fake judges as it likes and trains nothing: its model tells which stage it is of.
type fake struct {
	clients int
	judge   func(client int) float64
	// baseline is that of all records, and test what the test records say; nil: what the held-out
	// ones do.
	baseline float64
	test     *Tested
	trained  []Stage
	fail     func(stage Stage) error
}

func (f *fake) Train(_ context.Context, s Stage, initial []float32) ([]float32, error) {
	if f.fail != nil {
		if err := f.fail(s); err != nil {
			return nil, err
		}
	}
	f.trained = append(f.trained, s)
	first := float32(0)
	if initial != nil {
		first = initial[0]
	}
	return []float32{first + float32(s.Participants[0].Run), float32(s.SampleSize)}, nil
}

func (f *fake) HeldOut([]float32) ([]Tested, error) {
	out := make([]Tested, f.clients)
	for i := range out {
		out[i].TestAccuracy, out[i].MajorityShare = f.judge(i), f.baseline
	}
	return out, nil
}

func (f *fake) Test([]float32) ([]Tested, error) {
	out, err := f.HeldOut(nil)
	for i := range out {
		if f.test != nil {
			out[i] = *f.test
		}
	}
	return out, err
}

func optionsOf(dir string, t Task, records int, f *fake) Options {
	return Options{Dir: dir, Public: publicOf(t, records), Utility: linear,
		Open: func(context.Context) (Trainer, error) { return f, nil }}
}

func never(int) float64 { return 0.1 }

// This test runs random courses: PROACTIVEDP_COURSES of them, or by default 20 times PROACTIVEDP_SWEEPS.
// Targets, budgets, strategies, the clients that stop and return, tasks and restarts are random, and each
// choice may depend on earlier results. After each course:
//
// - the rounds of every record are within its filter;
// - the ledger has not lost a round;
// - no two participants share their noise;
// - the ε that a tight accountant computes for all rounds together is at most ε_target.
func TestLedgersHoldInRandomCourses(t *testing.T) {
	courses, _ := testkit.Times(t, "PROACTIVEDP_COURSES", 20*testkit.Sweeps(t))
	draw := rng.New(7).Stream(rng.Synthetic, 0, 0)
	ended := map[string]int{}
	for course := range courses {
		dir := filepath.Join(t.TempDir(), "loop")
		var clients []Client
		partition := []data.Partition{data.Shard, data.Replicate}[draw.IntN(2)]
		records := 400 + draw.IntN(4000)
		for range 1 + draw.IntN(4) {
			c := Client{Epsilon: math.Exp(draw.Float64()*5 - 3), Accuracy: 0.6 + 0.3*draw.Float64()}
			if draw.IntN(3) == 0 {
				c.Delta = 1e-5
			}
			if draw.IntN(3) == 0 && partition.Disjoint() {
				c.Records = records - draw.IntN(200)
			}
			clients = append(clients, c)
		}
		strategy := []Strategy{Paper, Tight, PaperTarget, Default}[draw.IntN(4)]
		task := taskOf(strategy, partition, clients...)
		var before []dp.Event
		for tasks := 1 + draw.IntN(3); tasks > 0; tasks-- {
			f := &fake{clients: len(clients), judge: func(int) float64 { return 0.4 + 0.55*draw.Float64() }}
			stop := errors.New("planted interrupt")
			f.fail = func(Stage) error {
				if draw.IntN(3) == 0 {
					return stop
				}
				return nil
			}
			var r *Report
			for restarts := 0; ; restarts++ {
				var err error
				if r, err = Run(t.Context(), task, optionsOf(dir, task, records, f)); err == nil {
					ended[r.End]++
					break
				}
				if errors.Is(err, ErrRefused) {
					ended["refused"]++
					break
				}
				if !errors.Is(err, stop) || restarts > 1000 {
					t.Fatalf("course %d: %v", course, err)
				}
			}
			before = checkLedgers(t, fmt.Sprintf("course %d", course), dir, before, course%10 == 0)
			if !strategy.ByTheorem() && draw.IntN(2) == 0 {
				task.Strategy = []Strategy{Tight, Default}[draw.IntN(2)]
			}
			task.Spec.Eta0 = 0.01 + draw.Float64()
		}
	}
	for _, want := range []string{"every client is satisfied", "no client that is below its target can continue",
		"refused"} {
		if ended[want] == 0 {
			t.Errorf("no course ended so that %s: %v", want, ended)
		}
	}
}

// checkLedgers holds the ledgers of a folder against their budgets and against what was in
// them before, and returns all events.
func checkLedgers(t *testing.T, name, dir string, before []dp.Event, certify bool) []dp.Event {
	t.Helper()
	j, err := readJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if j == nil {
		return before
	}
	ledgers, err := j.ledgers(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var all []dp.Event
	for _, l := range ledgers {
		all = append(all, l.events...)
		if b := l.guarantee(); b.EpsilonUpper > l.Epsilon || b.DeltaUpper > l.Delta || b.Kind != dp.Upper {
			t.Errorf("%s: %+v is guaranteed, of ε = %v, δ = %v", name, b, l.Epsilon, l.Delta)
		}
		if used, err := l.used(t.Context()); err != nil || used > 1+1e-9 {
			t.Errorf("%s: %v of the budget is spent (%v)", name, used, err)
		}
		if !certify || len(l.events) == 0 {
			continue
		}
		b, err := pld.Accountant{}.Epsilon(t.Context(), l.events, l.Delta)
		if err != nil || b.EpsilonLower > l.Epsilon {
			t.Errorf("%s: the rounds of clients %v cost ε ≥ %v by themselves, ε_target is %v (%v)", name, l.Clients,
				b.EpsilonLower, l.Epsilon, err)
		}
	}
	for _, e := range before {
		if !slices.Contains(all, e) {
			t.Errorf("%s: the ledger has lost %+v", name, e)
		}
	}
	seen := map[dp.Noise]bool{}
	for i := range j.Stages {
		for _, p := range j.Stages[i].Participants {
			n := dp.Noise{Name: rng.New(j.Seed).ForRun(p.Run).Name()}
			if seen[n] {
				t.Errorf("%s: two participants have %v", name, n)
			}
			seen[n] = true
		}
	}
	return all
}

// The flow chart of the paper's appendix "DP Calculator": a satisfied client stops, but still receives
// models. It comes back when its accuracy falls, with less noise than before.
func TestClientsStopAndComeBack(t *testing.T) {
	for _, strategy := range []Strategy{Paper, Tight} {
		task := taskOf(strategy, data.Shard, Client{Epsilon: 2, Accuracy: 0.7}, Client{Epsilon: 4, Accuracy: 0.75})
		looks := 0
		// By stage: the first client is satisfied, then not any more, then both are.
		course := [][]float64{{0.75, 0.5}, {0.6, 0.6}, {0.7, 0.75}}
		f := &fake{clients: 2}
		f.judge = func(client int) float64 {
			at := course[min(looks/2, len(course)-1)][client]
			looks++
			return at
		}
		r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 5000, f))
		if err != nil || !r.Satisfied || len(r.Stages) != 3 {
			t.Fatalf("%s: %+v, %v", strategy, r, err)
		}
		who := [][]int{{0, 1}, {1}, {0, 1}}
		last := []float64{math.Inf(1), math.Inf(1)}
		for i, s := range r.Stages {
			var parts []int
			for _, p := range s.Participants {
				parts = append(parts, p.Client)
				if !(p.NoiseMultiplier < last[p.Client]) {
					t.Errorf("%s: stage %d: client %d has σ = %v, after %v", strategy, i, p.Client, p.NoiseMultiplier,
						last[p.Client])
				}
				last[p.Client] = p.NoiseMultiplier
			}
			if !slices.Equal(parts, who[i]) {
				t.Errorf("%s: stage %d is of clients %v, must be of %v", strategy, i, parts, who[i])
			}
		}
	}
}

// The paper's calculator takes the largest sample for the target epsilon. By (treq3), T ≥ γθ²k²/ε, any further rounds
// would need a larger ε. With the largest sample for the ε of σ_0, less noise can follow.
func TestSizesForTheTargetLeaveNoSecondStage(t *testing.T) {
	stages := map[Strategy][]StageReport{}
	for _, strategy := range []Strategy{Paper, PaperTarget} {
		task := taskOf(strategy, data.Shard, Client{Epsilon: 2, Accuracy: 0.8})
		r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 5000, &fake{clients: 1, judge: never}))
		if err != nil || len(r.Stages) == 0 {
			t.Fatalf("%s: %+v, %v", strategy, r, err)
		}
		if e := r.Privacy.EpsilonUpper; !(e <= 2) {
			t.Errorf("%s: ε = %v", strategy, e)
		}
		stages[strategy] = r.Stages
	}
	first, whole := stages[Paper][0], stages[PaperTarget][0]
	if len(stages[Paper]) < 2 || len(stages[PaperTarget]) != 1 || whole.SampleSize <= first.SampleSize ||
		whole.Participants[0].NoiseMultiplier != first.Participants[0].NoiseMultiplier {
		t.Errorf("stages %+v for the target, %+v for the noise", stages[PaperTarget], stages[Paper])
	}
}

// In the paper's appendix "DP Calculator", a client chooses the number of gradients K_j of each stage. These are the
// settings of phishing with K = 250,000, at which 44 % of the budget were spent when K more gradients were refused.
func TestAStageIsShorterIfKNoLongerFits(t *testing.T) {
	const records, k = 7354, 250_000
	task := taskOf(Paper, data.Shard, Client{Epsilon: 0.5, Accuracy: 0.9})
	graph := func(context.Context, Question) (Outlook, error) {
		return Outlook{GradComps: k, Of: "two points", Same: true, Points: []Point{{0.1, 18, 0.1, 0.9}, {0.1, 36, 0.1, 0.5}}}, nil
	}
	options := optionsOf(t.TempDir(), task, records, &fake{clients: 1, judge: never})
	options.Utility = graph
	r, err := Run(t.Context(), task, options)
	if err != nil || len(r.Stages) < 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	past := make([]Stage, len(r.Stages))
	for i, s := range r.Stages {
		past[i] = s.Stage
		if of := s.SampleSize * s.Rounds; i < len(r.Stages)-1 && of <= k-s.SampleSize {
			t.Errorf("stage %d has %d gradients, must have about K = %d: more noise allowed it", i, of, k)
		}
	}
	last := past[len(past)-1]
	part := math.Ceil(float64(last.SampleSize*last.Rounds) / k * parts)
	if !(part < parts) {
		t.Fatalf("the last stage has %d gradients, must have less than K", last.SampleSize*last.Rounds)
	}
	if r.Privacy.EpsilonUpper > 0.5 {
		t.Errorf("ε = %v, must be at most 0.5", r.Privacy.EpsilonUpper)
	}
	// It has the most sixteenths of K that Theorem simpleF allows.
	l, err := newLedger(Account{Clients: []int{0}, Records: records, Epsilon: 0.5, Delta: 1 / float64(records)})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range past[:len(past)-1] {
		if err := l.spend(t.Context(), i, s.events(l.Account, task.Spec.Seed)); err != nil {
			t.Fatal(err)
		}
	}
	c := calculator{task: task, outlook: Outlook{GradComps: k}}
	for more, want := range []int{last.SampleSize, 0} {
		size, _, err := c.largest(t.Context(), l, last.Participants[0].NoiseMultiplier, k*(int(part)+more)/parts, 1)
		if err != nil || size != want {
			t.Errorf("with %v sixteenths of K: s = %d, %v; want %d", int(part)+more, size, err, want)
		}
	}
}

// All clients of a stage compute equally many gradients. Who can pay for fewer waits, and is not shut out.
func TestClientsOfAShorterStageWait(t *testing.T) {
	plans := []accountPlan{{clients: []int{0}, stagePlan: stagePlan{comps: 60}}, {clients: []int{1, 2}, stagePlan: stagePlan{comps: 100}},
		{clients: []int{3}, stagePlan: stagePlan{comps: 100}}}
	why := make([]string, 4)
	if got := longest(plans, why); len(got) != 2 || got[0].clients[0] != 1 || got[1].clients[0] != 3 {
		t.Errorf("the stage is of %+v, must be of clients 1, 2 and 3", got)
	}
	if !strings.Contains(why[0], "60 of the stage's 100 gradients") || why[1]+why[2]+why[3] != "" {
		t.Errorf("reasons %q", why)
	}
}

// If all clients hold the same records, each record pays for the rounds of all clients. The limit is the
// smallest budget of any client.
func TestSharedRecordsHaveOneBudget(t *testing.T) {
	task := taskOf(Tight, data.Replicate, Client{Epsilon: 1, Accuracy: 0.9}, Client{Epsilon: 0.3, Accuracy: 0.9},
		Client{Epsilon: 2, Accuracy: 0.9, Delta: 1e-6})
	f := &fake{clients: 3, judge: never}
	r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 4000, f))
	if err != nil || r.Satisfied {
		t.Fatalf("%+v, %v", r, err)
	}
	if p := r.Privacy; len(p.Accounts) != 1 || p.EpsilonUpper != 0.3 || p.Delta != 1e-6 {
		t.Errorf("promised %+v, must be ε = 0.3 at δ = 1e-6", p)
	}
	rounds := 0
	for _, release := range r.Privacy.Accounts[0].Releases {
		for _, e := range release.Events {
			rounds += e.Count
		}
	}
	if want := 3 * r.Rounds; rounds != want {
		t.Errorf("a record pays for %d rounds, must pay for those of all clients, %d", rounds, want)
	}
}

// A target that cannot be reached is refused before the records are opened. The error says what is
// feasible, and nothing is charged.
func TestOutOfReachIsRefusedFirst(t *testing.T) {
	for _, c := range []struct {
		task Task
		want string
	}{
		{taskOf(Tight, data.Shard, Client{Epsilon: 0.5, Accuracy: 0.99}), "at most about 0.95 can be expected"},
		{taskOf(Paper, data.Shard, Client{Epsilon: 1e-3, Accuracy: 0.8}), "would be enough"},
	} {
		dir := filepath.Join(t.TempDir(), "loop")
		o := optionsOf(dir, c.task, 5000, nil)
		o.Open = func(context.Context) (Trainer, error) {
			t.Error("the records were opened")
			return nil, errors.New("opened")
		}
		_, err := Run(t.Context(), c.task, o)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, must be refused with %q", err, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, JournalFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a journal: %v", err)
		}
	}
}

// If more noise gives a better model than the least noise, the best model that can be expected costs less
// than the whole budget. A refusal mentions the whole budget only if its noise takes the whole budget.
func TestRefusalSaysWhatTakesTheWholeBudget(t *testing.T) {
	task := taskOf(Tight, data.Shard, Client{Epsilon: 0.5, Accuracy: 0.99})
	for best, want := range map[float64]bool{1: true, 2: false} { // σ of the best point over the least
		o := optionsOf("", task, 5000, nil)
		o.Utility = func(_ context.Context, q Question) (Outlook, error) {
			return Outlook{Same: true, GradComps: 1000, Points: []Point{
				{Clip: 0.1, Sigma: q.Least, Eta0: 0.1, Accuracy: 0.8},
				{Clip: 0.1, Sigma: best * q.Least, Eta0: 0.1, Accuracy: 0.9},
			}}, nil
		}
		_, err := Run(t.Context(), task, o)
		var refused *Refusal
		if !errors.As(err, &refused) || refused.Feasible != 0.9 ||
			strings.Contains(err.Error(), "takes the whole budget") != want {
			t.Errorf("best at %v times the least σ: %v; must name the whole budget: %v", best, err, want)
		}
	}
}

// A loop that is stopped before, in and after each stage continues to the same result as a loop that is
// not stopped. It does not repeat a training that it had finished.
func TestStoppedLoopGoesOn(t *testing.T) {
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.9}, Client{Epsilon: 2, Accuracy: 0.8})
	want := ""
	for stopAt := -1; stopAt < 3; stopAt++ {
		dir := t.TempDir()
		f := &fake{clients: 2, judge: never}
		stop := errors.New("planted interrupt")
		f.fail = func(Stage) error {
			if len(f.trained) == stopAt {
				stopAt = -2
				return stop
			}
			return nil
		}
		at := stopAt
		r, err := Run(t.Context(), task, optionsOf(dir, task, 3000, f))
		if at >= 0 {
			if !errors.Is(err, stop) {
				t.Fatal(err)
			}
			r, err = Run(t.Context(), task, optionsOf(dir, task, 3000, f))
		}
		stopAt = at
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(text)
		}
		if string(text) != want || len(f.trained) != len(r.Stages) {
			t.Errorf("stopped at stage %d: another journal, or %d stages trained of %d", at, len(f.trained),
				len(r.Stages))
		}
		// Given again, it is reported again, and trains nothing.
		again, err := Run(t.Context(), task, optionsOf(dir, task, 3000, f))
		if err != nil || len(f.trained) != len(r.Stages) || again.Params != r.Params {
			t.Errorf("given again: %+v, %v", again, err)
		}
	}
}

// The budget that was fixed before the first release also limits every later task of the folder.
func TestTasksShareTheirBudget(t *testing.T) {
	dir := t.TempDir()
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.5})
	f := &fake{clients: 1, judge: func(int) float64 { return 0.9 }}
	first, err := Run(t.Context(), task, optionsOf(dir, task, 3000, f))
	if err != nil || !first.Satisfied {
		t.Fatalf("%+v, %v", first, err)
	}
	for name, c := range map[string]struct {
		change func(t *Task)
		want   string
	}{
		"more ε":   {func(t *Task) { t.Clients[0].Epsilon = 2 }, "differ from those that were promised"},
		"other δ":  {func(t *Task) { t.Clients[0].Delta = 0.1 }, "differ from those that were promised"},
		"seed":     {func(t *Task) { t.Spec.Seed = 9 }, "seed = 9, must be 1"},
		"strategy": {func(t *Task) { t.Strategy = Paper }, "that of a Rényi filter"},
		// Other rows, or more of them in a sample's rate, than the ledger was charged for.
		"holdout":   {func(t *Task) { t.Spec.Holdout = 0.2 }, "holdout = 0.2, must be 0.1"},
		"fold":      {func(t *Task) { t.Spec.Fold = 2 }, "fold = 2, must be 0"},
		"split":     {func(t *Task) { t.Spec.Split = train.RecordSplit }, `split = "by-record", must be "shuffled"`},
		"partition": {func(t *Task) { t.Spec.Partition = "dirichlet:1" }, `partition = "dirichlet:1", must be "shard"`},
	} {
		other := task
		other.Clients = slices.Clone(task.Clients)
		c.change(&other)
		if _, err := Run(t.Context(), other, optionsOf(dir, other, 3000, f)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, must say %q", name, err, c.want)
		}
	}
	o := optionsOf(dir, task, 3000, f)
	o.Public.Data = "other"
	if _, err := Run(t.Context(), task, o); err == nil || !strings.Contains(err.Error(), "content of the data") {
		t.Errorf("other data: %v", err)
	}
	second := task
	second.Spec.Model, second.Spec.Split = train.Plain, train.ShuffledSplit // which is what "" means
	r, err := Run(t.Context(), second, optionsOf(dir, second, 3000, f))
	if err != nil || r.Stages[0].Number != len(first.Stages) || r.Privacy.EpsilonUpper != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for task, path := range []string{first.Model, r.Model} { // each was paid for
		if _, err := readModel(path); err != nil {
			t.Errorf("the model of task %d: %v", task, err)
		}
	}
	if a, b := first.Privacy.Accounts[0].Used, r.Privacy.Accounts[0].Used; !(b > a) {
		t.Errorf("%v of the budget is spent after another task, %v before", b, a)
	}
}

// The report has one (ε, δ) for all records, and so has the file of the model. It holds for the records of
// each client: its ε is at least the largest ε of their budgets, and its δ at least their largest δ.
func TestOneBoundForAllRecords(t *testing.T) {
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Delta: 1e-5, Accuracy: 0.5},
		Client{Epsilon: 0.5, Delta: 1e-3, Accuracy: 0.5})
	o := optionsOf(t.TempDir(), task, 3000, &fake{clients: 2, judge: func(int) float64 { return 0.9 }})
	r, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	saved := r.within.Certified.PerRecord
	if p := r.Privacy; p.EpsilonUpper != 1 || p.Delta != 1e-3 || *saved.EpsilonUpper != 1 || saved.Delta != 1e-3 {
		t.Errorf("ε ≤ %v at δ = %v, of the model %v at %v; want 1 at 0.001, as of all clients' budgets", p.EpsilonUpper,
			p.Delta, *saved.EpsilonUpper, saved.Delta)
	}
	for i, want := range []float64{1e-5, 1e-3} {
		if got := r.Privacy.Accounts[i].Delta; got != want {
			t.Errorf("client %d: δ = %v, want %v", i, got, want)
		}
	}
}

// The client with the largest budget may not take part in the training of a model. Then the bound of the
// model is that of the clients whose records it was trained on.
func TestBoundWithoutTheLargestBudget(t *testing.T) {
	task := taskOf(Paper, data.Shard, Client{Epsilon: 3, Accuracy: 0.99}, Client{Epsilon: 1, Accuracy: 0.8})
	o := optionsOf(t.TempDir(), task, 20_000, &fake{clients: 2, judge: func(int) float64 { return 0.9 }})
	r, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Privacy.Accounts[0].Releases); n != 0 || r.Privacy.EpsilonUpper != 3 {
		t.Fatalf("%d releases of client 0, ε ≤ %v", n, r.Privacy.EpsilonUpper)
	}
	sigma := r.Stages[0].Participants[0].NoiseMultiplier
	if r.within.NoiseMultiplier != sigma || r.within.PerRecord.Rounds != r.Stages[0].Rounds {
		t.Errorf("%d rounds at σ = %v, want %d at %v", r.within.PerRecord.Rounds, r.within.NoiseMultiplier,
			r.Stages[0].Rounds, sigma)
	}
}

// A journal in which a task ended before it began is refused, because there is no model to report.
func TestEndedTaskHasAStage(t *testing.T) {
	dir := t.TempDir()
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.5})
	o := optionsOf(dir, task, 3000, &fake{clients: 1, judge: func(int) float64 { return 0.9 }})
	if _, err := Run(t.Context(), task, o); err != nil {
		t.Fatal(err)
	}
	j, err := readJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	j.Stages = nil
	if err := j.write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), task, o); err == nil || !strings.Contains(err.Error(), "task 0 has ended") {
		t.Errorf("%v, must say that the task has ended without a stage", err)
	}
}

// The paper's strategy meets the conditions of the paper's closed form (Theorem thm1): no σ is below
// σ_eq(ε_target, δ), no sample rate q is above 1/(eσ_eq), and the sum of q²/(1-q) over all rounds is at
// most ε/2.
func TestPaperKeepsToTheClosedForm(t *testing.T) {
	task := taskOf(Paper, data.Shard, Client{Epsilon: 0.5, Accuracy: 0.8})
	r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 8000, &fake{clients: 1, judge: never}))
	if err != nil || len(r.Stages) < 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	least, err := closedform.Sigma(0.5, 1.0/8000)
	if err != nil {
		t.Fatal(err)
	}
	cost := 0.0
	for i, s := range r.Stages {
		q := float64(s.SampleSize) / 8000
		cost += float64(s.Rounds) * q * q / (1 - q)
		if s.Participants[0].NoiseMultiplier < least || q > 1/(math.E*least) || cost > 0.25 {
			t.Errorf("stage %d: σ = %v, q = %v, cost %v", i, s.Participants[0].NoiseMultiplier, q, cost)
		}
	}
}

// If the baseline is 1, no model can exceed it, so the first stage that finds such a baseline is the last
// one. The metric "recall at a precision" has this baseline if the share of class 1 is at least the
// precision.
func TestNoBudgetForWhatNoModelReaches(t *testing.T) {
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.8})
	task.Stages = 3
	r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 8000, &fake{clients: 1, judge: never, baseline: 1}))
	if err != nil || len(r.Stages) != 1 {
		t.Fatalf("%d stages, error %v, want one stage", len(r.Stages), err)
	}
}

// Each stage of the paper's strategy has less noise than the one before (σ_j < σ_{j−1} in the appendix
// "DP Calculator"), and the task ends when σ is the least that ε_target allows. σ is rounded up to six
// digits, so its ε is never quite ε_target.
func TestPaperLowersItsNoise(t *testing.T) {
	for _, epsilon := range []float64{0.3, 0.5, 1} {
		task := taskOf(Paper, data.Shard, Client{Epsilon: epsilon, Accuracy: 0.8})
		r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 8000, &fake{clients: 1, judge: never}))
		if err != nil || len(r.Stages) == 0 {
			t.Fatalf("ε = %v: %+v, %v", epsilon, r, err)
		}
		before := math.Inf(1)
		for i, s := range r.Stages {
			if sigma := s.Participants[0].NoiseMultiplier; sigma >= before {
				t.Errorf("ε = %v, stage %d: σ = %v after %v", epsilon, i, sigma, before)
			} else {
				before = sigma
			}
		}
	}
}

// A task with more gradient computations than a training may have is refused. An earlier version converted
// their number to an int, which gave 1.
func TestTasksOfTooManyGradients(t *testing.T) {
	spec := train.DefaultSpec()
	spec.GradComps, spec.Clients = 1<<53, 5000
	task := NewTask(spec, "", []Client{{}})
	if err := task.Validate(); err == nil || !strings.Contains(err.Error(), "must be in [1, 2^53]") {
		t.Errorf("%d gradients: %v", task.Spec.GradComps, err)
	}
}

// The stages together spend the whole budget. There are as many as were asked for, each spends twice as
// much as the one before, and the last one spends all that is left. If nothing is known about how much
// budget the target needs, there is only one stage, because earlier stages would only add noise.
func TestLastStageTakesAllThatIsLeft(t *testing.T) {
	for stages, want := range map[int][]float64{0: {1}, 1: {1}, 2: {0.25, 1}, 3: {0.125, 0.375, 1},
		4: {0.0625, 0.1875, 0.4375, 1}} {
		task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.9})
		task.Stages = stages
		o := optionsOf(t.TempDir(), task, 5000, &fake{clients: 1, judge: never})
		o.Utility = func(ctx context.Context, q Question) (Outlook, error) {
			outlook, err := linear(ctx, q)
			outlook.Same = false // nothing is known of how much the target needs
			return outlook, err
		}
		r, err := Run(t.Context(), task, o)
		if err != nil {
			t.Fatal(err)
		}
		var used []float64
		for _, s := range r.Stages {
			used = append(used, s.Used[0])
		}
		if !slices.EqualFunc(used, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-4 }) {
			t.Errorf("%d stages used %v of the budget after each, must be %v", stages, used, want)
		}
	}
}

// The sample size has nearly the largest signal s√T/σ of all sizes within the filter, at small ε as at
// large ones. At σ = 2, the size was far too small at small ε.
func TestSampleSizeHasTheSignal(t *testing.T) {
	for _, epsilon := range []float64{0.05, 0.5, 3} {
		a := Account{Clients: []int{0}, Records: 5000, Epsilon: epsilon, Delta: 1e-5}
		signal := func(size int) float64 {
			sigma, ok, err := a.fixOrder(t.Context(), size, tightRounds)
			if err != nil || !ok {
				t.Fatalf("ε = %v: s = %d: %v, error %v", epsilon, size, ok, err)
			}
			return float64(size) / sigma
		}
		size, err := a.tightSize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, most := signal(size), signal(a.Records); got < enoughSignal*most {
			t.Errorf("ε = %v: the signal of s = %d is %v, of full batches %v", epsilon, size, got, most)
		}
		if size > 1 && signal(size/2) >= enoughSignal*signal(a.Records) {
			t.Errorf("ε = %v: s = %d has that signal, too", epsilon, size/2)
		}
	}
}

// Without a utility graph, the settings are computed from the noise alone, without looking at a record. A
// clipping norm or step size that the user gives is used in all stages.
func TestUsualSteps(t *testing.T) {
	task := taskOf(Tight, data.Replicate, Client{Epsilon: 1, Delta: 1e-3, Accuracy: 0.9})
	source := train.NewSource(auditedData())
	task.Spec.Holdout = 0
	q := Question{Task: task, SampleSize: 10, Rounds: 100, Least: 2}
	o, err := UsualSteps(source)(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	task.Spec.SampleSize = "1"
	p, err := source.Prepare(task.Spec)
	if err != nil {
		t.Fatal(err)
	}
	first := o.Points[0]
	clipped := task.Spec
	clipped.Clip = train.UsualClip
	if want := train.UsualStep(clipped, p.Config.Model.NumParams(), 2, 10, 100); o.Same ||
		first != (Point{Clip: train.UsualClip, Sigma: 2, Eta0: want}) {
		t.Errorf("%+v, want a step of %v", first, want)
	}
	q.Task.Clip, q.Task.Eta0 = 0.7, 0.02
	if o, err = UsualSteps(source)(t.Context(), q); err != nil || o.pick(3, 0, false).Clip != 0.7 || o.pick(3, 0, false).Eta0 != 0.02 {
		t.Errorf("%+v, error %v", o, err)
	}
	q.Task.Strategy = Paper
	if _, err := UsualSteps(source)(t.Context(), q); err == nil {
		t.Error("the strategy paper has no graph")
	}
	for _, change := range []func(*Task){func(t *Task) { t.Stages = 7 }, func(t *Task) { t.Stages = -1 },
		func(t *Task) { t.Clip = math.NaN() }, func(t *Task) { t.Eta0 = -1 },
		func(t *Task) { t.Stages, t.Strategy = 2, Default }} {
		wrong := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.9})
		if change(&wrong); wrong.Validate() == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// A task with one stage needs no filter: its rounds are fixed before the first release, so the ordinary
// theorems on composition hold (Dwork and Roth 2014, section 3.5). Its noise is that of a plain training,
// and no budget is left for a second stage. A task with several stages has a filter.
func TestOneStageCostsAPlainTraining(t *testing.T) {
	dir := t.TempDir()
	task := taskOf(Tight, data.Replicate, Client{Epsilon: 0.3, Delta: 1e-5, Accuracy: 0.93}, Client{Epsilon: 0.5, Delta: 1e-5, Accuracy: 0.93})
	r, err := Run(t.Context(), task, optionsOf(dir, task, 2000, &fake{clients: 2, judge: never}))
	if err != nil {
		t.Fatal(err)
	}
	a := r.Privacy.Accounts[0]
	if len(r.Stages) != 1 || !a.Once || a.Orders != nil || a.EpsilonUpper != 0.3 || r.Privacy.Accountant != (pld.Accountant{}).Name() || a.Used != 1 {
		t.Fatalf("%+v in %d stages", a, len(r.Stages))
	}
	s := r.Stages[0].Stage
	events := s.events(a.Account, task.Spec.Seed)
	want, _, err := plan.LeastNoise(t.Context(), events, 0.3, 1e-5, pld.Accountant{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Participants[1].NoiseMultiplier; len(events) != 2 || math.Abs(got/want-1) > 1e-3 {
		t.Errorf("σ = %v for both clients, want %v", got, want)
	}
	l, err := newLedger(a.Account)
	if err != nil {
		t.Fatal(err)
	}
	louder := slices.Clone(events)
	for i := range louder {
		louder[i].NoiseMultiplier *= 0.99
	}
	if err := l.spend(t.Context(), 0, louder); !errors.Is(err, rdp.ErrBudgetSpent) || len(l.events) != 0 {
		t.Errorf("a stage beyond the budget: %v", err)
	}
	if err := l.spend(t.Context(), 0, events); err != nil {
		t.Error(err)
	}
	tiny := []dp.Event{a.event(1e5, 1, 1, 1)}
	if err := l.spend(t.Context(), 1, tiny); !errors.Is(err, rdp.ErrBudgetSpent) || len(l.events) != 2 {
		t.Errorf("a second stage: %v", err)
	}
	task.Spec.Run, task.Clip = 0, 2
	if _, err := Run(t.Context(), task, optionsOf(dir, task, 2000, &fake{clients: 2, judge: never})); !errors.Is(err, ErrRefused) {
		t.Errorf("a second task: %v", err)
	}
	task.Stages = 2
	if r, err = Run(t.Context(), task, optionsOf("", task, 2000, &fake{clients: 2, judge: never})); err != nil || r.Privacy.Accounts[0].Once ||
		len(r.Privacy.Accounts[0].Orders) != 1 {
		t.Errorf("a task of two stages: %+v, error %v", r, err)
	}
}
