package propose

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/trainer"
)

// pretend is a script whose metric is best at one step size. It falls with the noise of a step.
func pretend(tasks *[]trainer.Task) func(context.Context, trainer.Task) (trainer.Result, error) {
	return func(_ context.Context, t trainer.Task) (trainer.Result, error) {
		*tasks = append(*tasks, t)
		if err := t.Validate(); err != nil {
			return trainer.Result{}, err
		}
		noise := t.Plan.NoiseMultiplier / float64(t.Plan.BatchSize) / math.Sqrt(float64(t.Plan.Steps))
		off := math.Log(t.LearningRate * t.MaxGradNorm / 0.02)
		metric := 0.95 - noise - 0.01*off*off + 1e-4*float64(*t.Seed%3)
		return trainer.Result{Metric: max(0, metric)}, nil
	}
}

// The search finds the step size. Every proxy is a public training with a seed. Its batch size and noise
// multiplier are the same fraction of those of the setting, and its learning rate is the same (arXiv
// 2210.03403, Section 3).
func TestForTrainer(t *testing.T) {
	var tasks []trainer.Task
	r := DefaultTrainerRequest(20_000, 3000, 1, 1e-6)
	report, err := ForTrainer(t.Context(), r, nil, pretend(&tasks))
	if err != nil {
		t.Fatal(err)
	}
	if report.Trainings != len(tasks) || len(tasks) > 60 {
		t.Errorf("%d trainings of %d are reported, must be at most 60", report.Trainings, len(tasks))
	}
	for i, p := range report.Proposals {
		if p.Rank != i+1 || p.Task.Validate() != nil || p.Task.Role != trainer.Private || len(p.Seeds) != r.Seeds {
			t.Errorf("proposal %d: %+v", i, p)
		}
		if b := p.Certified; !(b.EpsilonUpper <= 1) || b.EpsilonUpper < 0.95 || b.Delta != 1e-6 {
			t.Errorf("proposal %d: %+v", i, b)
		}
		if off := p.Task.LearningRate * p.Task.MaxGradNorm / 0.02; off < 1/2.1 || off > 2.1 {
			t.Errorf("proposal %d: the step size is %v times the best", i, off)
		}
		if !(p.Low < p.Accuracy && p.Accuracy < p.High) {
			t.Errorf("proposal %d: %+v", i, p.Prediction)
		}
	}
	for _, proxy := range tasks {
		whole := float64(proxy.Plan.BatchSize) / proxy.Scale
		if proxy.Role != trainer.Public || proxy.Plan.DatasetSize != 3000 || math.Abs(whole-math.Round(whole)) > 1e-6 ||
			proxy.Plan.BatchSize < min(leastBatch, int(math.Round(whole))) || whole > 20_000 {
			t.Errorf("proxy %+v", proxy)
		}
	}
	again, err := ForTrainer(t.Context(), r, nil, pretend(&[]trainer.Task{}))
	if err != nil || !slices.EqualFunc(again.Proposals, report.Proposals, func(a, b TrainerProposal) bool {
		return a.Task == b.Task && a.Prediction == b.Prediction
	}) {
		t.Errorf("the second search finds others: %v", err)
	}
}

// If no proxy reaches the target, the error says which value is reached. A script that fails ends the
// search. A request is checked before any script runs.
func TestForTrainerRefuses(t *testing.T) {
	var tasks []trainer.Task
	r := DefaultTrainerRequest(20_000, 3000, 1, 1e-6)
	r.Rounds, r.Target = []int{100}, 0.99
	_, err := ForTrainer(t.Context(), r, nil, pretend(&tasks))
	if inf, ok := isInfeasible(err); !ok || inf.Accuracy < 0.9 || inf.Accuracy >= 0.95 {
		t.Errorf("target 0.99: %v", err)
	}
	broken := errors.New("exit status 1")
	_, err = ForTrainer(t.Context(), r, nil, func(context.Context, trainer.Task) (trainer.Result, error) {
		return trainer.Result{}, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("a script that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ForTrainer(ctx, r, nil, pretend(&tasks)); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
	tasks = nil
	_, err = ForTrainer(t.Context(), TrainerRequest{Target: 2, Rounds: []int{0}}, nil, pretend(&tasks))
	for _, want := range []string{"n = 0", "public n = 0", "epsilon = 0", "delta", "seeds = 0", "count = 0", "target = 2", "steps = 0"} {
		if err == nil || !strings.Contains(err.Error(), want) || len(tasks) > 0 {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}
