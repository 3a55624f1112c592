package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/train"
)

// loop is the flow chart as a state machine. Its state is the journal, which determines the next stage
// completely.
type loop struct {
	*Journal
	accounts []*ledger
	// newRoot makes the secret of a stage and returns the public name of its root. It is needed for
	// tasks with SeedFromOS; without it, no stage of such a task can be planned.
	newRoot func() (string, error)
}

// newLoop returns the loop that continues from a journal. It charges the journal's stages to new
// ledgers.
func newLoop(ctx context.Context, j *Journal) (*loop, error) {
	ledgers, err := j.ledgers(ctx)
	if err != nil {
		return nil, err
	}
	return &loop{Journal: j, accounts: ledgers}, nil
}

// currentTask returns the last task of the journal.
func (l *loop) currentTask() *JournalTask { return &l.Tasks[len(l.Tasks)-1] }

// pending returns the stage that was charged but not trained yet, or nil.
func (l *loop) pending() *Stage {
	if n := len(l.Stages); n > 0 && !l.Stages[n-1].trained() {
		return &l.Stages[n-1]
	}
	return nil
}

// short returns, for each client, why the last model of the task does not satisfy it on its held-out
// records. The reason is "" if the client is satisfied. No client is satisfied before the first model.
func (l *loop) short() []string {
	e, stages := l.currentTask(), l.stagesOfTask()
	why := make([]string, len(e.Clients))
	for i, c := range e.Clients {
		if len(stages) == 0 {
			why[i] = "there is no model yet"
			continue
		}
		last := stages[len(stages)-1]
		chance := 0.0
		if e.Spec.IsAccuracy() {
			chance = e.Spec.MetricOf().Margin(last.Baseline[i], l.Public.HeldOut[i])
		} else {
			chance = last.Chance[i]
		}
		why[i] = c.short("held-out", e.Spec, last.HeldOut[i], last.Baseline[i], chance, 0)
	}
	return why
}

// short returns why a model of the given accuracy does not satisfy the client, or "" if it does.
// of names the records. baseline is the metric's baseline on the same records. A model
// that has learnt nothing may reach a target below the baseline, and may exceed the baseline slightly
// by chance. Therefore the accuracy must exceed the baseline by more than chance. It must not be below
// the target by more than margin.
func (c Client) short(of string, spec train.Spec, accuracy, baseline, chance, margin float64) string {
	byMoreThan := func(samplingError float64) string {
		if samplingError == 0 {
			return ""
		}
		return " by more than the sampling error " + spec.MetricOf().Text(samplingError)
	}
	metric := spec.MetricOf()
	exceed, below := "exceed", "below"
	if metric.Smaller() {
		exceed, below = "fall below", "above"
	}
	if !metric.Exceeds(accuracy, baseline, chance) {
		return fmt.Sprintf("%s %s %s does not %s the %s %s%s", of, spec.MetricName(), metric.Text(accuracy), exceed,
			baselineName(spec), metric.Text(baseline), byMoreThan(chance))
	}
	if metric.Exceeds(c.Accuracy, accuracy, margin) {
		return fmt.Sprintf("%s %s %s is %s the target %v%s", of, spec.MetricName(), metric.Text(accuracy), below, c.Accuracy, byMoreThan(margin))
	}
	return ""
}

// baselineName names the value of the metric that needs no features.
func baselineName(spec train.Spec) string {
	if spec.IsAccuracy() {
		return "majority-class baseline"
	}
	return "baseline"
}

// advance decides what follows the last model: the end of the task, or a new stage. A new stage is
// charged to the ledgers and entered in the journal. For each unsatisfied client that does not take
// part, why has the reason.
func (l *loop) advance(ctx context.Context) (next *Stage, why []string, err error) {
	e := l.currentTask()
	why = make([]string, len(e.Clients))
	if !slices.ContainsFunc(l.short(), func(why string) bool { return why != "" }) {
		e.End = "every client is satisfied"
		return nil, why, nil
	}
	plans, err := l.plans(ctx, why)
	if err != nil {
		return nil, nil, err
	}
	if len(plans) == 0 {
		e.End = "no client that is below its target can continue"
		return nil, why, nil
	}
	s := l.stageOf(plans)
	if e.Spec.SeedFromOS {
		if l.newRoot == nil {
			return nil, nil, errors.New("a stage needs a secret root, but nothing makes one")
		}
		if s.Root, err = l.newRoot(); err != nil {
			return nil, nil, err
		}
	}
	number := len(l.Stages)
	for _, o := range plans {
		if err := o.account.spend(ctx, number, s.events(o.account.Account, l.Seed)); err != nil {
			return nil, nil, err
		}
	}
	l.Stages = append(l.Stages, s)
	return &l.Stages[number], why, nil
}

// accountPlan is the plan of the next stage for one account.
type accountPlan struct {
	account *ledger
	clients []int // unsatisfied clients of the account
	stagePlan
}

