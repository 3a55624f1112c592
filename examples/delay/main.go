// Delay compares a custom permissible delay with the library's: how soon does a private training
// reach an accuracy if machines pause now and then? Given the name of a file, such as curves.png, it
// draws the curves.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

func main() {
	figure := ""
	if len(os.Args) > 1 {
		figure = os.Args[1]
	}
	if err := run(context.Background(), os.Stdout, figure); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, figure string) error {
	const clients, target = 8, 0.85
	root := rng.New(1)
	train, test, err := data.Split(synth.Phishing(root), root)
	if err != nil {
		return err
	}
	parts, err := data.Shard.Deal(train, clients, root)
	if err != nil {
		return err
	}
	model, err := logreg.NewPlain(train.Data.Features)
	if err != nil {
		return err
	}
	paused := pauses{Usual: time.Millisecond, Pause: 10 * time.Millisecond, P: 0.1}
	machine := clock.Duration{Kind: clock.Own, Own: paused}
	message := clock.Duration{Kind: clock.Exponential, Mean: 5 * time.Millisecond}

	fmt.Fprintf(w, "%d clients, data drawn as a stand-in for phishing\n", clients)
	var names []string
	var curves []*curve
	for _, delay := range []sim.Delay{sim.AtMost(0), blocks(5), sim.AtMost(5), sim.Unlimited{}} {
		cfg := &sim.Config{
			Model: model, Rows: parts, Partition: data.Shard,
			Mechanism: dp.Mechanism{
				Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.5, NoiseMultiplier: 4,
				DatasetSize: parts[0].Len(), Sizes: dp.ConstantSizes(20),
			},
			GradComps: 4 * parts[0].Len(),
			Delay:     delay,
			Steps:     sim.StepSize{Eta0: 0.01, Decay: sim.NoDecay},
			Roots:     sim.SharedRoots(root, clients),
			Timing:    clock.Timing{Compute: machine, Uplink: message, Downlink: message},
		}
		c := newCurve(model, test)
		training, err := sim.NewVirtual(cfg, sim.Perf{}, c.observe)
		if err != nil {
			return err
		}
		result, err := training.Run(ctx)
		if err != nil {
			return err
		}
		seconds, ok := c.reaches(target)
		if !ok {
			return fmt.Errorf("%v: %g was never reached", delay, target)
		}
		fmt.Fprintf(w, "%-11v  %.0f %% after %.1f s, all after %4.1f s, %.1f rounds ahead on average, %d at most\n",
			delay, 100*target, seconds, float64(result.Clock)/1e9, result.Staleness.Mean(), result.MaxLag)
		names, curves = append(names, delay.String()), append(curves, c)
	}
	if figure == "" {
		return nil
	}
	return draw(figure, names, curves)
}
