package training

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/claim"
	"proactivedp/experiments"
	"proactivedp/internal/message"
	"proactivedp/sim"
	"proactivedp/train"
)

// runLoop runs the loop of a figure. Its utility graph is measured on synthetic records. It is a
// simulation from a numbered seed, and its ledgers are not kept.
func runLoop(ctx context.Context, source *train.Source, r experiments.LoopRequest, perf sim.Perf) (
	c experiments.Course, err error,
) {
	var wishes []auto.Client
	for _, w := range r.Clients {
		wishes = append(wishes, auto.Client{Epsilon: w.Epsilon, Accuracy: w.Accuracy})
	}
	strategy := auto.Strategy(r.Strategy)
	task := auto.NewTask(strategy.Schedule(r.Train), strategy, wishes)
	if strategy == auto.Tight {
		task.Stages = 3 // with a single stage the picture would show nothing
	}
	public, err := auto.PublicOf(source, task)
	if err != nil {
		return c, err
	}
	drawn, err := cli.Draw(ctx, likest(source.Data()))
	if err != nil {
		return c, err
	}
	probe := auto.NewProbeOn(drawn, task)
	probe.Graph, probe.Trials.Workers = graphFor(r.Train, len(wishes)), perf.Workers
	report, err := auto.Run(ctx, task, auto.Options{
		Public: public, Utility: probe.Utility,
		Open: func(context.Context) (auto.Trainer, error) {
			return auto.NewTrainer(source, task, "", perf, 0, nil), nil
		},
	})
	if err != nil {
		return c, err
	}
	return courseOf(report), nil
}

// courseFolder is the folder below --dir with the course of the last task.
const courseFolder = "course"

// writeCourse writes the course of a loop to a folder below the loop's folder.
func writeCourse(cmd *cobra.Command, dir string, source *train.Source, r *auto.Report) error {
	request := experiments.LoopRequest{Train: r.Config.Spec, Strategy: string(r.Strategy)}
	for _, c := range r.Clients {
		request.Clients = append(request.Clients, experiments.CourseClient{Epsilon: c.Epsilon, Accuracy: c.Accuracy})
	}
	command := "proactivedp auto"
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "json" && f.Name != "statement" {
			command += " --" + f.Name + "=" + message.Word(f.Value.String())
		}
	})
	caption := fmt.Sprintf("Points: the ends of stages, at which each client judges the model by its own held-out records, "+
		"which are not protected; lines without points: targets. Utility graph: of %s.\n%s", r.Outlook.Of, r.Guarantee().Line())
	return experiments.WriteCourse(filepath.Join(dir, courseFolder), command, caption, request, courseOf(r), source, struct {
		Task      auto.Task    `json:"task"`
		Satisfied bool         `json:"satisfied"`
		Privacy   claim.Report `json:"privacy"`
	}{r.Config, r.Satisfied, r.Guarantee()})
}

func courseOf(r *auto.Report) experiments.Course {
	p := r.Privacy
	c := experiments.Course{Probe: r.Outlook.Of, Accountant: p.Accountant, Adjacency: p.Adjacency, Sampling: p.Sampling}
	for i, client := range r.Clients {
		account := p.Accounts[slices.IndexFunc(p.Accounts, func(a auto.AccountReport) bool { return slices.Contains(a.Clients, i) })]
		c.Clients = append(c.Clients, experiments.CourseEnd{
			EpsilonUpper: account.EpsilonUpper, Delta: account.Delta,
			Satisfied: client.Satisfied, TestAccuracy: client.TestAccuracy, Refused: client.Refused,
		})
	}
	for _, s := range r.Stages {
		sigma, sizes := make([]float64, len(r.Clients)), make([]int, len(r.Clients))
		own := false
		for _, part := range s.Participants {
			sigma[part.Client] = part.NoiseMultiplier
			sizes[part.Client], _ = s.RunOf(part)
			own = own || part.SampleSize > 0
		}
		if !own {
			sizes = nil
		}
		c.Stages = append(c.Stages, experiments.CourseStage{SampleSize: s.SampleSize, Rounds: s.Rounds, Sizes: sizes, Clip: s.Clip,
			Eta0: s.Eta0, Sigma: sigma, HeldOut: s.HeldOut, Used: s.Used})
	}
	return c
}
