package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// LoopRequest is the input of a [Loop]: the training, the rule by which private trainings are planned, and the
// clients with their budgets and targets.
type LoopRequest struct {
	// Train is the training, without noise multipliers: the loop finds them. It must hold out records, on which each
	// client measures whether its target accuracy is reached.
	Train    train.Spec     `json:"config"`
	Strategy string         `json:"strategy"` // how each private training is planned: the name of an auto.Strategy
	Clients  []CourseClient `json:"clients"`  // budget and target accuracy of each of the Train.Clients clients
}

// Loop is a function that runs the loop of package auto and returns the history of the run. The loop plans and runs
// private trainings until every client has its target accuracy or has spent its budget. You pass a Loop as
// [MakeOptions].Loop, because this package does not import auto. Equal requests on the same data must give equal
// courses, whatever perf (settings of speed and memory) is.
type Loop func(ctx context.Context, source *train.Source, r LoopRequest, perf sim.Perf) (Course, error)

// courseClients have budgets and targets for which some clients stop and one spends its whole budget.
var courseClients = []CourseClient{
	{Epsilon: 0.3, Accuracy: 0.85}, {Epsilon: 0.5, Accuracy: 0.89}, {Epsilon: 1, Accuracy: 0.9},
	{Epsilon: 2, Accuracy: 0.87}, {Epsilon: 3, Accuracy: 0.95},
}

// courseFigure shows the loop's stages for clients with different budgets and targets.
func (s experiment) courseFigure(suffix, strategy string) Figure {
	return figureOf(Figure{
		Name: s.Train.Data + "-course" + suffix, Data: s.Train.Data, Long: true, Fixed: true,
		Title: fmt.Sprintf("Course of the loop for clients of unequal budgets and targets, strategy %s, on %s",
			strategy, s.Train.Data),
	}, func(f *figureConfig) (cells []pool.Cell, err error) {
		for seed := range f.seeds {
			r, err := s.courseRequest(f, strategy, uint64(seed+1))
			if err != nil {
				return nil, err
			}
			c, err := f.courseCell(r)
			if err != nil {
				return nil, err
			}
			cells = append(cells, c)
		}
		return cells, nil
	}, func(_ context.Context, f *figureConfig, courses []Course) (*content, error) {
		return s.courseContent(f, strategy, courses)
	}, func(_ *figureConfig, k *storedFigure) ([]Course, error) {
		var config courseConfig
		if err := json.Unmarshal(k.config, &config); err != nil {
			return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
		}
		if len(config.Courses) != k.Seeds {
			return nil, fmt.Errorf("%s has %d courses, must have one for each of %d seeds", results.ManifestFile,
				len(config.Courses), k.Seeds)
		}
		for i := range config.Courses {
			if err := config.Courses[i].Validate(len(courseClients)); err != nil {
				return nil, fmt.Errorf("%s: %w", results.ManifestFile, err)
			}
		}
		return config.Courses, nil
	})
}

// courseConfig is the manifest's description of a course figure.
type courseConfig struct {
	Request LoopRequest `json:"request"` // without the seed
	Courses []Course    `json:"courses"` // of seeds from 1 on
}

// courseContent draws accuracy, noise and budget over the rounds of the first course.
func (s experiment) courseContent(f *figureConfig, strategy string, courses []Course) (*content, error) {
	r, err := s.courseRequest(f, strategy, 1)
	if err != nil {
		return nil, err
	}
	p := drawCourse(f.data().Name, r, courses)
	p.Banner = f.banner()
	p.Caption = fmt.Sprintf("Of %s, each record is one client's%s. %s", train.ModelTitle(r.Train.Model), f.note(), Caption(courses))
	return &content{picture: p, table: CourseTable(r.Strategy, r.Clients, courses), config: courseConfig{r, courses}}, nil
}

// courseRequest returns the figure's request. It uses the partition Shard, so that a record pays only
// for the rounds of one client.
func (s experiment) courseRequest(f *figureConfig, strategy string, seed uint64) (LoopRequest, error) {
	if f.scale != 1 {
		return LoopRequest{}, fmt.Errorf("scale = %v, must be 1: a loop plans its own rounds", f.scale)
	}
	spec := s.Train
	spec.Clients, spec.Partition, spec.Seed = len(courseClients), string(data.Shard), seed
	spec.Holdout = train.UsualHoldout
	return LoopRequest{Train: spec, Strategy: strategy, Clients: courseClients}, nil
}

