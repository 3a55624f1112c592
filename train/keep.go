package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"proactivedp/internal/files"
	"proactivedp/models"
	"proactivedp/sim"
)

// Keep says where and how often a training writes checkpoints (files with its state), and from which checkpoint it
// continues. Pass it to [Prepared.TrainKept] or [Prepared.RunKept]. The zero value means no checkpoints.
type Keep struct {
	Path string // the file of the newest checkpoint; "" means no checkpoints
	Key  []byte // secret key that protects checkpoints from forgery, see sim.WriteCheckpoint; nil means none
	// Every is the number of updates of the server from one checkpoint to the next, ≥ 0. 0 means that the time
	// decides: a checkpoint is written at most every half a minute, and less often if writing takes long.
	Every int
	From  *Checkpoint // the checkpoint to continue from; nil if the run starts from the beginning

	// watched, unless it is nil, is saved together with the state. It is what an observer has
	// computed from the broadcasts so far.
	watched any
	// Aside says that the checkpoint is a temporary file in a folder that only the caller uses, needed only to
	// continue a run that was stopped. Then no checkpoint is written at the beginning or the end of the run, the file
	// is not locked, and an unfinished run in it may be overwritten.
	Aside bool
}

// For returns a copy of k that fits the run p. Call it if k.From may be the checkpoint of another run, for example in
// a folder with stored results. If k.From is not of this run, the copy's From is nil, so that the run starts from the
// beginning. If runs of p's spec cannot write checkpoints (see [Spec.CanKeep]), For returns a zero Keep.
//
// watched is a pointer to the data that the caller's function observe (an argument of [Prepared.RunKept]) collects
// during the run, such as accuracies, or nil if it collects none. Each checkpoint saves *watched as JSON. If the copy's
// From is not nil, For sets *watched to the value that this checkpoint saved, so that observe can go on collecting.
func (k Keep) For(p *Prepared, watched any) Keep {
	if p.Spec.CanKeep() != nil {
		return Keep{}
	}
	k.watched = watched
	if from := k.From; from != nil && (p.identity().goesOn(from.identity) != nil ||
		watched != nil && json.Unmarshal(from.Watched, watched) != nil) {
		k.From = nil
	}
	return k
}

// Forget removes the checkpoint file k.Path, if there is one. Call it when the result of the run has been stored, so
// that nobody needs the checkpoint any more. Forget also removes temporary files that a killed process left next to
// it.
func (k Keep) Forget() error {
	if k.Path == "" {
		return nil
	}
	err := os.Remove(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, files.Sweep(k.Path))
}

// pause returns the time until the next checkpoint if Every is 0. took is how long the last one took
// to write. The time is at least half a minute, and writing takes at most a twentieth of it.
func pause(took time.Duration) time.Duration { return max(30*time.Second, 19*took) }

// keeper writes the checkpoints of one run.
type keeper struct {
	Keep
	run      *sim.Virtual
	identity identity
	notes    []string  // see Prepared.Notes
	average  *averager // the average whose mean is in the run's Beside; nil if there is none
	before   float64   // seconds of training before the checkpoint
	begun    time.Time
	next     int         // number of updates at which the next checkpoint is due, if Every > 0
	due      atomic.Bool // whether the next checkpoint is due, if Every = 0
	alarm    *time.Timer // sets due
}

// Outcome is the result of [Prepared.RunKept]: the result of package sim and, if Spec.Average asks for one, the
// averaged model.
type Outcome struct {
	*sim.Result
	// Averaged is the mean of several global models of the run, by the rule Spec.Average, or nil if the spec has no
	// such rule. Broadcasts is the number of global models in the mean. All these models are sent to all clients
	// anyway and are part of the release, so their mean costs no privacy.
	Averaged   []float32
	Broadcasts int
}

// Model returns the parameters of the model to use or save: the averaged model if Spec.Average asks for one, and
// otherwise the last global model.
func (o *Outcome) Model() []float32 {
	if o.Averaged != nil {
		return o.Averaged
	}
	return o.Params
}

// RunKept runs the training to its end, and continues from a checkpoint and writes checkpoints as k says. Use
// [Prepared.TrainKept] to get a report as well. RunKept calls observe, unless it is nil, with each global model that
// the server broadcasts. perf has the settings for the speed, which do not change the result. The float64 result is
// the time of the training in seconds, including the time before the checkpoint.
//
// If ctx is cancelled, RunKept writes a checkpoint before it returns the error. If the run is finished and only its
// last checkpoint cannot be written, it returns both an outcome and an error.
func (p *Prepared) RunKept(ctx context.Context, perf sim.Perf, observe sim.Observer,
	k Keep) (*Outcome, float64, error) {
	if err := p.made(); err != nil {
		return nil, 0, err
	}
	a, err := p.newAverager()
	if err != nil {
		return nil, 0, err
	}
	if a != nil {
		observe = a.observe(observe)
	}
	r, seconds, err := p.run(ctx, perf, observe, k, a)
	if r == nil {
		return nil, seconds, err
	}
	o := &Outcome{Result: r}
	if a != nil {
		o.Averaged, o.Broadcasts = a.params(), a.count
		if diverged := models.CheckFinite(o.Averaged); diverged != nil {
			return nil, seconds, fmt.Errorf("averaged model: %w", diverged)
		}
	}
	return o, seconds, err
}

