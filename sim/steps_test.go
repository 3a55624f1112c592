package sim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

// Each schedule has the right first step, middle and end. In between it is positive and falls, to 0 at t =
// K for schedules that end there.
func TestSchedulesFall(t *testing.T) {
	const eta0, beta, k = 0.1, 0.01, 360_000
	for decay, want := range map[Decay]struct{ middle, end float64 }{
		LinearDecay: {eta0 / (1 + beta*k/2), eta0 / (1 + beta*k)},
		SqrtDecay:   {eta0 / (1 + beta*math.Sqrt(k/2)), eta0 / (1 + beta*math.Sqrt(k))},
		NoDecay:     {eta0, eta0},
		ZeroDecay:   {eta0 / 2, 0},
		CosineDecay: {eta0 / 2, 0},
	} {
		s := StepSize{Eta0: eta0, Beta: beta, Decay: decay}
		if decay.Ends() {
			s.Beta = 0
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", decay, err)
		}
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-15) {
				t.Errorf("%s: η̄ %s is %v, want %v", decay, what, got, want)
			}
		}
		near("at the start", s.At(0, k), eta0)
		near("in the middle", s.At(k/2, k), want.middle)
		near("at the end", s.At(k, k), want.end)
		before := math.Inf(1)
		for at := 0; at < k; at += 370 {
			now := s.At(at, k)
			if now > before || now == before && decay != NoDecay || !(now > 0) {
				t.Fatalf("%s: η̄ = %v at t = %d after %v, must fall and stay above 0", decay, now, at, before)
			}
			before = now
		}
	}
	if last := (StepSize{Eta0: eta0, Decay: CosineDecay}).At(1<<30-1, 1<<30); !(last > 0) {
		t.Errorf("the last of 2^30 steps of the cosine is %v, must be above 0", last)
	}
}

// The cosine is (1 + cos(πt/K))/2, however it is computed.
func TestCosineIsTheCosine(t *testing.T) {
	s := StepSize{Eta0: 1, Decay: CosineDecay}
	for at := range 1000 {
		if got, want := s.At(at, 1000), (1+math.Cos(math.Pi*float64(at)/1000))/2; math.Abs(got-want) > 1e-15 {
			t.Errorf("η̄ at %d of 1000 is %v, want %v", at, got, want)
		}
	}
}

// For schedules that end, K counts the gradients of the rounds that are run, also if batch sizes grow.
func TestSchedulesEndWithTheRounds(t *testing.T) {
	sizes := dp.PolynomialSizes{First: 10, Slope: 1, Power: 1}
	const rounds = 20
	s := newSchedule(sizes, rounds, StepSize{Eta0: 1, Decay: ZeroDecay}, false)
	k := s.before[rounds]
	for i := range rounds {
		eta := s.eta(i)
		if want := float32(float64(k-s.before[i]) / float64(k)); eta != want {
			t.Errorf("round %d of %d: η̄ = %v, want 1 − %d/%d = %v", i, rounds, eta, s.before[i], k, want)
		}
	}
}

func TestSchedulesThatEndHaveNoBeta(t *testing.T) {
	for _, decay := range []Decay{ZeroDecay, CosineDecay} {
		err := StepSize{Eta0: 1, Beta: 0.001, Decay: decay}.Validate()
		if err == nil || !strings.Contains(err.Error(), "beta = 0.001, must be 0: schedule \""+string(decay)) {
			t.Errorf("%s with β: error %v", decay, err)
		}
	}
	if err := (StepSize{Eta0: 1, Decay: "step"}).Validate(); err == nil ||
		!strings.Contains(err.Error(),
			`schedule = "step", must be one of ["linear" "sqrt" "constant" "zero" "cosine"]`) {
		t.Errorf("an unknown schedule: error %v", err)
	}
}

// A long run with equal sizes keeps nothing for a round, and has the step sizes of one that does.
func TestEqualSizesNeedNoMemoryForARound(t *testing.T) {
	const rounds = 1000
	for _, decay := range Decays() {
		steps := StepSize{Eta0: 1, Decay: decay}
		few := newSchedule(dp.ConstantSizes(7), rounds, steps, false)
		all := newSchedule(dp.ConstantSizes(7), rounds, steps, true)
		if few.before != nil || len(all.before) != rounds+1 {
			t.Errorf("%d and %d sums of sizes are kept, want 0 and %d", len(few.before), len(all.before), rounds+1)
		}
		for i := range rounds {
			if few.gradients(i) != all.gradients(i) || few.eta(i) != all.eta(i) {
				t.Fatalf("%s: round %d: η̄ = %v after %d gradients, want %v after %d", decay, i, few.eta(i), few.gradients(i),
					all.eta(i), all.gradients(i))
			}
		}
	}
	sched := newSchedule(dp.ConstantSizes(1), rounds, StepSize{Eta0: 1}, false)
	s := newServer(frame{clients: 2, params: 1, rounds: rounds, sched: sched}, make([]float32, 1))
	for i := range 2 * rounds { // client 1 is always 5 rounds behind
		client, round := i%2, i/2
		if client == 1 {
			round -= 5
		}
		if round < 0 {
			continue
		}
		if _, err := s.Receive(Update{client, round, make([]float32, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if s.K() != rounds-5 || len(s.state.at) != 8 {
		t.Errorf("k = %d and counts of %d rounds, want %d and 8", s.K(), len(s.state.at), rounds-5)
	}
}
