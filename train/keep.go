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

// Keep says where a training run keeps checkpoints of itself, and where it goes
// on from.
type Keep struct {
	Path  string      // the file, which always holds the newest checkpoint; "": no checkpoints
	Key   []byte      // the checkpoints are written and read under it, see sim.WriteKeyedCheckpoint; nil: none
	Every int         // server updates from one checkpoint to the next, ≥ 0; 0: by time, see pause
	From  *Checkpoint // the checkpoint to go on from; nil: the run begins

	// watched, if there is one, is kept beside the state. It is what an observer
	// has made of the broadcasts so far.
	watched any
	// Aside says that the checkpoint is only for the case that the run is stopped:
	// none is written at its beginning or its end.
	Aside bool
}

// For returns k for p's run, with watched kept beside the state. If the run goes
// on from k's checkpoint, watched is set to what that kept; a checkpoint that the
// run cannot go on from is left out.
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

// Forget removes the file, if there is one, and what killed writers of it left.
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

// pause returns the time to the next checkpoint after one that took so long to
// write, for a run that was not told how often: at least half a minute, and so
// much that writing takes at most a twentieth of the time.
func pause(took time.Duration) time.Duration { return max(30*time.Second, 19*took) }

// keeper writes the checkpoints of one run.
type keeper struct {
	Keep
	run      *sim.Virtual
	identity identity
	notes    []string  // see Prepared.Notes
	average  *averager // what the run's Beside is the mean of; nil if it has no average
	before   float64   // seconds of training of the runs that this one goes on from
	begun    time.Time
	next     int         // how many updates make the next checkpoint due, if Every > 0
	due      atomic.Bool // whether the next checkpoint is due, if Every = 0
	alarm    *time.Timer // sets due
}

// Outcome is what a training leaves.
type Outcome struct {
	*sim.Result
	// Averaged is the mean of broadcasts that Spec.Average asks for, of Broadcasts of them;
	// nil: of none. It is a function of what is sent to all, and costs no privacy.
	Averaged   []float32
	Broadcasts int
}

// Model returns the model that the training is for: the averaged one, if there is one, or
// the last.
func (o *Outcome) Model() []float32 {
	if o.Averaged != nil {
		return o.Averaged
	}
	return o.Params
}

// RunKept runs the problem to its end, from a checkpoint and with checkpoints on
// the way as k says, and returns the seconds that it took with those before the
// checkpoint. A run that is stopped writes a checkpoint first. One whose last
// checkpoint cannot be written has an outcome and an error.
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

// run is RunKept where observe shows the broadcasts to a, which is nil if there is no
// average to keep.
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
			// What a process left that was killed at its very end; another user's may not be ours to remove.
			_ = errors.Join(files.SweepLock(k.Path), files.Sweep(k.Path))
		}
		return k.run.Run(ctx)
	}
	if k.Aside { // its folder is locked by whoever owns it
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
		if k.From == nil { // another process may have begun since the first look
			if err := CheckKeep(k.Path, k.Key); err != nil {
				return nil, err
			}
		}
		// That the file cannot be written is found at once, not after hours.
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
		return nil, fmt.Errorf("%w; the run stopped after %d updates, the last checkpoint is as it was", failed,
			k.run.Updates())
	case err != nil && errors.Is(err, context.Cause(ctx)):
		if failed = k.write(false); failed != nil {
			return nil, fmt.Errorf("%w; and the last checkpoint could not be written: %w", err, failed)
		}
		if k.Aside {
			return nil, err
		}
		return nil, fmt.Errorf("%w; stopped after %d updates, which are kept in %s", err, k.run.Updates(), k.Path)
	case err != nil:
		return nil, err
	}
	// No event is left: this only takes the result, which a cancellation now need not lose.
	r, err := k.run.Run(context.WithoutCancel(ctx))
	if err != nil || k.Aside {
		return r, err
	}
	return r, k.write(true)
}

// write puts the run's state into the file.
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
	write := func(w io.Writer) error { return k.run.WriteKeyedCheckpoint(w, text, k.Key) }
	if err := files.Write(k.Path, write); err != nil {
		return err
	}
	k.next = k.run.Updates() + k.Every
	k.due.Store(false)
	k.alarm.Reset(pause(time.Since(start)))
	return nil
}