// plans plans the next stage for every account with an unsatisfied client. An account that cannot pay
// for a stage has no plan; why then has the reason for its clients.
func (l *loop) plans(ctx context.Context, why []string) ([]accountPlan, error) {
	e := l.currentTask()
	short, past := l.short(), l.stagesOfTask()
	c := calculator{task: e.Task, outlook: e.Outlook, size: e.SampleSize, rounds: e.Rounds}
	var plans []accountPlan
	for _, a := range l.accounts {
		o := accountPlan{account: a}
		target, margin := 0.0, 0.0
		for _, i := range a.Clients {
			if n := len(past); n > 0 && !e.Spec.MetricOf().Smaller() && past[n-1].Baseline[i] >= 1 {
				why[i] = "its baseline is 1, which no model exceeds"
				continue
			}
			if short[i] != "" {
				o.clients = append(o.clients, i)
				target = max(target, l.score(e.Task, i))
				margin = max(margin, l.Public.margin(e.Task, i))
			}
		}
		if len(o.clients) == 0 {
			continue
		}
		var err error
		if o.stagePlan, err = c.next(ctx, a, past, len(o.clients), target, margin); err != nil {
			return nil, err
		}
		if o.why == "" {
			plans = append(plans, o)
			continue
		}
		for _, i := range o.clients {
			why[i] = o.why
		}
	}
	return longest(plans, why), nil
}

// longest returns the plans with the largest number of gradients. All clients of a stage compute equally many, so the
// accounts that can only pay for fewer wait, until the others have ended. why then has the reason for their clients.
func longest(plans []accountPlan, why []string) []accountPlan {
	most := 0
	for _, o := range plans {
		most = max(most, o.comps)
	}
	return slices.DeleteFunc(plans, func(o accountPlan) bool {
		if o.comps == most {
			return false
		}
		for _, i := range o.clients {
			why[i] = fmt.Sprintf("its budget only admits %d of the stage's %d gradients, which it can compute in a later stage",
				o.comps, most)
		}
		return true
	})
}

// stageOf returns the stage for all plans. Each client has the sample size of its plan. The clipping norm and step size
// are those for the largest noise multiplier of the plans.
func (l *loop) stageOf(plans []accountPlan) Stage {
	e := l.currentTask()
	s := Stage{Task: len(l.Tasks) - 1, SampleSize: math.MaxInt, Rounds: e.Rounds}
	target, sigma := 0.0, 0.0
	for _, o := range plans {
		s.SampleSize = min(s.SampleSize, o.size)
	}
	for _, o := range plans {
		sigma = max(sigma, o.sigma)
		own := 0 // the sample size, if it is not the stage's
		if o.size > s.SampleSize {
			own = o.size
		}
		for _, i := range o.clients {
			target = max(target, l.score(e.Task, i))
			s.Participants = append(s.Participants, train.Participant{Client: i, Records: e.Clients[i].Records, NoiseMultiplier: o.sigma,
				SampleSize: own})
		}
	}
	if s.Rounds == 0 {
		s.Rounds = plans[0].comps / s.SampleSize // equal for all plans, see longest
	}
	at := e.Outlook.pick(sigma, target, e.Strategy.ByTheorem())
	s.Clip, s.Eta0 = at.Clip, at.Eta0
	slices.SortFunc(s.Participants, func(a, b train.Participant) int { return a.Client - b.Client })
	run := l.nextRun()
	for i := range s.Participants {
		s.Participants[i].Run = run + uint64(i)
	}
	return s
}

// trained enters the result of the pending stage.
func (l *loop) trained(params string, heldOut []Tested) error {
	s := l.pending()
	if s == nil {
		return fmt.Errorf("no stage is under way")
	}
	task := l.currentTask().Task
	s.Params, s.HeldOut, s.Baseline, s.Chance = params, nil, nil, nil
	for _, by := range heldOut {
		s.HeldOut, s.Baseline = append(s.HeldOut, by.TestAccuracy), append(s.Baseline, by.MajorityShare)
		if !task.Spec.IsAccuracy() {
			s.Chance = append(s.Chance, by.Chance)
		}
	}
	return s.validate(task)
}

// margin returns the sampling error of client i's target on its held-out records, see models.Metric.Margin. If
// the expected metric exceeds the target by this margin, the measured one reaches the target with probability
// 0.95. Before a model is judged, the classes of the held-out records are unknown, so metrics other than the
// accuracy count them as equally frequent. For metrics of regression it is 0.
func (p Public) margin(t Task, i int) float64 {
	metric, rows := t.Spec.MetricOf(), p.HeldOut[i]
	if metric.Regression() {
		return 0 // nothing bounds it before; see Probe.Utility
	}
	if !t.Spec.IsAccuracy() {
		rows = metric.Rows(slices.Repeat([]int{rows / max(p.Classes, 1)}, p.Classes))
	}
	return metric.Margin(t.Clients[i].Accuracy, rows)
}

// score returns the target of client i on the scale of [Point].Accuracy.
func (j *Journal) score(t Task, i int) float64 {
	return t.Spec.MetricOf().Score(t.Clients[i].Accuracy, j.Public.Targets)
}
