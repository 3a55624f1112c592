package auto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// ofPersons is a task for persons with up to three records, on data in which they have 1 to 8.
func ofPersons(t *testing.T, clients int) (Task, Options) {
	t.Helper()
	d := *synth.OneHot(rng.New(3), 1200)
	d.Person = make([]data.PersonKey, d.Len())
	for i := range d.Person {
		d.Person[i] = data.PersonOf(fmt.Sprint(i * i / 7 % 400))
	}
	all := make([]Client, clients)
	for i := range all {
		all[i] = Client{Epsilon: 2, Delta: 1e-5, Accuracy: 1}
	}
	task := taskOf(Tight, data.Replicate, all...)
	task.Spec.AtMost, task.Spec.Split = 3, train.RecordSplit
	source := train.NewSource(&d)
	public, err := PublicOf(source, task)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Public: public, Utility: UsualSteps(source)}
	o.Open = func(context.Context) (Trainer, error) {
		return NewTrainer(source, task, o.Dir, sim.Perf{}, 0, nil), nil
	}
	return task, o
}

// If ε is for a person, each person pays for the rounds of all clients, in one stage. The accountant
// certifies the budget for groups of records, and the stage spends all of it. So a second task in the
// folder trains nothing. A task for single records or for other persons is refused.
func TestPersonsPayInOneStage(t *testing.T) {
	task, o := ofPersons(t, 2)
	r, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	account := r.Privacy.Accounts[0]
	if len(r.Stages) != 1 || len(r.Privacy.Accounts) != 1 || account.Group != 3 || !account.Once || account.Used != 1 {
		t.Fatalf("%d stages, accounts %+v", len(r.Stages), r.Privacy.Accounts)
	}
	rounds := 0
	for _, release := range account.Releases {
		for _, e := range release.Events {
			if rounds += e.Count; e.Group != 3 {
				t.Errorf("rounds for groups of %d", e.Group)
			}
			b, err := pld.Accountant{}.Epsilon(t.Context(), append(release.Events, release.Events...), 1e-5)
			if err != nil || !(b.EpsilonUpper <= 2) || b.EpsilonUpper < 1.99 {
				t.Errorf("both clients cost a person [%v, %v], want just below 2: %v", b.EpsilonLower, b.EpsilonUpper, err)
			}
		}
	}
	if rounds != 2*tightRounds {
		t.Errorf("%d rounds", rounds)
	}
	const whom = "a person with up to 3 records"
	if !strings.Contains(strings.ToLower(r.Privacy.Statement), "for "+whom) || !strings.Contains(r.Guarantee().Line(), whom) ||
		r.Guarantee().Group != 3 {
		t.Errorf("%s\n%s", r.Privacy.Statement, r.Guarantee().Line())
	}
	next := task
	next.Clients = []Client{{2, 1e-5, 0.9, 0}, {2, 1e-5, 0.9, 0}}
	if _, err := Run(t.Context(), next, o); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "its budget is spent") {
		t.Errorf("a second task: %v", err)
	}
	for _, group := range []int{0, 2, 4} {
		other := next
		other.Spec.AtMost = group
		if _, err := Run(t.Context(), other, o); err == nil || !strings.Contains(err.Error(), "δ = 1e-05 for a person with up to 3 records]") {
			t.Errorf("a task for %d records: %v", group, err)
		}
	}
}

// Filters are only proved for single records. So tasks for persons with several stages are refused, and so
// are accounts with a filter. A limit on the number of rows is refused, too: only the first rows are used,
// so one person's rows would decide which rows of others are used.
func TestPersonsAreRefusedWhereNoFilterCoversThem(t *testing.T) {
	for want, change := range map[string]func(*Task){
		"stages = 2, must be 1 for persons":                                   func(t *Task) { t.Stages = 2 },
		`strategy = "paper", must be "tight" or "default" for persons`:        func(t *Task) { t.Strategy = Paper },
		`strategy = "paper-target", must be "tight" or "default" for persons`: func(t *Task) { t.Strategy = PaperTarget },
		"client 1: records = 50, must be 0 for persons: if a person":          func(t *Task) { t.Clients[1].Records = 50 },
		`partition = "shard", must be "replicate" for persons`:                func(t *Task) { t.Spec.Partition = string(data.Shard) },
		`split = "shuffled", must be "by-record" for persons: the records`:    func(t *Task) { t.Spec.Split = train.ShuffledSplit },
		"at most = 1001 records of a person, must be in [1, 1000]":            func(t *Task) { t.Spec.AtMost = 1001 },
	} {
		task, _ := ofPersons(t, 2)
		change(&task)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	a := Account{Clients: []int{0}, Records: 100, Epsilon: 1, Delta: 1e-5, Group: 2, Orders: []float64{8}}
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "no filter covers persons") {
		t.Error(err)
	}
	filter, err := rdp.NewFilter(a.limits())
	if err == nil {
		err = filter.Spend(t.Context(), []dp.Event{a.event(50, 10, 1, 1)})
	}
	if err == nil {
		t.Error("a filter admits rounds of persons")
	}
}