// run does the work of RunKept. a is the averager that observe already calls, or nil if there is no
// average; its mean is part of the checkpoints.
func (p *Prepared) run(ctx context.Context, perf sim.Perf, observe sim.Observer, k Keep,
	a *averager) (*sim.Result, float64, error) {
	if k.Path == "" && k.From == nil {
		run, err := p.ready(perf, observe)
		if err != nil {
			return nil, 0, err
		}
		begun := time.Now()
		r, err := run(ctx)
		return r, time.Since(begun).Seconds(), err
	}
	if err := p.Spec.CanKeep(); err != nil {
		return nil, 0, err
	}
	if k.Every < 0 {
		return nil, 0, fmt.Errorf("updates from one checkpoint to the next = %d, must be at least 0", k.Every)
	}
	v, err := sim.NewVirtual(p.Config, perf, observe)
	if err != nil {
		return nil, 0, err
	}
	keep := &keeper{Keep: k, run: v, identity: p.identity(), notes: p.Notes, average: a}
	if a != nil {
		v.Beside = a.mean
	}
	if from := k.From; from != nil {
		if err := from.restore(p, v); err != nil {
			return nil, 0, err
		}
		if err := from.restoreAverage(p, a); err != nil {
			return nil, 0, err
		}
		keep.before = from.Seconds
	}
	p.record(v)
	keep.begun = time.Now()
	r, err := keep.train(ctx)
	return r, keep.seconds(), err
}

func (k *keeper) seconds() float64 { return k.before + time.Since(k.begun).Seconds() }

func (k *keeper) train(ctx context.Context) (*sim.Result, error) {
	if k.Path == "" || k.From != nil && k.From.Finished {
		if k.Path != "" && !k.Aside {
			// Remove what a process left that was killed at its very end. Files of another user may
			// not be removable.
			_ = errors.Join(files.SweepLock(k.Path), files.Sweep(k.Path))
		}
		return k.run.Run(ctx)
	}
	if k.Aside { // the owner of the folder has locked it
		return k.trainLocked(ctx)
	}
	lock, err := files.LockFile(k.Path)
	if err != nil {
		return nil, err
	}
	r, err := k.trainLocked(ctx)
	return r, errors.Join(err, lock.Release())
}

func (k *keeper) trainLocked(ctx context.Context) (*sim.Result, error) {
	k.alarm = time.AfterFunc(pause(0), func() { k.due.Store(true) })
	defer k.alarm.Stop()
	if !k.Aside {
		if err := files.Sweep(k.Path); err != nil {
			return nil, err
		}
		if k.From == nil { // another process may have begun since the first check
			if err := CheckKeep(k.Path, k.Key); err != nil {
				return nil, err
			}
		}
		// If the file cannot be written, fail now and not after hours.
		if err := k.write(false); err != nil {
			return nil, err
		}
	}
	var failed error
	_, err := k.run.RunUntil(ctx, func() bool {
		if k.Every == 0 && k.due.Load() || k.Every > 0 && k.run.Updates() >= k.next {
			failed = k.write(false)
		}
		return failed != nil
	})
	switch {
	case failed != nil:
		return nil, fmt.Errorf("%w; the run stopped after %d updates, the last checkpoint is unchanged", failed,
			k.run.Updates())
	case err != nil && errors.Is(err, context.Cause(ctx)):
		if failed = k.write(false); failed != nil {
			return nil, fmt.Errorf("%w; and the last checkpoint could not be written: %w", err, failed)
		}
		if k.Aside {
			return nil, err
		}
		return nil, fmt.Errorf("%w; stopped after %d updates, which are saved in %s", err, k.run.Updates(), k.Path)
	case err != nil:
		return nil, err
	}
	// No event is left: this only fetches the result, so a cancellation now need not lose it.
	r, err := k.run.Run(context.WithoutCancel(ctx))
	if err != nil || k.Aside {
		return r, err
	}
	return r, k.write(true)
}

// write writes the run's state to the file.
func (k *keeper) write(finished bool) error {
	h := header{
		Released: releasedHash(k.run), identity: k.identity, Updates: k.run.Updates(), Finished: finished,
		Seconds: k.seconds(), Notes: k.notes,
	}
	if k.average != nil {
		h.Averaged = k.average.count
	}
	var err error
	if k.watched != nil {
		if h.Watched, err = json.Marshal(k.watched); err != nil {
			return err
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	start := time.Now()
	write := func(w io.Writer) error { return k.run.WriteCheckpoint(w, text, k.Key) }
	if err := files.Write(k.Path, write); err != nil {
		return err
	}
	k.next = k.run.Updates() + k.Every
	k.due.Store(false)
	k.alarm.Reset(pause(time.Since(start)))
	return nil
}
