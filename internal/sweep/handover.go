package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// These are the times for handing over a data set.
const (
	keepData    = 24 * time.Hour         // time after which a broker that runs elsewhere deletes it
	askAgain    = 2 * time.Second        // time from one request for it to the next
	lookAgain   = 100 * time.Millisecond // time from one look for it to the next
	handingOver = 2 * time.Minute        // time to wait until it is there
)

// handOver stores a job's data set at the broker for workers, unless it is already there.
func (q *Queue) handOver(ctx context.Context, j pool.Job, n note) {
	if j.Source == nil || j.Source.Hash() != n.Wants {
		q.log.Warn("a worker asks for another data set", "worker", n.Worker, "key", n.Key, "wants", n.Wants)
		return
	}
	if _, _, err := find(ctx, q.js, dataBucket, n.Wants); err == nil {
		return
	}
	if err := q.putData(ctx, n.Wants, j.Source); err != nil {
		q.log.Warn("a data set was not handed over", "data", j.Data, "digest", n.Wants, "error", err)
		return
	}
	q.handed = append(q.handed, n.Wants)
	q.log.Info("a data set is handed over", "data", j.Data, "digest", n.Wants, "worker", n.Worker)
}

func (q *Queue) putData(ctx context.Context, digest string, source *train.Source) error {
	from, to := io.Pipe()
	var writer sync.WaitGroup
	writer.Go(func() { to.CloseWithError(writeRecords(to, source.Data())) })
	err := putObject(ctx, q.js, dataBucket, digest, bounded.Reader(from, maxRecords), sizeOf(source.Data()))
	from.CloseWithError(err) // ends the writer
	writer.Wait()
	return err
}

// sizeOf returns about how many bytes writeRecords writes.
func sizeOf(d *data.Dataset) int64 {
	size := 4 * (len(d.Label) + len(d.Start) + len(d.Index) + len(d.Value))
	if d.Images != nil {
		size += len(d.Images.Pixels)
	}
	return int64(size)
}

// takeBack deletes the data sets that handOver has stored at the broker.
func (q *Queue) takeBack() {
	if len(q.handed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	store, err := q.js.ObjectStore(ctx, dataBucket)
	for _, digest := range q.handed {
		if err == nil {
			err = store.Delete(ctx, digest)
		}
	}
	if err != nil {
		q.log.Warn("a data set stays at the broker for a day", "error", err)
	}
}

// mostFetched is how many fetched data sets a worker keeps.
const mostFetched = 4

// sources has a worker's data sets.
type sources struct {
	mu      sync.Mutex
	by      map[string]*train.Source // by digest
	fetched []string                 // digests of the fetched ones, the newest last
}

// source returns the data set with a digest. The data set is loaded by its name in the spec, or
// fetched from the process that hands out the cell.
func (h *hand) source(ctx context.Context, spec train.Spec, digest string) (*train.Source, error) {
	s := &h.sources
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.by[digest]; there != nil {
		return there, nil
	}
	loaded, err := h.Load(ctx, spec)
	if err == nil && loaded.Hash() != digest {
		err = fmt.Errorf("the data set %s has the digest %s here", spec.Data, loaded.Hash())
	}
	if err == nil {
		s.by[digest] = loaded
		return loaded, nil
	}
	h.log.Info("a data set is asked for", "data", spec.Data, "digest", digest, "because", err.Error())
	fetched, failure := h.fetchData(ctx, digest)
	if failure != nil {
		return nil, fmt.Errorf("the data set %s must have the digest %s: %w", spec.Data, digest,
			errors.Join(err, failure))
	}
	s.by[digest] = fetched
	s.fetched = append(s.fetched, digest)
	if len(s.fetched) > mostFetched {
		delete(s.by, s.fetched[0])
		s.fetched = slices.Delete(s.fetched, 0, 1)
	}
	return fetched, nil
}

// fetchData asks for the data set with a digest until it is there, and checks it.
func (h *hand) fetchData(ctx context.Context, digest string) (*train.Source, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, handingOver,
		fmt.Errorf("it was not handed over within %v", handingOver))
	defer cancel()
	var asked time.Time
	for ; ; sleep(waiting, lookAgain) {
		if err := context.Cause(waiting); err != nil {
			return nil, err
		}
		if time.Since(asked) >= askAgain {
			h.say(note{Key: h.job.Key, Wants: digest})
			asked = time.Now()
		}
		object, err := openObject(ctx, h.js, dataBucket, digest)
		if err != nil {
			continue // it is not there yet, or the broker cannot be reached
		}
		d, err := readRecords(object, digest)
		if err := errors.Join(err, object.Close()); err != nil {
			return nil, err
		}
		h.log.Info("a data set is there", "digest", digest, "rows", d.Len())
		return train.NewSource(d), nil
	}
}
