package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
)

// Each client has its own records, which the server does not have. Their numbers differ, and all files are
// encrypted with a key. The report counts the records of each client. The files of clients and broker
// cannot be read without the key.
func TestClientsHaveRecordsOfTheirOwn(t *testing.T) {
	key := bytes.Repeat([]byte{3}, 32)
	s := smallSpec(20)
	s.Partition = string(data.Shard)
	r := newTestRun(t, s, drawn())
	r.serve = func(o *ServeOptions) { o.Engine.Key = key }
	r.join = func(o *JoinOptions) {
		o.Key, o.MaxEpsilon = key, math.Inf(1)
		o.Prepare = func(a *Announcement) (*train.Prepared, error) {
			return a.PrepareOwn(synth.OneHot(rng.New(uint64(10+o.Client)), 100*(o.Client+1)), o.Client)
		}
	}
	report, joined := r.run(t.Context())
	r.checkFold(report)
	for c, j := range joined {
		if want := 100 * (c + 1); j.Records != want || j.Privacy.PerClient.DatasetSize != want || len(j.Notes) != 3 ||
			j.Notes[0] != ownHolders || !strings.Contains(j.Notes[1], "run as fast as they can") {
			t.Errorf("client %d accounts for %d records, has %d; notes %q", c, j.Records, want, j.Notes)
		}
	}
	if !slices.Contains(report.Notes, ownHolders) { // the server cannot know whether two clients bring the same record
		t.Errorf("notes %q, must have %q", report.Notes, ownHolders)
	}
	worst, smallest := report.Privacy.Certified.PerClient, joined[0].Privacy.Certified.PerClient
	if worst.EpsilonUpper == nil || *worst.EpsilonUpper < *smallest.EpsilonUpper {
		t.Errorf("the run states ε ≤ %v for a client, the one with fewest records %v", worst.EpsilonUpper,
			smallest.EpsilonUpper)
	}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "client-") && !strings.Contains(path, "broker") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("synth-drawn")) || bytes.Contains(text, []byte("PDPM")) {
			t.Errorf("%s can be read without the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := journal.Open(r.clientDir(0), nil); err == nil {
		t.Error("a journal opens without its key")
	}
}

