package plan

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/testkit"
)

// By default, plan returns the least noise, the signal that batch sizes keep, and a recommended size.
func TestLeastNoiseByDefault(t *testing.T) {
	r := Request{N: 50_000, Epochs: 20, Epsilon: 3, Delta: 1e-5, SampleSize: 512}
	p := solve(t, r)
	if p.Method != PLD || !(p.Sigma > 0.9366 && p.Sigma < 0.937) || p.Run.Rounds != 1954 || p.Gamma != nil ||
		*p.Theorem.SMax != 1212 || math.Abs(*p.Theorem.Sigma-3.110512) > 1e-6 {
		t.Errorf("%+v, %+v", p, p.Theorem)
	}
	if s := *p.Signal; math.Abs(s-0.67) > 0.005 {
		t.Errorf("512 keeps %v of the signal", s)
	}
	r.SampleSize = 0
	q := solve(t, r)
	if err := p.Recommend(t.Context()); err != nil || *p.Recommended.Sigma != *q.Recommended.Sigma ||
		q.Run.SampleSize != 2048 || q.Recommended.SampleSize != 2048 || q.Sigma != *q.Recommended.Sigma ||
		math.Abs(*q.Signal-0.84) > 0.005 {
		t.Errorf("%+v, %+v, %v", p.Recommended, q.Recommended, err)
	}
	best, rows, err := Compare(t.Context(), r, []int{256, 512, 1024, 2048, 8192})
	if err != nil || len(rows) != 5 || best.Run.SampleSize != 2048 || rows[1].SampleSize != 512 ||
		*rows[1].Sigma != p.Sigma || rows[1].Messages != 1954 || rows[1].Bytes != 4*1954 {
		t.Errorf("%+v, %+v, %v", best, rows, err)
	}
	for i := 1; i < len(rows); i++ {
		if *rows[i].Signal <= *rows[i-1].Signal {
			t.Errorf("%+v keeps no more than %+v", rows[i], rows[i-1])
		}
	}
	var table strings.Builder
	if err := WriteBatches(&table, rows); err != nil || !strings.Contains(table.String(), "67 %") {
		t.Errorf("%s, %v", table.String(), err)
	}
	r.Sigma = 1
	if _, _, err := Compare(t.Context(), r, []int{1, 2}); err == nil {
		t.Error("sizes are compared with σ given")
	}
	r.Sigma = 0
	if _, _, err := Compare(t.Context(), r, []int{1, 0}); err == nil {
		t.Error("a size of 0 is compared")
	}
}

// Full batches have the whole signal, whatever the number of rounds and the adjacency.
func TestFullBatchesKeepTheWholeSignal(t *testing.T) {
	for _, a := range []dp.Adjacency{dp.AddOrRemove, dp.ReplaceOne} {
		for _, rounds := range []int{1, 7, 300} {
			p := solve(t, Request{N: 1000, SampleSize: 1000, Rounds: rounds, Epsilon: 1, Delta: 1e-5, Adjacency: a})
			if math.Abs(*p.Signal-1) > 2e-3 {
				t.Errorf("%s, %d rounds: %v", a, rounds, *p.Signal)
			}
		}
	}
	if p := solve(t, Request{N: 1000, SampleSize: 1000, Rounds: 7, Epsilon: 1, Delta: 1e-5, Group: 3}); math.Abs(*p.Signal-1) > 2e-3 {
		t.Errorf("persons with 3 records: %v", *p.Signal)
	}
}

