package train

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/rng"
	"proactivedp/sim"
)

// reported trains the spec and returns the report.
func reported(t *testing.T, s Spec, root *rng.Root) *Report {
	t.Helper()
	p, err := s.Prepare(drawn(), root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Another run number gives other samples and noise. Rows, default model and clock are those of the seed,
// so that runs can be compared. Run 0 has the same bits as the seed without a run number.
func TestRunsOfASeed(t *testing.T) {
	first, second := smallSpec(), smallSpec()
	second.Run = 1
	a, err := first.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Config.Rows {
		if !slices.Equal(a.Config.Rows[i].Rows, b.Config.Rows[i].Rows) {
			t.Errorf("client %d holds other rows in run 1", i)
		}
	}
	if !slices.Equal(a.Test.Rows, b.Test.Rows) {
		t.Error("run 1 is judged by other rows")
	}
	r, s := reported(t, first, nil), reported(t, second, nil)
	if r.ParamsSHA256 == s.ParamsSHA256 || r.VirtualTime != s.VirtualTime {
		t.Errorf("models %s and %s after %v s and %v s", r.ParamsSHA256, s.ParamsSHA256, r.VirtualTime, s.VirtualTime)
	}
	text, err := json.Marshal(first)
	if err != nil || strings.Contains(string(text), `"run"`) {
		t.Errorf("the keys of finished cells would change: %s, %v", text, err)
	}
	if a.identity().goesOn(b.identity()) == nil {
		t.Error("run 0 goes on from a checkpoint of run 1")
	}
	second.Seed, second.SeedFromOS = 0, true
	if _, err := first.Prepare(drawn(), new(rng.Root)); !errors.Is(err, rng.ErrNoKey) {
		t.Errorf("a root without a key: %v", err)
	}
	if err := second.Validate(); err == nil || !strings.Contains(err.Error(), "run = 1, must be 0") {
		t.Errorf("a run of the operating system's: %v", err)
	}
}

// A report names the source of its noise. With either runner, two reports of one run cannot be composed.
// The composition of two runs costs what is claimed for both.
func TestReportsNameTheirNoise(t *testing.T) {
	noisy := smallSpec()
	noisy.NoiseMultiplier, noisy.Delta = 10, 1e-5
	other := noisy
	other.NoiseMultiplier = 20
	free := other
	free.Runner = HogwildRunner
	private, err := rng.NewFromSecret(make([]byte, rng.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	first := reported(t, noisy, nil)
	if n := first.Privacy.Noise; len(n) != 1 || n[0] != (rng.Name{Root: "seed:1"}) || !first.Privacy.Simulation {
		t.Errorf("%+v", first.Privacy)
	}
	for _, c := range []struct {
		name   string
		spec   Spec
		root   *rng.Root
		run    uint64
		shared bool
	}{
		{"one seed", other, nil, 0, true},
		{"one seed, free-running", free, nil, 0, true},
		{"another run", other, nil, 1, false},
		{"another run, free-running", free, nil, 2, false},
		{"a secret", other, private, 0, false},
	} {
		c.spec.Run = c.run
		second := reported(t, c.spec, c.root)
		if simulated := c.root == nil; second.Privacy.Simulation != simulated {
			t.Errorf("%s: a simulation: %v", c.name, !simulated)
		}
		both, err := dp.Compose(eventsOf(first.Releases), eventsOf(second.Releases))
		if errors.Is(err, dp.ErrSharedNoise) != c.shared {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.shared {
			continue
		}
		together, err := claim.Of(t.Context(), pld.Accountant{}, both, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		rounds := first.Privacy.PerRecord.Rounds + second.Privacy.PerRecord.Rounds
		if together.Rounds != rounds || *together.EpsilonUpper <= *first.Privacy.Certified.PerRecord.EpsilonUpper {
			t.Errorf("%s: %+v, want %d rounds", c.name, together, rounds)
		}
	}
}

// eventsOf gives the events of a report's releases their names, as a file is read.
func eventsOf(releases []dp.Release) []dp.Event {
	var all []dp.Event
	for _, r := range releases {
		for _, e := range r.Events {
			e.Noise = dp.Noise{Name: r.Noise, Client: dp.AllClients}
			all = append(all, e)
		}
	}
	return all
}

// The releases of a record are one list. If all clients hold the record, it has the rounds of all. If the
// data are disjoint, it has as many rounds, of as large batches, as any client has.
func TestReleasedOfARecord(t *testing.T) {
	for _, partition := range []string{"replicate", "shard"} {
		s := smallSpec()
		s.Partition, s.Adapt, s.NoiseMultiplier, s.Delta = partition, 3, 10, 1e-5
		s.Speeds = "1,1,2,0.5,1"
		r := reported(t, s, nil)
		if len(r.Releases) != 1 || r.Releases[0].Noise != (rng.Name{Root: "seed:1"}) {
			t.Fatalf("%s: %+v", partition, r.Releases)
		}
		got, err := claim.Of(t.Context(), pld.Accountant{}, eventsOf(r.Releases), s.Delta)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Contains(strings.Join(r.Notes, "\n"), "as large as any client's")
		if said != (partition == "shard") {
			t.Errorf("%s: notes %q", partition, r.Notes)
		}
		want := r.Privacy.Certified.PerRecord
		if *got.EpsilonUpper < *want.EpsilonUpper*(1-1e-9) || got.Rounds != want.Rounds {
			t.Errorf("%s: the release costs %v in %d rounds, claimed are %v in %d", partition, *got.EpsilonUpper,
				got.Rounds, *want.EpsilonUpper, want.Rounds)
		}
	}
}

// With SeedFromOS, a spec cannot be prepared with the root of its numbered seed: the caller must pass a
// root from the operating system.
func TestReleaseNeedsASecretRoot(t *testing.T) {
	s := smallSpec()
	s.SeedFromOS = true
	source := NewSource(drawn())
	kept, err := source.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	seeded, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Prepared{kept, seeded} {
		_, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err == nil || !strings.Contains(err.Error(), "noise from seed 1, run 0") {
			t.Errorf("trained with the noise of %v: %v", p.Config.Roots.Names(), err)
		}
	}
	root, err := rng.NewFromOS()
	if err != nil {
		t.Fatal(err)
	}
	r := reported(t, s, root)
	if r.Spec.Seed != 0 || s.Seed == 0 { // which was not used
		t.Errorf("a seed is stated: %d", r.Spec.Seed)
	}
	if s.SeedFromOS = false; s.stated() != s {
		t.Errorf("%+v is stated as %+v", s, s.stated())
	}
	if r.Privacy.Simulation {
		t.Errorf("a simulation: %+v", r.Privacy.Noise)
	}
}

// If clients with different records ran different rounds, the listed releases are larger than those of some, and a note
// says so.
func TestReleasesOfDifferentClientsAreNoted(t *testing.T) {
	round := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, SampleSize: 2, DatasetSize: 10, Count: 3}
	more := round
	more.SampleSize = 3
	for partition, disjoint := range map[string]bool{string(data.Shard): true, string(data.Replicate): false} {
		s := smallSpec()
		s.Partition = partition
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, second := range []dp.Event{round, more} {
			ledgers := make([]dp.Ledger, 2)
			ledgers[0].Record(round)
			ledgers[1].Record(second)
			notes := p.releaseNotes(ledgers)
			if noted := len(notes) == 1 && strings.Contains(notes[0], "rounds of different sample rates"); noted != (disjoint && second == more) {
				t.Errorf("%s, %+v: %q", partition, second, notes)
			}
		}
	}
}
