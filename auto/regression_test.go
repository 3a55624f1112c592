package auto

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// ofNumbers is a task on a drawn table with real targets in [0, 800000]. Its first trained rows are for training.
func ofNumbers(t *testing.T, trained, rows, features int, noise float64, metric string, epsilon, target float64, seed uint64) (Task, *train.Source, Options) {
	t.Helper()
	d, err := synth.Numbers(rng.New(uint64(rows)), "numbers", synth.TableShape{Rows: rows, Features: features, Noise: noise},
		data.TargetBounds{Low: 0, High: 800_000})
	if err != nil {
		t.Fatal(err)
	}
	d.Train = trained
	spec := train.DefaultSpec()
	spec.Data, spec.Model, spec.Clients, spec.Metric, spec.Holdout, spec.Seed = d.Name, train.Linear, 1, metric, train.DefaultHoldout(trained, epsilon), seed
	task := NewTask(Tight.Schedule(spec), Tight, []Client{{Epsilon: epsilon, Delta: 1e-5, Accuracy: target}})
	source := train.NewSource(d)
	public, err := PublicOf(source, task)
	if err != nil {
		t.Fatal(err)
	}
	return task, source, Options{Public: public, Utility: UsualSteps(source), Open: func(context.Context) (Trainer, error) {
		return NewTrainer(source, task, "", sim.Perf{}, 0, nil), nil
	}}
}

// A task of numbers is satisfied by models that reach the target and beat the mean (or the median) by more than the
// sampling error. A larger R² is better, and a smaller error. A budget that allows no learning satisfies no target,
// however low: a target that the mean reaches shows nothing.
func TestRegressionTasks(t *testing.T) {
	for _, c := range []struct {
		metric          string
		epsilon, target float64
		short           string // a part of why it is not satisfied
	}{
		{"r2", 2, 0.6, ""},
		{"rmse", 2, 100_000, ""},
		{"mae", 2, 80_000, ""},
		{"r2", 2, 0.95, "is below the target 0.95"},
		{"rmse", 2, 40_000, "is above the target 40000"},
		{"mae", 2, 30_000, "is above the target 30000"},
		{"r2", 0.001, 0.0001, "does not exceed the baseline 0.0000 by more than the sampling error"},
		{"rmse", 0.001, 800_000, "does not fall below the baseline"},
		{"mae", 0.001, 800_000, "does not fall below the baseline"},
	} {
		task, _, o := ofNumbers(t, 1000, 2000, 4, 0.1, c.metric, c.epsilon, c.target, 1)
		r, err := Run(t.Context(), task, o)
		if err != nil {
			t.Fatal(err)
		}
		metric, client := task.Spec.MetricOf(), r.Clients[0]
		if r.Satisfied != (c.short == "") || !strings.Contains(client.Short, c.short) {
			t.Errorf("%s, target %v: satisfied %v, %q", c.metric, c.target, r.Satisfied, client.Short)
		}
		if r.Satisfied && metric.Exceeds(c.target, client.HeldOut, 0) || !(client.Margin > 0 && client.Chance > 0) {
			t.Errorf("%s: target %v, held-out %v, margin %v, chance %v", c.metric, c.target, client.HeldOut, client.Margin, client.Chance)
		}
		if b := r.Privacy.EpsilonUpper; b > c.epsilon {
			t.Errorf("ε = %v, must be at most %v", b, c.epsilon)
		}
		if text := new(strings.Builder); r.WriteText(text) != nil || !strings.Contains(text.String(), "metric          "+c.metric) ||
			strings.Contains(text.String(), "baseline is 1") {
			t.Errorf("text\n%s", text)
		}
	}
}

// The journal keeps errors in the unit of the targets: the same command finds its task ended, and reports the same.
func TestRegressionJournal(t *testing.T) {
	task, source, o := ofNumbers(t, 800, 1000, 3, 0.1, "rmse", 2, 110_000, 1)
	o.Dir = t.TempDir()
	o.Open = func(context.Context) (Trainer, error) {
		return NewTrainer(source, task, o.Dir, sim.Perf{}, 0, nil), nil
	}
	first, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), task, o)
	if err != nil || !reflect.DeepEqual(again.Clients, first.Clients) || !again.Satisfied || again.Clients[0].HeldOut < 1000 {
		t.Errorf("%+v, %v; want %+v", again.Clients, err, first.Clients)
	}
}

// What looks at the task's own targets without an account is refused, and so are targets that no value of the metric
// has. A probe of drawn numbers only suggests steps.
func TestRegressionRefusals(t *testing.T) {
	task, source, o := ofNumbers(t, 800, 1000, 3, 0.1, "mae", 2, 100_000, 1)
	own := o
	own.Utility = NewProbe(source, task).Utility
	if _, err := Run(t.Context(), task, own); err == nil || !strings.Contains(err.Error(), "must be of other data for model = \"linear\"") {
		t.Errorf("a probe of the task's own records: %v", err)
	}
	d, err := synth.Numbers(rng.New(9), "drawn", synth.TableShape{Rows: 400, Features: 3, Noise: 0.3}, source.Data().Targets.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	o.Utility = NewProbeOn(d, task).Utility
	r, err := Run(t.Context(), task, o)
	if err != nil || !r.Satisfied || r.Outlook.Same {
		t.Errorf("a probe of drawn numbers: %v", err)
	}
	for _, p := range r.Outlook.Points {
		if !(p.Accuracy > 0.8 && p.Accuracy < 1) { // 1 minus the error as a part of the range
			t.Errorf("point %+v", p)
		}
	}
	for name, change := range map[string]func(*Task){
		"strategy = \"paper\", must be \"tight\" for model = \"linear\"": func(t *Task) { t.Strategy = Paper },
		"strategy = \"default\", must be \"tight\"":                      func(t *Task) { t.Strategy = Default },
		"target accuracy = -1, must be above 0":                          func(t *Task) { t.Clients[0].Accuracy = -1 },
		"target accuracy = 2, must be in (0, 1]":                         func(t *Task) { t.Spec.Metric, t.Clients[0].Accuracy = "r2", 2 },
		"metric = auc is for classes":                                    func(t *Task) { t.Spec.Metric = "auc" },
	} {
		bad := task
		bad.Clients = slices.Clone(task.Clients)
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}