// drawCourse draws accuracy, noise and budget over the rounds of the first course, without a caption.
func drawCourse(dataset string, r LoopRequest, courses []Course) plots.Picture {
	c := courses[0]
	accuracy := plots.Picture{YLabel: "held-out " + r.Train.MetricName()}
	noise := plots.Picture{YLabel: "σ while taking part"}
	budget := plots.Picture{YLabel: "part of budget spent", YMax: 1}
	var targets []plots.Line
	for i, client := range r.Clients {
		colour := plots.Palette[i%len(plots.Palette)]
		line := func(name string) plots.Line { return plots.Line{Name: name, Colour: colour, Like: i + 1} }
		reached := line(fmt.Sprintf("client %d: ε %s,\ntarget %s", i, decimal.Exactly(client.Epsilon),
			report.Number(client.Accuracy)))
		reached.Points = true
		target, spent, from := line(""), line(""), 0.0
		target.Emphasise = true
		spent.Add(0, 0, 0, 0)
		for _, s := range c.Stages {
			to := from + float64(s.Rounds)
			if sigma := s.Sigma[i]; sigma > 0 {
				part := line("")
				part.AddLevel(from, to, sigma)
				noise.Lines = append(noise.Lines, part)
			}
			reached.Add(to, s.HeldOut[i], s.HeldOut[i], s.HeldOut[i])
			spent.Add(to, s.Used[i], s.Used[i], s.Used[i])
			from = to
		}
		target.AddLevel(0, from, client.Accuracy)
		accuracy.Lines = append(accuracy.Lines, reached)
		targets = append(targets, target)
		budget.Lines = append(budget.Lines, spent)
	}
	accuracy.Lines = append(accuracy.Lines, targets...)
	accuracyAxis(&accuracy)
	accuracy.Title = fmt.Sprintf("%s: course of the proactive loop, strategy %s", dataset, r.Strategy)
	accuracy.XLabel = "rounds of all stages"
	accuracy.Below = []plots.Picture{noise, budget}
	accuracy.Rows = CourseRows(r.Clients, courses)
	return accuracy
}

// WriteCourse writes the course c to the folder dir as a figure. A course is what one run of the command auto did:
// its trainings, one after another, for the request r on the data of source. The figure is a picture, its data and a
// manifest. The command "proactivedp report" can show this figure. command is the command line that repeats the run.
// caption is the text below the picture, see [Caption]. config is stored in the manifest as the run's configuration:
// pass the report of package auto.
func WriteCourse(dir, command, caption string, r LoopRequest, c Course, source *train.Source, config any) error {
	if err := c.Validate(len(r.Clients)); err != nil {
		return err
	}
	courses := []Course{c}
	p := drawCourse(r.Train.Data, r, courses)
	p.Caption, p.Banner = caption, results.Banner(r.Train, source.Data().Synthetic)
	return results.WriteFigure(dir, p.Write, CourseTable(r.Strategy, r.Clients, courses), results.Manifest{Title: p.Title, Command: command, Config: config, Seeds: 1,
		Drawing: results.Drawing{Formats: []string{"png"}}}, []*train.Source{source}, 0)
}

// courseSpec is the key of a stored course. Kind changes when loops plan other stages, so that no older course is used.
type courseSpec struct {
	Kind    string      `json:"kind"`
	Request LoopRequest `json:"request"`
	Data    string      `json:"data_sha256"`
}

func (f *figureConfig) courseCell(r LoopRequest) (pool.Cell, error) {
	if f.loop == nil {
		return pool.Cell{}, errors.New("loop = nil, must be given: the figure shows its course")
	}
	return pool.Cell{
		Spec:    courseSpec{Kind: "course of own sizes", Request: r, Data: f.source.Hash()},
		Code:    r.Train.CodeVersion(),
		Kernels: r.Train.Kernels(),
		Cost:    func(workers int) (train.Cost, error) { return pool.CostOf(f.source, r.Train, 1, workers) },
		Run: func(ctx context.Context, perf sim.Perf, _ func(float64), _ train.Keep) (any, error) {
			c, err := f.loop(ctx, f.source, r, perf)
			if err != nil {
				return nil, err
			}
			return c, c.Validate(len(r.Clients))
		},
		Check: func(text json.RawMessage) error {
			c, err := pool.Decode[Course](text)
			if err != nil {
				return err
			}
			return c.Validate(len(r.Clients))
		},
	}, nil
}
