package sweep

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"proactivedp/cluster/broker"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// sets are data sets of every kind: sparse and dense rows with all that a file may say of
// them, and images.
func sets() []*data.Dataset {
	sparse := drawn()
	sparse.Note, sparse.Train, sparse.Names = "some rows are missing", 300, []string{"no", "yes"}
	dense := &data.Dataset{Name: "dense", Features: 2, Classes: 3, Columns: []string{"a", "b"},
		Label: []int32{0, 2, 1}, Index: []int32{0, 1}, Value: []float32{1, 2, 3, -4, 0, 6}}
	return []*data.Dataset{sparse, dense, synth.Digits(rng.New(1), 200)}
}

func written(t testing.TB, d *data.Dataset) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := writeRecords(&text, d); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// A data set comes as it was sent; one that was changed on its way, or cut off, does not.
func TestDataSetsComeAsTheyWereSent(t *testing.T) {
	for _, d := range sets() {
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		text := written(t, d)
		got, err := readRecords(bytes.NewReader(text), d.Hash())
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%s: %v, or another set", d.Name, err)
		}
		if _, err := readRecords(bytes.NewReader(text), drawn().Hash()[:63]+"x"); err == nil ||
			!strings.Contains(err.Error(), "must be") {
			t.Errorf("%s under another digest: %v", d.Name, err)
		}
		for _, n := range []int{0, 7, len(text) / 2, len(text) - 1} {
			if _, err := readRecords(bytes.NewReader(text[:n]), d.Hash()); err == nil {
				t.Errorf("%s is read from %d of %d bytes", d.Name, n, len(text))
			}
		}
		text[len(text)-2] ^= 1
		if _, err := readRecords(bytes.NewReader(text), d.Hash()); err == nil {
			t.Errorf("%s is read with a bit flipped", d.Name)
		}
	}
}

// Whatever comes in the place of a data set is an error.
func FuzzReadRecords(f *testing.F) {
	for _, d := range sets() {
		if text := written(f, d); len(text) < 1<<15 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := readRecords(bytes.NewReader(text), "x"); err == nil || d != nil {
			t.Error(d, err)
		}
	})
}

// errNotHere is that of a worker that has no data sets.
var errNotHere = errors.New("a file of the asking machine's")

// Workers that have no data are handed it over, also past TLS and the permissions of the
// worker's key; the results are those of one machine. Afterwards the broker has none.
func TestAWorkerIsHandedTheDataItLacks(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := broker.MakeKeys(keys, 1, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	ring, err := broker.ReadKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := broker.ReadCredentials(filepath.Join(keys, "worker.creds"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(t.Context(), Options{Engine: broker.Engine{Listen: "127.0.0.1:0", Keyring: ring}})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ctx, stop := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer stop()
	worker.Go(func() {
		err := Work(ctx, WorkOptions{URL: q.URL(), Creds: creds, Name: "poor", Workers: 2, Dir: t.TempDir(),
			Load: func(context.Context, train.Spec) (*train.Source, error) { return nil, errNotHere }})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	here, there := t.TempDir(), t.TempDir()
	wide := synth.OneHot(rng.New(3), 20_000) // of several messages
	source := train.NewSource(wide)
	for _, o := range []pool.Options{{Folder: here}, {Folder: there, Elsewhere: q}} {
		if _, _, err := pool.Trials(t.Context(), source, specs(3, 300), o); err != nil {
			t.Fatal(err)
		}
	}
	sameCells(t, here, there, 3)
	if len(q.handed) != 1 || q.handed[0] != source.Hash() {
		t.Errorf("handed over: %v", q.handed)
	}
	q.takeBack()
	store, err := q.js.ObjectStore(t.Context(), dataBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.GetInfo(t.Context(), source.Hash()); err == nil {
		t.Error("the broker still has the data set")
	}
}

// A data set that is of no cell is not handed over.
func TestOtherDataAreNotHandedOver(t *testing.T) {
	q := open(t)
	job := pool.Job{Key: "k", Source: train.NewSource(drawn())}
	q.handOver(t.Context(), job, note{Worker: "w", Key: "k", Wants: strings.Repeat("0", 64)})
	q.handOver(t.Context(), pool.Job{Key: "k"}, note{Worker: "w", Key: "k", Wants: job.Source.Hash()})
	if len(q.handed) != 0 {
		t.Errorf("handed over: %v", q.handed)
	}
}
