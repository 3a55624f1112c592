package auto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"proactivedp/data"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// PublicOf returns the facts about the data of a task that [Run] treats as public: for each client, the numbers of
// training records and of held-out records, and the shape of a record. It is an error if a client of the task asks
// for more records than its part of the data has.
func PublicOf(source *train.Source, t Task) (Public, error) {
	if len(t.Clients) != t.Spec.Clients {
		return Public{}, fmt.Errorf("budgets of %d clients, must be of all %d", len(t.Clients), t.Spec.Clients)
	}
	d := source.Data()
	rows, held, err := judges(source, t.Spec, true)
	if err != nil {
		return Public{}, err
	}
	p := Public{Data: source.Hash(), Records: rows[0].Len(), Features: d.Features, Classes: d.Classes}
	if d.Targets != nil {
		p.Targets = &d.Targets.Bounds
	}
	for i, c := range t.Clients {
		if c.Records > p.Records {
			return Public{}, fmt.Errorf("client %d: records = %d, must be at most the %d that it is dealt", i,
				c.Records, p.Records)
		}
		p.HeldOut = append(p.HeldOut, held[i].Len())
	}
	return p, nil
}

// judges returns the rows that each client trains on, and the rows that judge it. The latter are the
// held-out training rows or the test rows, dealt like the training rows.
func judges(source *train.Source, s train.Spec, heldOut bool) (rows, by []data.Subset, err error) {
	if !heldOut {
		s.Holdout = 0
	}
	p, err := source.Prepare(s)
	if err != nil {
		return nil, nil, err
	}
	if by, err = p.Config.Partition.Deal(p.Test, s.Clients, rng.New(s.Seed)); err != nil {
		return nil, nil, fmt.Errorf("records to judge by: %w", err)
	}
	return p.Config.Rows, by, nil
}

// NewTrainer returns a [Trainer] that trains and measures the task on the data of source. It keeps a checkpoint of
// the stage under way in dir, from which an interrupted stage continues, unless dir is "". perf sets the number of
// processors. memory is a limit in bytes: a stage that needs more is an error. 0 means the limit of the process. If
// progress is not nil, the progress of long stages is written to it.
func NewTrainer(source *train.Source, t Task, dir string, perf sim.Perf, memory int64, progress io.Writer) Trainer {
	return &trainer{source: source, task: t, dir: dir, perf: perf, memory: memory, progress: progress}
}

type trainer struct {
	source   *train.Source
	dir      string
	perf     sim.Perf
	memory   int64
	progress io.Writer
	task     Task
}

// checkpointFile is the name of the checkpoint of the stage under way.
const checkpointFile = "stage.checkpoint"

func (t *trainer) Train(ctx context.Context, s Stage, initial []float32) ([]float32, error) {
	task := t.task
	stage := train.Stage{Initial: initial, Participants: s.Participants}
	var err error
	if s.Root != "" {
		if stage.Root, err = readSecret(t.dir, s.Root); err != nil {
			return nil, err
		}
	}
	p, err := t.source.PrepareStage(s.Spec(task), stage)
	if err != nil {
		return nil, err
	}
	if err := p.Fits(t.perf, t.memory); err != nil {
		return nil, err
	}
	keep := t.keep()
	if keep.From != nil {
		defer keep.From.Close()
	}
	var observe sim.Observer
	show, finish := report.LongBar(t.progress, "training", p.Work())
	if show != nil {
		observe = p.Progress(show)
	}
	r, _, err := p.RunKept(ctx, t.perf, observe, keep.For(p, nil))
	finish()
	if err != nil {
		return nil, err
	}
	public, err := PublicOf(t.source, task)
	if err != nil {
		return nil, err
	}
	if err := s.check(accountsOf(task, public), task.Spec.Seed, r.Result); err != nil {
		return nil, err
	}
	return r.Model(), keep.Forget()
}

// keep returns where the stage's checkpoint is kept, and the checkpoint to continue from.
func (t *trainer) keep() train.Keep {
	if t.dir == "" {
		return train.Keep{}
	}
	keep := train.Keep{Path: filepath.Join(t.dir, checkpointFile), Aside: true}
	// A checkpoint that is damaged or belongs to another stage is ignored. Without it, the stage gives
	// the same bits.
	from, err := train.OpenCheckpoint(keep.Path, nil)
	if err == nil {
		keep.From = from
	} else if !errors.Is(err, fs.ErrNotExist) && t.progress != nil {
		fmt.Fprintf(t.progress, "the stage starts from its beginning: %v\n", err)
	}
	return keep
}

func (t *trainer) HeldOut(params []float32) ([]Tested, error) { return t.judge(true, params) }

func (t *trainer) Test(params []float32) ([]Tested, error) { return t.judge(false, params) }

// judge judges the model by each client's records of one kind. It does so only once if all clients have
// the same records.
func (t *trainer) judge(heldOut bool, params []float32) ([]Tested, error) {
	p, err := t.source.Prepare(t.task.Spec)
	if err != nil {
		return nil, err
	}
	_, by, err := judges(t.source, t.task.Spec, heldOut)
	if err != nil {
		return nil, err
	}
	all := make([]Tested, len(by))
	for i, own := range by {
		if i > 0 && p.Config.Partition == data.Replicate {
			all[i] = all[0]
			continue
		}
		all[i] = Tested{TestAccuracy: p.JudgeOn(own)(params), JudgedRows: train.RowsOf(own), MajorityShare: p.Baseline(own)}
		metric := p.Spec.MetricOf()
		if !p.Spec.IsAccuracy() {
			all[i].MetricRows = metric.Rows(own.ClassCounts())
		}
		switch m := p.Config.Model; {
		case metric.Regression():
			predictions := models.Predictions(m.(models.Scorer), params, own.All(), m.NewScratch()) // see models.Metric.Check
			all[i].Margin, all[i].Chance = metric.SamplingErrors(predictions, own.All())
		case !p.Spec.IsAccuracy():
			all[i].Chance = metric.Chance(own)
		}
	}
	return all, nil
}
