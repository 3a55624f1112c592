package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/sim"
)

func TestTrainReports(t *testing.T) {
	s := smallSpec()
	p, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(context.Background(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rounds != 50 || r.Updates != 250 || r.TestRows != 80 || len(r.ParamsSHA256) != 64 || !r.Synthetic {
		t.Errorf("report %+v", r)
	}
	client, record := r.Privacy.PerClient, r.Privacy.PerRecord
	if client.Rounds != 50 || record.Rounds != 250 || client.DatasetSize != 320 {
		t.Errorf("replicate: %d rounds per client and %d per record of N = %d, want 50, 250 and 320", client.Rounds,
			record.Rounds, client.DatasetSize)
	}
	if planned := plannedPrivacy(t, p); !equalJSON(t, planned, r.Privacy) {
		t.Errorf("planned privacy %+v, run %+v", planned, r.Privacy)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

// Law 3: with disjoint shards a record pays for its one client; with replicate
// for all of them.
func TestWhoPays(t *testing.T) {
	s := smallSpec()
	s.NoiseMultiplier, s.GradComps, s.SampleSize = 60, 600, "1"
	epsilon := func() (client, record float64) {
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := plannedPrivacy(t, p).Closed()
		if r.PerClient.EpsilonUpper == nil || r.PerRecord.EpsilonUpper == nil {
			t.Fatalf("not covered: %s; %s", r.PerClient.Reason, r.PerRecord.Reason)
		}
		return *r.PerClient.EpsilonUpper, *r.PerRecord.EpsilonUpper
	}
	if client, record := epsilon(); record <= client {
		t.Errorf("replicate: ε per record %v, per client %v", record, client)
	}
	s.Partition = string(data.Shard)
	if client, record := epsilon(); record != client {
		t.Errorf("shard: ε per record %v, per client %v", record, client)
	}
}

func TestWhatTheClosedFormDoesNotCover(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"no noise":     func(s *Spec) { s.NoiseMultiplier = 0 },
		"fixed":        func(s *Spec) { s.Sampling = "fixed" },
		"little noise": func(s *Spec) { s.NoiseMultiplier = 1.2 },
	} {
		s := smallSpec()
		change(&s)
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := plannedPrivacy(t, p).Closed(); r.EpsilonUpper != nil || r.Reason == "" {
			t.Errorf("%s: ε %v, reason %q: want none and a reason", name, r.EpsilonUpper, r.Reason)
		}
	}
}

func TestPrepareReportsEveryProblem(t *testing.T) {
	s := Spec{
		Model: "perceptron", Clients: 0, GradComps: 0, SampleSize: "x", NoiseMultiplier: math.NaN(), Clip: -1,
		Eta0: 0, Beta: -1, Schedule: "cubic", Delay: "-1", Partition: "halves", Sampling: "some",
		Runner: "real", Compute: "x", Latency: "y", Delta: 2, Momentum: 1, TargetEpsilon: -1,
	}
	_, err := s.Prepare(drawn(), nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"model", "clients = 0", "sample size", "delay", "partition", "sampling", "runner",
		"duration = \"x\"", "duration = \"y\"",
		"delta = 2", "clipping norm = -1", "noise multiplier = NaN", "eta0 = 0", "beta = -1", "schedule",
		"momentum = 1, must be", "epsilon = -1, must be", "gradient computations per client = 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// Numbers that would fill the memory or never end are refused at once.
func TestHugeNumbersAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"rounds":         func(s *Spec) { s.GradComps, s.SampleSize = math.MaxInt, "1" },
		"rounds, listed": func(s *Spec) { s.GradComps, s.SampleSize = math.MaxInt, "list:1" },
		"clients":        func(s *Spec) { s.Clients = math.MaxInt },
		"clock":          func(s *Spec) { s.Compute, s.GradComps = "constant:1h", 3_000_000 },
		"clip":           func(s *Spec) { s.Clip = 1e-300 },
		"eta0":           func(s *Spec) { s.Eta0 = 1e300 },
	} {
		s := smallSpec()
		change(&s)
		if _, err := s.Prepare(drawn(), nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A run with infinite parameters at the end is an error, and gives no report.
func TestDivergenceIsAnError(t *testing.T) {
	s := smallSpec()
	s.GradComps, s.NoiseMultiplier, s.Clip, s.Eta0 = 6, 1e15, 1e14, 1e10
	p, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Train(context.Background(), sim.Perf{}, nil); !errors.Is(err, models.ErrDiverged) {
		t.Errorf("error %v, want ErrDiverged", err)
	}
}

// Golden results of these specs. If a change of the code changes them, raise CodeVersion and make the
// results again.
func TestSpecsMeanTheseBits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"default":     {func(*Spec) {}, "b4630a4586ff22fa"},
		"plain":       {func(s *Spec) { s.Model, s.Schedule = Plain, "sqrt" }, "6a01f0adc6c8f661"},
		"fixed":       {func(s *Spec) { s.Sampling = "fixed" }, "177c3dedb27f8ceb"},
		"linear":      {func(s *Spec) { s.SampleSize = "linear:2,0.5" }, "e2a90cd7d7e9a5b2"},
		"shard":       {func(s *Spec) { s.Partition = "shard" }, "dce0e3f2417864e5"},
		"zero":        {func(s *Spec) { s.Schedule, s.Beta = "zero", 0 }, "8752d5f52769fea8"},
		"cosine":      {func(s *Spec) { s.Schedule, s.Beta = "cosine", 0 }, "fb8e52e1790d6ac8"},
		"momentum":    {func(s *Spec) { s.Momentum, s.Eta0 = 0.9, 0.01 }, "966e8238b699ecd9"},
		"exponential": {func(s *Spec) { s.Latency, s.Delay = "exponential:1ms", "3" }, "45fd78d42c5160cd"},
	} {
		s := smallSpec()
		c.change(&s)
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ParamsSHA256[:16]; got != c.want {
			t.Errorf("%s: parameters hash to %s, want %s", name, got, c.want)
		}
	}
}

// Golden result of a network's training with noise, for every class of kernels that rounds a product and a
// sum only once.
func TestNetworkMeansTheseBits(t *testing.T) {
	const want = "8dec6441a866147f"
	s := smallLeNet()
	s.Clients = 2
	for _, class := range f32.Classes() {
		if class == cpu.Portable {
			continue
		}
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepare(digits(350), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ParamsSHA256[:16]; got != want {
			t.Errorf("%v: parameters hash to %s, want %s", class, got, want)
		}
	}
}

// Both ends of the range of gradient computations are allowed.
func TestRangeOfGradientComputations(t *testing.T) {
	for k, good := range map[int]bool{0: false, 1: true, 1 << 53: true, 1<<53 + 1: false} {
		s := smallSpec()
		s.GradComps = k
		if err := s.Validate(); strings.Contains(fmt.Sprint(err), "gradient computations per client") == good {
			t.Errorf("K = %d: error %v, must be accepted: %v", k, err, good)
		}
	}
}
