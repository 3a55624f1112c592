// Package sweep computes many trainings (cells) on several machines, for figures, searches and comparisons. The
// machines connect to a broker (package cluster/broker). A Queue hands out cells, and workers compute them (Work).
// The results have the same bits as on one machine.
//
// A cell stays in a stream until a worker says that it is done. A worker that is silent for some
// seconds is considered dead. The cell is given to another worker, together with the checkpoint that
// the first has left, if any. The key of a result is a hash of everything that it depends on, and
// the result is created once. If a second worker computes the same cell, it compares its result: if
// the bytes differ, one of the two machines is wrong, and the sweep ends with an error. Cells go
// only to workers of the same architecture and class of kernels, which compute the same bits.
//
// Workers load data sets by name and check their digests. A data set that a worker does not have,
// such as a user's own file, is sent through the broker's memory and checked too. Workers are
// trusted with results: a wrong result is noticed only if two workers have computed the same cell.
package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/train/pool"
)

// These are the streams and subjects of sweeps.
const (
	cellStream   = "PDPS_CELLS"
	cellSubject  = "pdps.cell"
	noteSubject  = "pdps.note"
	resultBucket = "PDPS_RESULTS"
	savedBucket  = "PDPS_CHECKPOINTS"
	dataBucket   = "PDPS_DATA"
)

const (
	heartbeat = 1500 * time.Millisecond // time from one sign of life of a worker to the next
	silence   = 6 * time.Second         // time without one after which a cell is given to another worker
	patience  = 5 * time.Second         // time to wait for an answer of the broker
	repair    = 3 * time.Second         // time from one call of repair to the next
)

// maxResult is the largest result of a cell in bytes. A result is one message.
const maxResult = 1000 << 10

// maxMessage is the longest message of a sweep in bytes: a result with its header.
const maxMessage = maxResult + 4<<10

// class returns the name of the class of machines that compute the same bits.
func class() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, cpu.Arch()+"_"+f32.Kernels().String())
}

// note is a worker's message about itself.
type note struct {
	Worker string  `json:"worker"`
	Class  string  `json:"class"`
	Key    string  `json:"key"`
	Wants  string  `json:"wants,omitempty"` // the digest of a data set that the worker lacks
	Part   float64 `json:"part"`
	Error  string  `json:"error,omitempty"`
	Fatal  bool    `json:"fatal,omitempty"` // another worker would fail too
}

// Options says at which broker a Queue hands out cells, and where it logs.
type Options struct {
	Engine broker.Engine // StoreDir "" means a temporary folder; the queue sets Allow
	Creds  *broker.Credentials
	Log    *slog.Logger // nil logs nothing
}

// Queue hands out cells to workers. It is a pool.Elsewhere. Close it after use.
type Queue struct {
	log    *slog.Logger
	broker *broker.Broker
	conn   *nats.Conn
	js     jetstream.JetStream
	store  string // the temporary folder; "" if there is none
	// replicas is how many copies a stream has.
	replicas int
	notes    chan *nats.Msg
	known    map[string]bool // workers that have sent a note
	handed   []string        // digests of data sets that were handed over
}

// Open starts the broker, or connects to it, creates the streams that workers need, and returns the Queue.
func Open(ctx context.Context, o Options) (_ *Queue, err error) {
	if err := o.Creds.Check(broker.Server); err != nil {
		return nil, err
	}
	q := &Queue{log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), notes: make(chan *nats.Msg, 4096), known: map[string]bool{},
		replicas: o.Engine.Replicas()}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.Close())
		}
	}()
	if o.Engine.URL == "" && o.Engine.StoreDir == "" {
		if q.store, err = os.MkdirTemp("", "proactivedp-sweep-"); err != nil {
			return nil, err
		}
		o.Engine.StoreDir = q.store
	}
	o.Engine.Allow = Allow
	if q.broker, err = o.Engine.Start(ctx); err != nil {
		return nil, err
	}
	if q.conn, err = q.broker.Connect(ctx, broker.Peer{Name: "proactivedp sweep", Creds: o.Creds,
		Inbox: "_INBOX_sweep", Unreachable: broker.LogUnreachable(q.log)}); err != nil {
		return nil, err
	}
	if err = broker.CheckConn(q.conn, maxMessage); err != nil {
		return nil, err
	}
	if q.js, err = jetstream.New(q.conn); err != nil {
		return nil, err
	}
	if _, err = q.conn.ChanSubscribe(noteSubject, q.notes); err != nil {
		return nil, err
	}
	if _, err = q.make(ctx); err != nil {
		return nil, err
	}
	q.log.Info("waiting for workers", "url", q.broker.URL(), "class", class())
	return q, nil
}

