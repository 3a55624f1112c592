package dp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/rng"
)

// of returns rounds of the noise given.
func of(noise dp.Noise, sigma float64) []dp.Event {
	return []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: 0.01, Count: 5,
		Noise: noise}}
}

// Two lists that name the same client of the same run are refused, also if one of them names no client,
// and also with different σ. Lists that name no noise are accepted.
func TestComposeRefusesSharedNoise(t *testing.T) {
	seed := func(run uint64, client int) dp.Noise {
		return dp.Noise{Name: rng.Name{Root: "seed:1", Run: run}, Client: client}
	}
	whole := func(run uint64) dp.Noise { return seed(run, dp.AllClients) }
	other := dp.Noise{Name: rng.Name{Root: "seed:2"}, Client: dp.AllClients}
	for _, c := range []struct {
		name   string
		lists  [][]dp.Event
		shared string // the two lists that share; "": none do
	}{
		{"nothing", nil, ""},
		{"one release of many rounds", [][]dp.Event{slices.Concat(of(whole(0), 9), of(whole(0), 9), of(seed(0, 3), 9))},
			""},
		{"two in one list", [][]dp.Event{of(other, 1), slices.Concat(of(seed(0, 3), 10), of(seed(0, 4), 20))}, "in release 1"},
		{"two in the first", [][]dp.Event{slices.Concat(of(seed(0, 3), 10), of(seed(0, 4), 20))}, "in release 0"},
		{"two clients", [][]dp.Event{of(seed(0, 0), 10), of(seed(0, 1), 10)}, ""},
		{"two runs", [][]dp.Event{of(whole(0), 10), of(whole(1), 20), of(seed(2, 0), 20)}, ""},
		{"two roots", [][]dp.Event{of(whole(0), 10), of(other, 20)}, ""},
		{"no names", [][]dp.Event{of(dp.Noise{}, 10), of(dp.Noise{}, 10), of(whole(0), 10)}, ""},
		{"one run twice", [][]dp.Event{of(whole(0), 10), of(dp.Noise{}, 1), of(whole(0), 20)}, "0 and 2"},
		{"one client twice", [][]dp.Event{of(seed(0, 7), 10), of(seed(0, 7), 20)}, "0 and 1"},
		{"all, then one", [][]dp.Event{of(whole(0), 10), of(seed(0, 7), 20)}, "0 and 1"},
		{"one, then all", [][]dp.Event{of(seed(0, 7), 10), of(whole(0), 20)}, "0 and 1"},
		{"one, then another and all", [][]dp.Event{of(other, 1), of(seed(0, 7), 10),
			slices.Concat(of(seed(0, 8), 10), of(whole(0), 20))}, "1 and 2"},
	} {
		got, err := dp.Compose(c.lists...)
		if c.shared == "" {
			if err != nil || !slices.Equal(got, slices.Concat(c.lists...)) {
				t.Errorf("%s: %v, %v", c.name, got, err)
			}
			continue
		}
		if !errors.Is(err, dp.ErrSharedNoise) || got != nil || !strings.Contains(err.Error(), c.shared+" share") ||
			!strings.Contains(err.Error(), "seed 1, run 0") {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// A file names the noise of all rounds of a release once.
func TestReleases(t *testing.T) {
	named := dp.Noise{Name: rng.Name{Root: "seed:1", Run: 4}, Client: 2}
	events := slices.Concat(of(named, 1), of(dp.Noise{}, 2), of(named, 1))
	names, unnamed := dp.Names(events)
	if len(names) != 1 || names[0] != named.Name || !unnamed {
		t.Errorf("names %v, unnamed %v", names, unnamed)
	}
	text, err := json.Marshal(dp.Releases(events))
	row := `{"sampling":"poisson","adjacency":"add-or-remove","noise_multiplier":%d,"sample_rate":0.01,"count":5}`
	want := fmt.Sprintf(`[{"noise":{"root":"seed:1","run":4},"events":[`+row+","+row+`]},{"events":[`+row+`]}]`, 1, 1,
		2)
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if text := named.String(); text != "seed 1, run 4, client 2" {
		t.Error(text)
	}
}

// Two trainings of one run are not composed; a run of its own for each is what composes.
func ExampleCompose() {
	leg := func(root *rng.Root, sigma float64) []dp.Event {
		return of(dp.Noise{Name: root.Name(), Client: dp.AllClients}, sigma)
	}
	root := rng.New(1)
	_, err := dp.Compose(leg(root, 10), leg(root, 20))
	fmt.Println(errors.Is(err, dp.ErrSharedNoise))
	both, err := dp.Compose(leg(root, 10), leg(root.ForRun(1), 20))
	fmt.Println(len(both), err)
	// Output:
	// true
	// 2 <nil>
}

// If several lists share their noise with a later one, the error always names the first.
func TestComposeNamesTheSameListsEveryTime(t *testing.T) {
	name := rng.Name{Root: "seed:1"}
	var lists [][]dp.Event
	for client := range 8 {
		lists = append(lists, of(dp.Noise{Name: name, Client: client}, 1))
	}
	lists = append(lists, of(dp.Noise{Name: name, Client: dp.AllClients}, 1))
	for range 20 {
		if _, err := dp.Compose(lists...); err == nil || !strings.Contains(err.Error(), "releases 0 and 8 share") {
			t.Fatal(err)
		}
	}
}

// A release that is read back has its name on every round, for any client. Otherwise two reports with the
// same noise would be composed as if they were independent.
func TestReleaseIsReadBackWithItsNoise(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, SampleSize: 5,
		DatasetSize: 100, Count: 10, Noise: dp.Noise{Name: rng.New(3).Name(), Client: 1}}
	text, err := json.Marshal(dp.Releases(append([]dp.Event{e}, of(dp.Noise{}, 1)...)))
	if err != nil {
		t.Fatal(err)
	}
	var back []dp.Release
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if _, err := dp.Compose(back[0].Events, []dp.Event{e}); !errors.Is(err, dp.ErrSharedNoise) {
		t.Errorf("two releases of %s were composed: %v", e.Noise, err)
	}
	if back[1].Noise.Known() || back[1].Events[0].Noise.Known() {
		t.Errorf("a release without a name is of %s", back[1].Events[0].Noise)
	}
	if err := json.Unmarshal([]byte(`{"events":[],"noize":{}}`), new(dp.Release)); err == nil {
		t.Error("a key that no release has was passed over")
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(text) {
		t.Errorf("%s was read and written as %s (%v)", text, again, err)
	}
}

// A ledger is read back from JSON as written, with the noise of every round. Otherwise releases of a
// client would be forgotten, and a resumed client would release rounds a second time.
func TestLedgerIsReadBack(t *testing.T) {
	var l dp.Ledger
	for _, size := range []int{5, 5, 7} {
		l.Record(dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, SampleSize: size,
			DatasetSize: 100, Count: 1})
	}
	noise := dp.Noise{Name: rng.New(3).ForRun(math.MaxUint64).Name(), Client: 4}
	for _, want := range []dp.Ledger{l, l.Named(noise), {}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := l.Clone()
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got.Events(), want.Events()) {
			t.Errorf("%s was read as %+v (%v), must be %+v", text, got, err, want)
		}
	}
}