// A client that was stopped may only continue with the records that it began with. With other records,
// even of the same number, the rounds in its journal would be counted as if they had been computed from
// the new ones.
func TestAClientGoesOnWithTheRecordsItBeganWith(t *testing.T) {
	t.Parallel()
	s := smallSpec(20)
	s.Partition = string(data.Shard)
	r := newTestRun(t, s, drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	join := func(ctx context.Context, client int, d *data.Dataset, watch func(round, of int)) (*JoinReport, error) {
		o := r.joinOptions(client)
		o.Watch, o.MaxEpsilon = watch, math.Inf(1)
		o.Prepare = func(a *Announcement) (*train.Prepared, error) { return a.PrepareOwn(d, client) }
		return Join(ctx, o)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() {
		if _, err := Serve(ctx, r.serveOptions()); err != nil {
			t.Errorf("server: %v", err)
		}
	})
	for _, client := range []int{0, 2} {
		others.Go(func() {
			if _, err := join(ctx, client, drawn(), nil); err != nil {
				t.Errorf("client %d: %v", client, err)
			}
		})
	}
	first, stop := context.WithCancel(ctx)
	_, err := join(first, 1, drawn(), func(round, _ int) {
		if round == 5 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is stopped: %v", err)
	}
	for what, d := range map[string]*data.Dataset{
		"as many": synth.OneHot(rng.New(4), 400), "fewer": synth.OneHot(rng.New(3), 40),
		"more": synth.OneHot(rng.New(3), 4000),
	} {
		if _, err := join(ctx, 1, d, nil); err == nil || !strings.Contains(err.Error(), "the records that it began with") {
			t.Errorf("%s other records: %v", what, err)
		}
	}
	if joined, err := join(ctx, 1, drawn(), nil); err != nil || joined.Records != 400 {
		t.Errorf("its own records: %+v, %v", joined, err)
	}
}

// If every client has all records, a record pays for the rounds of all clients. A record in one client's
// shard, or one that is a client's own, pays only for that client's rounds.
func TestPlannedCountsWhoHoldsARecord(t *testing.T) {
	for partition, want := range map[data.Partition]int{data.Replicate: 15, data.Shard: 5} {
		s := smallSpec(5)
		s.Partition = string(partition)
		a, err := announce("0123456789abcdef", prepare(t, s, drawn()), wire.MaxChunk)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.Prepare(drawn())
		if err != nil {
			t.Fatal(err)
		}
		own, err := a.PrepareOwn(drawn(), 1)
		if err != nil {
			t.Fatal(err)
		}
		of := map[*train.Prepared]int{p: want, own: 5}
		for p, want := range of {
			s, err := planned(t.Context(), p, 0)
			if err != nil || s.PerRecord.Rounds != want || s.PerClient.Rounds != 5 {
				t.Errorf("%s: %d rounds per record, %d per client (%v), want %d and 5", partition, s.PerRecord.Rounds,
					s.PerClient.Rounds, err, want)
			}
		}
	}
}

// Clients compute the features of their own records. The run says how a record is read, which features are
// computed, and with which constants.
func TestClientsMakeTheirOwnFeatures(t *testing.T) {
	spec := smallSpec(5)
	spec.Model, spec.FeatureMap = train.Softmax, "scatter"
	a, err := announce("0123456789abcdef", prepare(t, spec, synth.Digits(rng.New(1), 70)), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	if a.Features != 784 || a.Constants == "" {
		t.Errorf("%d features of a record as it is read, constants %q", a.Features, a.Constants)
	}
	p, err := a.PrepareOwn(synth.Digits(rng.New(2), 80), 1)
	if err != nil || p.Config.Rows[1].Data.Features != 3969 {
		t.Errorf("own records: %v", err)
	}
	a.Constants = strings.Repeat("0", 64)
	text, err := a.bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseAnnouncement(text); err == nil || !strings.Contains(err.Error(), "feature constants") {
		t.Errorf("other constants: error %v", err)
	}
}

// A run has a target ε. If a client has so few records of its own that one record would cost more, it does
// not join: it sends nothing, and its folder can be used for another run. A server refuses to run a plan
// above its own target.
func TestNobodyJoinsARunAboveItsTarget(t *testing.T) {
	t.Parallel()
	calibrated, err := prepare(t, smallSpec(5), drawn()).Calibrate(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := announce("0123456789abcdef", calibrated, wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	for what, of := range map[string]struct {
		records int // 0: the run's
		fits    bool
	}{"the run's": {0, true}, "many": {400, true}, "few": {20, false}} {
		p, err := a.Prepare(drawn())
		if of.records > 0 {
			p, err = a.PrepareOwn(synth.OneHot(rng.New(4), of.records), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = keepsTarget(t.Context(), p)
		if of.fits && err != nil || !of.fits && (err == nil || !strings.Contains(err.Error(),
			"the run's target is ε ≤ 1 per record, but each of the 20 records here would cost up to")) {
			t.Errorf("%s records: %v", what, err)
		}
	}
	above := *calibrated
	above.Spec.TargetEpsilon = 0.5
	o := ServeOptions{Prepared: &above, Dir: filepath.Join(t.TempDir(), "server")}
	if _, err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the run's target is ε ≤ 0.5") {
		t.Errorf("a server: %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that is refused has a folder: %v", err)
	}
	r := newTestRun(t, calibrated.Spec, drawn())
	r.join = func(o *JoinOptions) {
		o.MaxEpsilon = math.Inf(1)
		o.Prepare = func(a *Announcement) (*train.Prepared, error) {
			return a.PrepareOwn(synth.OneHot(rng.New(4), 20), o.Client)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	var server sync.WaitGroup
	server.Go(func() { _, _ = Serve(ctx, r.serveOptions()) })
	for c := range 3 {
		if _, err := Join(ctx, r.joinOptions(c)); err == nil || !strings.Contains(err.Error(), "the run's target is ε ≤ 1") {
			t.Errorf("client %d: %v", c, err)
		}
		j, err := journal.Open(r.clientDir(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := j.Pinned(); text != nil || len(r.sent) > 0 {
			t.Errorf("client %d: its journal is of %s, and %d releases were made", c, text, len(r.sent))
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	server.Wait()
}

// A client sends nothing if its data do not fit the run, or if it does not agree to the cost.
func TestAClientThatDoesNotFitSendsNothing(t *testing.T) {
	a, err := announce("0123456789abcdef", prepare(t, smallSpec(5), drawn()), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prepare(synth.OneHot(rng.New(9), 400)); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("other data: %v", err)
	}
	if _, err := a.PrepareOwn(wide(40), 0); err == nil || !strings.Contains(err.Error(), "parameters") {
		t.Errorf("records of another width: %v", err)
	}
	for what, change := range map[string]func(*Announcement){
		"protocol": func(a *Announcement) { a.Protocol = protocol + 1 },
		"code":     func(a *Announcement) { a.Code++ },
		"run":      func(a *Announcement) { a.Run = "x" },
		"file":     func(a *Announcement) { a.Spec.Compute = "trace:/etc/passwd" },
		"δ":        func(a *Announcement) { a.Delta = 1 },
		"σ":        func(a *Announcement) { a.Spec.NoiseMultiplier = -1 },
	} {
		bad := *a
		change(&bad)
		text, err := bad.bytes()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseAnnouncement(text); err == nil {
			t.Errorf("an announcement of another %s is believed", what)
		}
	}
}

func FuzzAnnouncement(f *testing.F) {
	f.Add([]byte(`{"protocol":5,"run":"0123456789abcdef"}`))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = parseAnnouncement(text) })
}

// Metrics are in Prometheus' format, and are only served on the loopback address.
func TestMetrics(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "example.org:1", "127.0.0.1"} {
		if m, err := ServeMetrics(address); err == nil {
			m.Close()
			t.Errorf("metrics are shown at %s", address)
		}
	}
	m, err := ServeMetrics("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Watch(&Status{Run: "r", K: 3, Rounds: 7, Updates: 9, Lags: []int{4, 5}, Refused: map[string]int{"not finite": 2},
		Clients: []ClientStatus{{Client: 0, Next: 3, Heard: 0.5}, {Client: 1, Heard: -1, Expelled: true}}})
	r, err := http.Get("http://" + m.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# TYPE proactivedp_k gauge\nproactivedp_k{run=\"r\"} 3\n",
		"proactivedp_refused_total{run=\"r\",why=\"not finite\"} 2\n",
		"proactivedp_staleness_rounds_bucket{run=\"r\",le=\"0\"} 4\n",
		"proactivedp_staleness_rounds_bucket{run=\"r\",le=\"+Inf\"} 9\n",
		"proactivedp_staleness_rounds_sum{run=\"r\"} 5\n",
		"proactivedp_client_expelled{run=\"r\",client=\"1\"} 1\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A client's file has the labels 2 and 1 for the run's classes 0 and 1. It is refused, however it is read:
// if the program guessed the classes from the file, each class would be trained as the other.
func TestLabelsOfAnotherPairAreRefused(t *testing.T) {
	a, err := announce("0123456789abcdef", prepare(t, smallSpec(5), drawn()), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(labels ...string) string {
		text := ""
		for i := range 40 {
			text += labels[i%len(labels)] + " 1:1 20:0.5\n"
		}
		return text
	}
	guessed, err := libsvm.Parse("mine", strings.NewReader(rows("2", "1")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.PrepareOwn(guessed, 0); err == nil || !strings.Contains(err.Error(), `label "1" of mine was `+
		"read as class 0, but it is class 1 of the run, whose labels are 0, 1") {
		t.Errorf("labels that were guessed: %v", err)
	}
	run, err := data.LabelsOf(a.Labels)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) (*data.Dataset, error) {
		path := filepath.Join(t.TempDir(), "mine.libsvm")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return libsvm.ParseFile(path, libsvm.Options{Labels: run, Features: a.Features})
	}
	if _, err := parse(rows("2", "1")); !errors.Is(err, data.ErrLabel) || !strings.Contains(err.Error(), `label "2"`) {
		t.Errorf("read by the run's labels: %v", err)
	}
	for _, class := range []string{"0", "1"} { // all of one class
		d, err := parse(rows(class))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.PrepareOwn(d, 0); err != nil || fmt.Sprint(d.Label[0]) != class {
			t.Errorf("records of class %s alone: %v", class, err)
		}
	}
	three := *drawn()
	three.Classes, three.Label = 3, make([]int32, three.Len())
	if _, err := a.PrepareOwn(&three, 0); err == nil || !strings.Contains(err.Error(), "3 classes, the run has 2") {
		t.Errorf("three classes: %v", err)
	}
}