// URL returns the URL at which workers reach the broker.
func (q *Queue) URL() string { return q.broker.URL() }

// Close ends the connection, and stops the broker if it was started here.
func (q *Queue) Close() error {
	if q.conn != nil {
		q.takeBack()
		q.conn.Close()
	}
	if q.broker != nil {
		q.broker.Close()
	}
	if q.store != "" {
		return os.RemoveAll(q.store)
	}
	return nil
}

// Allow returns the permissions of a user at a broker that runs elsewhere: the subjects under which it may
// publish, and those to which it may subscribe. They are just enough for the user's part in a sweep.
func Allow(u broker.User) broker.Permissions {
	if u.Role != broker.Worker {
		return broker.Permissions{}
	}
	return broker.Permissions{
		Publish: []string{noteSubject, "$JS.API.>", "$JS.ACK.>", "$KV." + resultBucket + ".>",
			"$O." + savedBucket + ".>"},
		Subscribe: []string{workerInbox + ".>"},
	}
}

const workerInbox = "_INBOX_worker"

// make creates the streams, if they do not exist, and returns the bucket of results. If waiting does not help, the error
// wraps broker.ErrUnusable.
func (q *Queue) make(ctx context.Context) (jetstream.KeyValue, error) {
	allowed, end := broker.UntilRefused(ctx, q.conn)
	defer end()
	limited, cancel := context.WithTimeout(allowed, 2*patience)
	defer cancel()
	results, err := q.create(limited)
	return results, cmp.Or(broker.Refused(allowed, err), err)
}

func (q *Queue) create(ctx context.Context) (jetstream.KeyValue, error) {
	stream, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: cellStream, Subjects: []string{cellSubject + ".>"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, Replicas: q.replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cellStream, err)
	}
	if _, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: class(), FilterSubject: cellSubject + "." + class() + ".>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: silence, MaxDeliver: -1, MaxAckPending: 1 << 16,
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", cellStream, err)
	}
	for _, store := range []jetstream.ObjectStoreConfig{
		{Bucket: savedBucket, Replicas: q.replicas},
		// Records must not be on any disk except their owner's.
		{Bucket: dataBucket, Replicas: q.replicas, Storage: jetstream.MemoryStorage, TTL: keepData},
	} {
		if _, err := q.js.CreateOrUpdateObjectStore(ctx, store); err != nil {
			return nil, fmt.Errorf("%s: %w", store.Bucket, err)
		}
	}
	results, err := q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: resultBucket,
		Replicas: q.replicas})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resultBucket, err)
	}
	return results, nil
}

// task is a job of the current call of Compute.
type task struct {
	pool.Job
	done bool
}