// The recommendation keeps its own limits: exactly 100 updates are enough, and exactly 1,000 are not too many.
func TestRecommendedAtTheLimits(t *testing.T) {
	for _, c := range []struct {
		n, clients, size, messages int
		epsilon                    float64
		reason                     string
	}{
		{6400, 1, 64, 100, 1, "the largest power of two with at least 100 updates"},
		{6400, 2, 128, 100, 1, "the largest power of two with at least 100 updates"},
		{64_000, 1, 64, 1000, 0.1, "the least power of two with at most 1000 updates"},
		{32_000, 2, 64, 1000, 0.1, "the least power of two with at most 1000 updates"},
	} {
		b := solve(t, Request{N: c.n, Epochs: 1, Epsilon: c.epsilon, Delta: 1e-6, Clients: c.clients}).Recommended
		if b.SampleSize != c.size || b.Messages != c.messages || b.Bytes != 4*c.messages || b.Reason != c.reason {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}

// The recommended size is a power of two within the budget and follows the documented rule.
func TestRecommendedByTheRule(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 1))
	reasons := map[string]int{}
	for range 20 {
		q := Request{N: int(logUniform(r, 100, 1e6)), Epochs: logUniform(r, 0.2, 200), Epsilon: logUniform(r, 0.05, 10),
			Delta: 1e-6, Clients: 1 + r.IntN(5), Shared: r.IntN(2) == 0}
		p := solve(t, q)
		b := p.Recommended
		if !p.Feasible || b == nil || b.SampleSize != p.Run.SampleSize || b.SampleSize&(b.SampleSize-1) != 0 ||
			p.Epsilon > q.Epsilon || b.Rounds != roundsOf(epochsCount(q.Epochs, q.N), b.SampleSize) {
			t.Fatalf("%+v: %+v, %+v", q, p, b)
		}
		reasons[b.Reason]++
		updates := p.Clients * b.Rounds
		switch {
		case strings.Contains(b.Reason, "80 %"):
			if *b.Signal < 0.8 {
				t.Errorf("%+v: %+v", q, b)
			}
		case strings.Contains(b.Reason, "at most 1000"):
			if updates > 1000 || p.Clients*roundsOf(epochsCount(q.Epochs, q.N), b.SampleSize/2) <= 1000 {
				t.Errorf("%+v: %+v", q, b)
			}
		case strings.Contains(b.Reason, "at least 100"):
			if updates < 100 || *b.Signal >= 0.8 {
				t.Errorf("%+v: %+v", q, b)
			}
		}
	}
	if len(reasons) < 3 {
		t.Errorf("reasons %v", reasons)
	}
}

// Rounds are ⌈kN/s⌉, from sizes, from a rate and from shuffled batches.
func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		epochs float64
		e      dp.Event
		want   int
	}{
		{20, dp.Event{SampleSize: 512, DatasetSize: 50_000}, 1954},
		{15, dp.Event{SampleSize: 512, DatasetSize: 60_000}, 1758},
		{5, dp.Event{SampleSize: 31, DatasetSize: 10_000}, 1613},
		{0.07, dp.Event{SampleSize: 7, DatasetSize: 100}, 1},
		{3, dp.Event{Rate: 0.01}, 300},
		{0.1, dp.Event{Rate: 0.3}, 1},
		{2.5, dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, Rate: 1. / 98}, 245},
	} {
		if got, ok := Rounds(tt.epochs, tt.e); got != tt.want || !ok {
			t.Errorf("%v epochs of %+v: %d, %v, want %d", tt.epochs, tt.e, got, ok, tt.want)
		}
	}
	if _, ok := Rounds(1e9, dp.Event{Rate: 1e-9}); ok {
		t.Error("1e18 rounds are counted")
	}
}

// A plan and a calibration of the same question have the same answer, to the last digit: the rounds in 100
// random settings, and in every fifth of them, because it takes long, also the noise.
func TestPlanAndCalibrationAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 1))
	every := max(20/testkit.Sweeps(t), 5) // plans with PLD are slow
	for i := range 100 {
		q := Request{N: int(logUniform(r, 500, 1e6)), Epochs: logUniform(r, 0.5, 50), Epsilon: logUniform(r, 0.1, 8),
			Delta: 1e-6}
		if i%2 == 0 {
			q.Epochs = math.Ceil(q.Epochs)
		}
		q.SampleSize = int(logUniform(r, 1, float64(q.N)/4)) + 1
		rounds, ok := Rounds(q.Epochs, dp.Event{SampleSize: q.SampleSize, DatasetSize: q.N})
		if i%every != i/every%2 {
			q.Epsilon, q.Sigma, q.Method = 0, 5, RDP
			if p := solve(t, q); p.Run.Rounds != rounds || !ok {
				t.Errorf("%+v: %+v, want %d rounds, %v", q, p.Run, rounds, ok)
			}
			continue
		}
		p := solve(t, q)
		c, err := Calibrate(t.Context(), Target{Epsilon: q.Epsilon, Delta: q.Delta, SampleSize: q.SampleSize,
			DatasetSize: q.N, Steps: rounds, Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}, pld.Accountant{})
		if err != nil || !ok {
			t.Fatalf("%+v: %v", q, err)
		}
		if p.Run.Rounds != rounds || c.Sigma != p.Sigma || c.EpsilonUpper != p.Epsilon {
			t.Errorf("%+v: plan %d rounds with σ = %v, ε = %v; calibration %d, %v, %v", q, p.Run.Rounds, p.Sigma, p.Epsilon,
				rounds, c.Sigma, c.EpsilonUpper)
		}
	}
}
