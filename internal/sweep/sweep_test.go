package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// workerEnv makes the tests' program a worker at the URL that it holds.
const workerEnv = "PROACTIVEDP_SWEEP_WORKER"

func TestMain(m *testing.M) {
	if url := os.Getenv(workerEnv); url != "" {
		dir, err := os.MkdirTemp("", "sweep-test-")
		if err != nil {
			panic(err)
		}
		err = Work(context.Background(), WorkOptions{URL: url, Name: fmt.Sprint(os.Getpid()), Workers: 1, Dir: dir,
			Load: load(drawn())})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if text := os.Getenv(roleEnv); text != "" {
		var r role
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			panic(err)
		}
		if err := r.run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, r.Name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The parallel tests mostly wait for processes and timeouts.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testkit.RunInMemory(m)
}

func drawn() *data.Dataset { return synth.OneHot(rng.New(3), 400) }

func load(d *data.Dataset) func(context.Context, train.Spec) (*train.Source, error) {
	return func(context.Context, train.Spec) (*train.Source, error) { return train.NewSource(d), nil }
}

// specs are so many trainings of so many gradients each.
func specs(n, gradients int) []train.Spec {
	var all []train.Spec
	for i := range n {
		s := train.DefaultSpec()
		s.Data, s.Clients, s.SampleSize, s.GradComps, s.Seed = "synth-drawn", 3, "6", gradients, uint64(i+1)
		all = append(all, s)
	}
	return all
}

func open(t *testing.T) *Queue {
	t.Helper()
	q, err := Open(t.Context(), Options{Engine: broker.Engine{Listen: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

// work runs a worker in this process, which has the data set, until the test ends.
func work(t *testing.T, q *Queue, name string, d *data.Dataset) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	o := WorkOptions{URL: q.URL(), Name: name, Workers: 2, Dir: t.TempDir(), Load: load(d)}
	done.Go(func() {
		if err := Work(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("worker %s: %v", name, err)
		}
	})
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
}

// sameCells checks that two folders have the same finished cells, byte by byte: beside
// them is how long they took, where they were computed.
func sameCells(t *testing.T, one, other string, n int) {
	t.Helper()
	cells, err := filepath.Glob(filepath.Join(one, "*.json"))
	if err != nil || len(cells) != n {
		t.Fatalf("%d cells, want %d: %v", len(cells), n, err)
	}
	for _, path := range cells {
		a, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(other, filepath.Base(path)))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", filepath.Base(path), err)
		}
	}
	if there, err := filepath.Glob(filepath.Join(other, "*.json")); err != nil || len(there) != n {
		t.Errorf("%d cells there, want %d: %v", len(there), n, err)
	}
}

// Trainings and utility graphs by workers are those of one machine, byte by byte; also of
// workers of which one has other data.
func TestASweepIsThatOfOneMachine(t *testing.T) {
	t.Parallel()
	const n = 6
	source := train.NewSource(drawn())
	here, there := t.TempDir(), t.TempDir()
	q := open(t)
	work(t, q, "right", drawn())
	work(t, q, "wrong", synth.OneHot(rng.New(4), 400))
	lines := []pool.UtilitySpec{{Train: specs(1, 300)[0], Sigmas: []float64{0, 1, 4}, Draws: 3}}
	for _, o := range []pool.Options{{Folder: here, Workers: 2}, {Folder: there, Elsewhere: q}} {
		if _, spent, err := pool.Trials(t.Context(), source, specs(n, 300), o); err != nil || spent.Computed != n {
			t.Fatalf("%d computed: %v", spent.Computed, err)
		}
		if _, _, err := pool.Utilities(t.Context(), source, lines, o); err != nil {
			t.Fatal(err)
		}
	}
	sameCells(t, here, there, n+1)
}

// Two results of one cell that differ are an error of the sweep.
func TestOtherBytesAreAnError(t *testing.T) {
	q := open(t)
	work(t, q, "worker", drawn())
	o := pool.Options{Folder: t.TempDir(), Elsewhere: q}
	source := train.NewSource(drawn())
	if _, _, err := pool.Trials(t.Context(), source, specs(1, 300), o); err != nil {
		t.Fatal(err)
	}
	results, err := q.js.KeyValue(t.Context(), resultBucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := results.Keys(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	w := &worker{js: q.js, conn: q.conn}
	there, err := results.Get(t.Context(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.create(t.Context(), keys[0], there.Value()); err != nil {
		t.Errorf("the same bytes: %v", err)
	}
	if err := w.create(t.Context(), keys[0], []byte("{}")); !errors.Is(err, ErrDifferent) {
		t.Errorf("other bytes: %v", err)
	}
	// A worker that says so ends the sweep.
	text, err := json.Marshal(note{Worker: "w", Key: "k", Error: "differs", Fatal: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.conn.Publish(noteSubject, text); err != nil {
		t.Fatal(err)
	}
	err = q.Compute(t.Context(), []pool.Job{{Key: "k", Spec: []byte("{}")}}, nil, func(int, float64) {})
	if err == nil {
		t.Error("it went on")
	}
}

// A worker that is killed has its cell taken by another within ten seconds, and the result
// is the same.
func TestAKilledWorkersCellIsGivenAway(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	q := open(t)
	here, there := t.TempDir(), t.TempDir()
	source := train.NewSource(drawn())
	long := specs(1, 1_200_000)
	if _, _, err := pool.Trials(t.Context(), source, long, pool.Options{Folder: here}); err != nil {
		t.Fatal(err)
	}
	taken := func() bool {
		consumer, err := q.js.Consumer(t.Context(), cellStream, class())
		if err != nil {
			return false
		}
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumAckPending > 0
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), workerEnv+"="+q.URL())
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var killed time.Time
	var helper sync.WaitGroup
	helper.Go(func() {
		for end := time.Now().Add(2 * time.Minute); !taken() && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		killed = time.Now()
		_ = victim.Process.Kill()
		_ = victim.Wait()
		work(t, q, "heir", drawn())
	})
	_, _, err := pool.Trials(t.Context(), source, long, pool.Options{Folder: there, Elsewhere: q})
	helper.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("done %.1f s after the kill", time.Since(killed).Seconds())
	if !q.known["heir"] {
		t.Error("the cell was done before the kill")
	}
	sameCells(t, here, there, 1)
}

// A checkpoint that a worker has left is there for the next.
func TestACheckpointMoves(t *testing.T) {
	q := open(t)
	w := &worker{js: q.js, conn: q.conn, log: q.log}
	one := &hand{worker: w, job: pool.Job{Key: "k"}, file: filepath.Join(t.TempDir(), "k.checkpoint")}
	other := &hand{worker: w, job: one.job, file: filepath.Join(t.TempDir(), "k.checkpoint")}
	text := bytes.Repeat([]byte("state"), 100_000)
	if err := os.WriteFile(one.file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	one.store(t.Context())
	other.fetch(t.Context())
	got, err := os.ReadFile(other.file)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, want %d: %v", len(got), len(text), err)
	}
	if other.saved.IsZero() {
		t.Error("who has fetched a checkpoint does not remove it at the end")
	}
	other.forget()
	if store, err := q.js.ObjectStore(t.Context(), savedBucket); err != nil {
		t.Error(err)
	} else if _, err := store.GetInfo(t.Context(), "k"); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("a checkpoint of a finished cell stays: %v", err)
	}
}

// A queue with workers, as of two machines.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	q, err := Open(ctx, Options{Engine: broker.Engine{Listen: "127.0.0.1:0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	dir, err := os.MkdirTemp("", "sweep")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var worker sync.WaitGroup
	ending, stop := context.WithCancel(ctx)
	worker.Go(func() {
		_ = Work(ending, WorkOptions{URL: q.URL(), Name: "one", Workers: 1, Dir: dir, Load: load(drawn())})
	})
	_, spent, err := pool.Trials(ctx, train.NewSource(drawn()), specs(3, 60),
		pool.Options{Elsewhere: q})
	stop()
	worker.Wait()
	fmt.Println(spent.Computed, err)
	// Output: 3 <nil>
}

// Credentials of another role are refused by name before anything is dialled.
func TestWorkersNeedCredentialsOfAWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // where they are not refused, nothing is waited for
	for _, role := range []broker.Role{broker.Server, broker.Client} {
		creds := &broker.Credentials{Role: role}
		err := Work(ctx, WorkOptions{URL: "nats://127.0.0.1:1", Creds: creds, Name: "w", Workers: 1, Dir: t.TempDir()})
		if want := fmt.Sprintf("credentials of role %q, must be of %q", role, broker.Worker); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("a worker with them: error %v, want %q", err, want)
		}
	}
	q, err := Open(ctx, Options{Engine: broker.Engine{Listen: "127.0.0.1:0"},
		Creds: &broker.Credentials{Role: broker.Worker}})
	if err == nil || !strings.Contains(err.Error(), "must be of ") {
		t.Errorf("a queue with a worker's credentials: error %v", err)
	}
	if q != nil {
		t.Error("a queue with a worker's credentials is open")
	}
}