// Compute hands out the jobs and collects their results, see pool.Elsewhere. It returns an error as soon as no worker
// can do a job, or if two results of a job differ.
func (q *Queue) Compute(ctx context.Context, jobs []pool.Job,
	done func(job int, result json.RawMessage) error, part func(job int, part float64)) error {
	at := make(map[string]int, len(jobs))
	left := len(jobs)
	tasks := make([]task, len(jobs))
	for i, j := range jobs {
		tasks[i].Job = j
		at[j.Key] = i
	}
	if left == 0 {
		return nil
	}
	finish := func(key string, result []byte) error {
		i, ours := at[key]
		if !ours || tasks[i].done {
			return nil
		}
		tasks[i].done = true
		left--
		q.log.Info("a cell is done", "key", key, "left", left)
		return done(i, result)
	}
	var watcher jetstream.KeyWatcher
	var updates <-chan jetstream.KeyValueEntry // of watcher
	defer func() {
		if watcher != nil {
			_ = watcher.Stop()
		}
	}()
	look := time.NewTimer(0)
	defer look.Stop()
	for left > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped with %d of %d cells left: %w", left, len(jobs), context.Cause(ctx))
		case <-look.C:
			look.Reset(repair)
			var err error
			if watcher, err = q.repair(ctx, tasks, watcher, finish); err != nil {
				return err
			}
			if watcher != nil {
				updates = watcher.Updates()
			}
		case e := <-updates:
			if e == nil {
				continue // all results that existed before have been delivered
			}
			if err := finish(e.Key(), e.Value()); err != nil {
				return err
			}
		case m := <-q.notes:
			if err := q.heed(ctx, m, at, tasks, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// repair creates again the streams, the cells in them and the watch on the results, all of which a
// broker may have lost. It ignores errors of the broker, because it is called again.
func (q *Queue) repair(ctx context.Context, tasks []task, watcher jetstream.KeyWatcher,
	finish func(string, []byte) error) (jetstream.KeyWatcher, error) {
	if err := broker.CheckConn(q.conn, maxMessage); err != nil {
		return watcher, err
	}
	if !q.conn.IsConnected() {
		return watcher, nil
	}
	results, err := q.make(ctx)
	if err != nil { // a broker that is being stopped answers as if it lacked JetStream
		q.log.Warn("the broker", "error", err)
		return watcher, nil
	}
	for i := range tasks {
		if tasks[i].done {
			continue
		}
		e, err := results.Get(ctx, tasks[i].Key)
		if err == nil {
			if err := finish(tasks[i].Key, e.Value()); err != nil {
				return watcher, err
			}
			continue
		}
		text, err := json.Marshal(tasks[i].Job)
		if err != nil {
			return watcher, err
		}
		if _, err := q.js.Publish(ctx, cellSubject+"."+class()+"."+tasks[i].Key, text); err != nil && !taken(err) {
			if errors.Is(err, nats.ErrMaxPayload) {
				return watcher, fmt.Errorf("cell %s has %d bytes: %w", tasks[i].Key, len(text), err)
			}
			q.log.Warn("a cell was not taken", "key", tasks[i].Key, "error", err)
			return watcher, nil
		}
	}
	if watcher != nil {
		return watcher, nil
	}
	if watcher, err = results.WatchAll(ctx); err != nil {
		q.log.Warn("results are not watched", "error", err)
		return nil, nil
	}
	return watcher, nil
}

// taken reports whether err says that a stream already has a message with the subject.
func taken(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Description == "maximum messages per subject exceeded"
}

// heed handles a note from a worker: it passes on the progress of cells, hands over data sets, and
// returns fatal errors.
func (q *Queue) heed(ctx context.Context, m *nats.Msg, at map[string]int, tasks []task, part func(int, float64)) error {
	var n note
	if err := strictjson.DecodeWhole(m.Data, &n, len(m.Data)); err != nil {
		q.log.Warn("a note", "error", err)
		return nil
	}
	if !q.known[n.Worker] {
		q.known[n.Worker] = true
		q.log.Info("a worker is there", "worker", n.Worker, "class", n.Class)
		if n.Class != class() {
			q.log.Warn("a worker of another class gets no cells", "worker", n.Worker, "class", n.Class,
				"needed", class())
		}
	}
	i, ours := at[n.Key]
	switch {
	case !ours || tasks[i].done && !n.Fatal:
	case n.Fatal:
		return fmt.Errorf("cell %s by worker %s: %s", message.Name(n.Key), message.Name(n.Worker),
			message.Quoted(n.Error))
	case n.Wants != "":
		q.handOver(ctx, tasks[i].Job, n)
	case n.Error != "":
		q.log.Warn("a worker cannot do a cell", "worker", n.Worker, "key", n.Key, "error", n.Error)
	case n.Part >= 0 && n.Part <= 1:
		q.log.Debug("a cell is under way", "worker", n.Worker, "key", n.Key, "part", n.Part)
		part(i, n.Part)
	}
	return nil
}
