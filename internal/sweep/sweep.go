// Package sweep computes the cells of figures, searches and comparisons on several machines,
// which meet at a broker (package cluster/broker): a Queue hands cells out, and workers compute
// them (Work). The same bits come out as on one machine.
//
// A cell lies in a stream until its worker says that it is done; a worker that says nothing
// for some seconds is taken for dead, and the cell is given to another, with the checkpoint
// that the first has left of it, if it has. A result is created once, under the key of all
// that it depends on. A worker that has computed it as well compares: other bytes are an
// error that ends the sweep, since one of two machines is wrong. Cells go only to workers of
// the same architecture and class of kernels, whose bits are the same.
//
// Workers load data sets by name and check their digests. What they lack, such as a file of
// the user's own, is handed over through the broker's memory, and checked. They are trusted with results: a
// worker that lies is found only where two have computed one cell.
package sweep

import (
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

// The streams and subjects of sweeps.
const (
	cellStream   = "PDPS_CELLS"
	cellSubject  = "pdps.cell"
	noteSubject  = "pdps.note"
	resultBucket = "PDPS_RESULTS"
	savedBucket  = "PDPS_CHECKPOINTS"
	dataBucket   = "PDPS_DATA"
)

// The times of a sweep.
const (
	heartbeat = 1500 * time.Millisecond // from one sign of life of a worker to the next
	silence   = 6 * time.Second         // without one, after which a cell is given to another
	patience  = 5 * time.Second         // for an answer of the broker
	repair    = 3 * time.Second         // from one look at what is lost to the next
)

// maxResult bounds a cell's result, in bytes: it is one message.
const maxResult = 1000 << 10

// class names the machines whose results are the same bits.
func class() string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, cpu.Arch()+"_"+f32.Kernels().String())
	return name
}

// note is what a worker says of itself.
type note struct {
	Worker string  `json:"worker"`
	Class  string  `json:"class"`
	Key    string  `json:"key"`
	Wants  string  `json:"wants,omitempty"` // the digest of a data set that the worker lacks
	Part   float64 `json:"part"`
	Error  string  `json:"error,omitempty"`
	Fatal  bool    `json:"fatal,omitempty"` // no other worker would do better
}

// Options says where cells are handed out.
type Options struct {
	Engine broker.Engine // StoreDir "" is a temporary folder; Allow is set by the queue
	Creds  *broker.Credentials
	Log    *slog.Logger // is told who computes what; nil: nothing is logged
}

// Queue hands cells out to workers. It is a pool.Elsewhere. One that is done with
// must be closed.
type Queue struct {
	log    *slog.Logger
	broker *broker.Broker
	conn   *nats.Conn
	js     jetstream.JetStream
	store  string // the temporary folder; "": none
	// replicas is how many copies a stream has.
	replicas int
	notes    chan *nats.Msg
	known    map[string]bool // workers that have spoken
	handed   []string        // digests of data sets that were handed over
}

// Open starts the broker, or connects to it, and makes what workers need.
func Open(ctx context.Context, o Options) (_ *Queue, err error) {
	if err := o.Creds.Check(broker.Server); err != nil {
		return nil, err
	}
	q := &Queue{log: o.Log, notes: make(chan *nats.Msg, 4096), known: map[string]bool{},
		replicas: o.Engine.Replicas()}
	if q.log == nil {
		q.log = slog.New(slog.DiscardHandler)
	}
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
	if q.broker, err = o.Engine.Start(); err != nil {
		return nil, err
	}
	if q.conn, err = q.broker.Connect(ctx, broker.Peer{Name: "proactivedp sweep", Creds: o.Creds,
		Inbox: "_INBOX_sweep"}); err != nil {
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

// URL returns where workers reach the broker.
func (q *Queue) URL() string { return q.broker.URL() }

// Close ends the connection, and the broker if it was started here.
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

// Allow is what a user of a sweep's broker may do.
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

// make makes the streams, where they are not there, and returns the bucket of results.
func (q *Queue) make(ctx context.Context) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
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
		// Records are on no disk but that of who has them.
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

// task is a job under way.
type task struct {
	pool.Job
	done bool
}

// Compute hands the jobs out and takes their results. It ends with the first job that no
// worker can do, or whose results differ.
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
	defer func() {
		if watcher != nil {
			_ = watcher.Stop()
		}
	}()
	updates := func() <-chan jetstream.KeyValueEntry {
		if watcher == nil {
			return nil
		}
		return watcher.Updates()
	}
	look := time.NewTimer(0)
	defer look.Stop()
	for left > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped with %d of %d cells left: %w", left, len(jobs), context.Cause(ctx))
		case <-look.C:
			look.Reset(repair)
			w, err := q.repair(ctx, tasks, watcher, finish)
			if err != nil {
				return err
			}
			watcher = w
		case e := <-updates():
			if e == nil {
				continue // all that were there have come
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

// repair makes what a broker may have lost: the streams, the cells in them, the watch on
// results. Errors of the broker's are left for the next time.
func (q *Queue) repair(ctx context.Context, tasks []task, watcher jetstream.KeyWatcher,
	finish func(string, []byte) error) (jetstream.KeyWatcher, error) {
	if !q.conn.IsConnected() {
		return watcher, nil
	}
	results, err := q.make(ctx)
	if err != nil {
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

// taken reports that a stream has a message of the subject.
func taken(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Description == "maximum messages per subject exceeded"
}

// heed takes what a worker says.
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
