package auto_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"proactivedp/auto"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Records of one's own are probed on drawn ones of the same kind: of 0.8 accuracy within
// ε = 2, a loop of its own ledger.
func Example() {
	dir, err := os.MkdirTemp("", "loop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := train.NewSource(synth.OneHot(rng.New(3), 4000))
	task := auto.Task{Strategy: auto.Tight, Spec: train.DefaultSpec(),
		Clients: []auto.Client{{Epsilon: 2, Accuracy: 0.7}}}
	task.Spec.Clients, task.Spec.Holdout, task.Spec.NoiseMultiplier = 1, train.UsualHoldout, 0
	task.Spec.Schedule, task.Spec.Beta = string(sim.ZeroDecay), 0
	public, err := auto.PublicOf(source, task)
	if err != nil {
		log.Fatal(err)
	}
	probe := auto.Probe{Source: train.NewSource(synth.OneHot(rng.New(4), 4000)), Spec: task.Spec, Of: "drawn records"}
	report, err := auto.Run(context.Background(), task, auto.Options{
		Dir: dir, Public: public, Utility: probe.Utility,
		Open: func(context.Context) (auto.Trainer, error) {
			return auto.NewTrainer(source, task, dir, sim.Perf{}, 0, nil), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Satisfied, report.Privacy.EpsilonUpper <= 2)
	// Output: true true
}
