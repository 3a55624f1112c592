package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/models"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Maker is a function that computes a job from its spec and returns the result as JSON: see WorkOptions.Other.
type Maker func(ctx context.Context, spec json.RawMessage) (json.RawMessage, error)

// WorkOptions says at which broker a worker serves, how many cells it computes at a time, and how it
// loads data sets.
type WorkOptions struct {
	URL     string // the broker
	Creds   *broker.Credentials
	Name    string // its name for others; must differ from other workers' names
	Workers int    // cells at the same time, at least 1
	Dir     string // folder for checkpoints of cells under way
	// Load returns a data set for a training by its name. If Load returns none, or one with another
	// digest, the worker asks the process that hands out the cell. Data sets are loaded once and kept.
	Load func(context.Context, train.Spec) (*train.Source, error)
	// Other has functions for jobs that are not cells of experiments, by the kind in their spec.
	Other map[string]Maker
	Log   *slog.Logger // nil logs nothing
}

// Work computes cells until ctx is cancelled. It waits for a broker and a queue that are not up yet. When ctx is
// cancelled, it gives back the cells under way and returns context.Cause(ctx). It returns another error if the
// options are not valid or the broker refuses the worker.
func Work(ctx context.Context, o WorkOptions) error {
	if o.Workers < 1 || o.Name == "" || o.Dir == "" {
		return fmt.Errorf("worker name = %q, cells at a time = %d, dir = %q: must be a name, at least 1, and a folder",
			o.Name, o.Workers, o.Dir)
	}
	if err := o.Creds.Check(broker.Worker); err != nil {
		return err
	}
	w := &worker{WorkOptions: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		sources: sources{by: map[string]*train.Source{}}}
	var err error
	if w.conn, err = broker.Dial(ctx, o.URL, broker.Peer{Name: "proactivedp worker " + o.Name, Creds: o.Creds,
		Inbox: workerInbox, Unreachable: broker.LogUnreachable(w.log)}); err != nil {
		return err
	}
	defer w.conn.Close()
	if err = broker.CheckConn(w.conn, maxMessage); err != nil {
		return err
	}
	if w.js, err = jetstream.New(w.conn); err != nil {
		return err
	}
	w.log.Info("working", "worker", o.Name, "class", class(), "cells", o.Workers)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range o.Workers {
		all.Go(func() { w.work(ctx, cancel) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// worker is a process that computes cells.
type worker struct {
	WorkOptions
	log  *slog.Logger
	conn *nats.Conn
	js   jetstream.JetStream

	sources sources
}

// work computes one cell after the other. If the broker cannot be used any more, it cancels the
// context with the reason.
func (w *worker) work(ctx context.Context, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if err := broker.CheckConn(w.conn, maxMessage); err != nil {
			cancel(err)
			return
		}
		consumer, err := w.consumer(ctx)
		if err != nil {
			w.say(note{})
			sleep(ctx, time.Second/2)
			continue
		}
		for ctx.Err() == nil {
			m, err := consumer.Next(jetstream.FetchMaxWait(time.Second))
			if err == nil {
				w.cell(ctx, m)
				continue
			}
			w.say(note{})
			if !errors.Is(err, nats.ErrTimeout) {
				sleep(ctx, time.Second/2)
				break // the queue may have been replaced
			}
		}
	}
}

func (w *worker) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.js.Consumer(ctx, cellStream, class())
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (w *worker) say(n note) {
	n.Worker, n.Class = w.Name, class()
	if text, err := json.Marshal(n); err == nil {
		_ = w.conn.Publish(noteSubject, text) // it will be sent again
	}
}

func (w *worker) cell(working context.Context, m jetstream.Msg) {
	var job pool.Job
	err := strictjson.DecodeWhole(m.Data(), &job, len(m.Data()))
	if err == nil && filepath.Base(job.Key) != job.Key { // its checkpoint would be outside the worker's folder
		err = fmt.Errorf("key = %q, must be the name of a file", job.Key)
	}
	if err != nil {
		w.log.Error("a cell that cannot be read", "error", err)
		_ = m.Term()
		return
	}
	w.log.Info("a cell", "key", job.Key, "data", job.Data)
	ctx, cancel := context.WithCancel(working)
	defer cancel()
	h := &hand{worker: w, job: job, m: m, file: filepath.Join(w.Dir, job.Key+".checkpoint")}
	var helpers sync.WaitGroup
	helpers.Go(func() { h.beat(ctx) }) // fetching a checkpoint may take longer than a worker may be silent
	h.fetch(ctx)
	helpers.Go(func() { h.keep(ctx) })
	result, err := h.compute(ctx)
	if err == nil {
		err = w.deliver(ctx, job.Key, result)
	}
	cancel()
	helpers.Wait()
	switch {
	case err == nil:
		_ = m.Ack() // if this is lost, the next worker finds the result
		h.forget()
		w.say(note{Key: job.Key, Part: 1})
	case errors.Is(err, context.Canceled):
		_ = m.Nak()
	default:
		w.log.Error("a cell failed", "key", job.Key, "error", err)
		w.say(note{Key: job.Key, Error: message.OneLine(err),
			Fatal: errors.Is(err, ErrDifferent) || errors.Is(err, models.ErrDiverged)})
		_ = m.NakWithDelay(time.Second / 4) // delayed, so that another worker takes it
		sleep(working, repair)
	}
	_ = w.conn.FlushTimeout(patience)
}

// ErrDifferent is the error, usually wrapped, if two workers computed different bytes for the same cell. One of the
// machines is then wrong.
var ErrDifferent = errors.New("two machines have different results for the same cell")

// deliver creates a result, or compares it with the existing one. It tries until the context ends.
func (w *worker) deliver(ctx context.Context, key string, result []byte) error {
	if len(result) > maxResult {
		return fmt.Errorf("result has %d bytes, must have at most %d", len(result), maxResult)
	}
	for {
		err := w.create(ctx, key, result)
		if err == nil || errors.Is(err, ErrDifferent) {
			return err
		}
		w.log.Warn("a result was not taken", "key", key, "error", err)
		sleep(ctx, time.Second/2)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (w *worker) create(ctx context.Context, key string, result []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := w.js.KeyValue(ctx, resultBucket)
	if err != nil {
		return err
	}
	_, err = results.Create(ctx, key, result)
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	there, err := results.Get(ctx, key)
	if err != nil {
		return err
	}
	if !bytes.Equal(there.Value(), result) {
		return fmt.Errorf("%w: %s: one of the machines, or its program, is wrong", ErrDifferent, key)
	}
	return nil
}

// hand has the state of a worker's computation of one cell.
type hand struct {
	*worker
	job   pool.Job
	m     jetstream.Msg
	file  string // the cell's checkpoint
	saved time.Time

	mu   sync.Mutex
	part float64
}

func (h *hand) compute(ctx context.Context) (json.RawMessage, error) {
	var spec struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(h.job.Spec, &spec); err != nil {
		return nil, fmt.Errorf("job %s: %w", h.job.Key, err)
	}
	if other := h.Other[spec.Kind]; other != nil {
		return other(ctx, h.job.Spec)
	}
	return h.job.Do(ctx, h.source, h.Dir, 1, h.progress)
}

func (h *hand) progress(part float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.part = part
}

// beat informs the queue regularly that the worker is alive.
func (h *hand) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		h.mu.Lock()
		part := h.part
		h.mu.Unlock()
		h.say(note{Key: h.job.Key, Part: part})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_ = h.m.InProgress() // if this is lost, another worker also gets the cell
	}
}

// keep stores the cell's checkpoint at the broker again and again, so that another worker can
// continue from it.
func (h *hand) keep(ctx context.Context) {
	for {
		sleep(ctx, heartbeat)
		if ctx.Err() != nil {
			return
		}
		h.store(ctx)
	}
}

// maxSaved is the largest checkpoint that is stored at the broker, in bytes.
const maxSaved = 4 << 30

func (h *hand) store(ctx context.Context) {
	info, err := os.Stat(h.file)
	if err != nil || !info.ModTime().After(h.saved) || info.Size() > maxSaved {
		return
	}
	f, err := bounded.Regular(h.file)
	if err != nil {
		return
	}
	defer f.Close()
	if err := putObject(ctx, h.js, savedBucket, h.job.Key, f, info.Size()); err != nil {
		h.log.Warn("a checkpoint was not stored", "key", h.job.Key, "error", err)
		return
	}
	h.saved = info.ModTime()
	h.log.Info("a checkpoint is stored", "key", h.job.Key, "bytes", info.Size())
}

// fetch gets the cell's checkpoint that another worker has left at the broker, unless this worker
// has one in its folder.
func (h *hand) fetch(ctx context.Context) {
	if _, err := os.Stat(h.file); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	object, err := openObject(ctx, h.js, savedBucket, h.job.Key)
	if err != nil {
		return // no checkpoint is stored, or the broker is lost: then the cell starts from its first round
	}
	defer object.Close()
	if err := files.Write(h.file, func(to io.Writer) error {
		_, err := io.Copy(to, bounded.Reader(object, maxSaved))
		return err
	}); err != nil {
		h.log.Warn("a checkpoint was not fetched", "key", h.job.Key, "error", err)
		return
	}
	if info, err := os.Stat(h.file); err == nil {
		h.saved = info.ModTime() // this version is already stored
	}
	h.log.Info("a checkpoint is there", "key", h.job.Key)
}

// forget deletes the checkpoint that store has put at the broker, if any.
func (h *hand) forget() {
	if h.saved.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if store, err := h.js.ObjectStore(ctx, savedBucket); err == nil {
		_ = store.Delete(ctx, h.job.Key) // if this fails, the checkpoint of a finished cell remains
	}
}
