package pool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/sim"
	"proactivedp/train"
)

// Job is a [Cell] (a training with its evaluation) in a form that can be sent to another process. That process calls
// [Job.Do] to compute it.
type Job struct {
	Key  string          `json:"key"`  // key of the cell, see Cell.Key
	Spec json.RawMessage `json:"spec"` // Cell.Spec as JSON
	Data string          `json:"data"` // the name of its data set
	Work float64         `json:"work"` // estimated floating-point operations
	// Source is the data set, for an [Elsewhere] (which computes jobs in other processes) that must send the data to
	// them. It is not part of the JSON.
	Source *train.Source `json:"-"`
}

// Elsewhere computes jobs (trainings with their evaluations) in other processes, for [Run]. Implement it to use other
// machines, and set Options.Elsewhere.
type Elsewhere interface {
	// Compute computes all jobs and returns nil when they are finished. If one fails, it returns an error. When a job
	// is finished, it calls done(job, result), where job is its index in jobs, and stops if done returns an error.
	// While the job runs, Compute may call part(job, fraction) to report its progress, from 0 to 1. Compute makes all
	// these calls one at a time. Jobs may finish in any order.
	Compute(ctx context.Context, jobs []Job, done func(job int, result json.RawMessage) error,
		part func(job int, fraction float64)) error
}

// job returns the cell as a job, or false if it can only be computed in this process.
func (c Cell) job(key string, work float64) (Job, bool, error) {
	spec, ours := c.Spec.(cellSpec)
	if !ours || c.Alone || checkFiles(spec.training()) != nil || spec.training().Runner != train.VirtualRunner {
		return Job{}, false, nil
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return Job{}, false, fmt.Errorf("cell: %w", err)
	}
	return Job{Key: key, Spec: text, Data: spec.training().Data, Work: work, Source: c.Source}, true, nil
}

// Do computes the job in this process with workers goroutines, and returns the result as JSON, as [Run] stores it.
// The process that received the job calls it. open must return the data set of spec whose content has the SHA-256
// digest. While Do computes, it keeps a checkpoint in folder, in the file KEY.checkpoint (where KEY is j.Key), and a
// later call continues from it. It calls progress with the fraction of the work that is done.
//
// It is an error if the digest of the data differs, or if the result would differ from that of the process that made
// the job: because of another version of the code, other kernels (the arithmetic code for this processor's
// instructions), or another processor architecture.
func (j Job) Do(ctx context.Context,
	open func(ctx context.Context, spec train.Spec, digest string) (*train.Source, error), folder string, workers int,
	progress func(part float64)) (json.RawMessage, error) {
	c, err := readSpec(j.Spec)
	if err != nil {
		return nil, err
	}
	source, err := open(ctx, c.training(), c.Data)
	if err != nil {
		return nil, err
	}
	if got := source.Hash(); got != c.Data {
		return nil, fmt.Errorf("job %s: digest of the data set %s = %s, must be %s", j.Key, j.Data, got,
			c.Data)
	}
	var own Cell
	switch c.Kind {
	case "trial":
		own = OfTrial(*c.Train, source)
	case "curve":
		own = OfCurve(*c.Train, c.Points, source)
	case "timed":
		own = OfTimed(*c.Train, c.Looks, source)
	case "window":
		own = OfWindow(*c.Train, c.Rounds, source)
	case "utility":
		own = OfUtility(*c.Spec, source)
	}
	if key, err := own.Key(); err != nil || key != j.Key {
		return nil, fmt.Errorf("job %s has the key %s here (%v): the program or the kernels differ",
			j.Key, key, err)
	}
	s := store{folder}
	keep := s.keep(j.Key)
	result, err := own.Run(ctx, sim.Perf{Workers: workers}, progress, keep)
	if keep.From != nil {
		keep.From.Close() // it has been read
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Key, err)
	}
	return text, keep.Forget()
}

// away lets e compute cells in other processes, where possible, and returns the numbers of the cells that
// remain for this process.
func (b *batch) away(ctx context.Context, e Elsewhere, numbers []int) (left []int, err error) {
	var jobs []Job
	var of []int
	for _, i := range numbers {
		job, may, err := b.cells[i].job(b.keys[i], b.costs[i].Work)
		switch {
		case err != nil:
			return nil, err
		case may:
			jobs, of = append(jobs, job), append(of, i)
		default:
			left = append(left, i)
		}
	}
	shown := make([]int64, len(jobs))
	part := func(job int, part float64) {
		done := int64(part * jobs[job].Work)
		b.bar.Add(done - shown[job])
		shown[job] = done
	}
	return left, e.Compute(ctx, jobs, func(job int, result json.RawMessage) error {
		i := of[job]
		if err := b.cells[i].Check(result); err != nil {
			return fmt.Errorf("job %s: %w", b.keys[i], err)
		}
		text, err := b.store.save(b.keys[i], json.RawMessage(bytes.Clone(result)), quick)
		if err != nil {
			return err
		}
		b.results[i] = text
		b.done++
		b.bar.Describe(b.described())
		part(job, 1)
		return nil
	}, part)
}
