package audit

import (
	"math"
	"testing"
)

// With two guesses, both right, the sums have one or two terms, so the p-value can be computed by hand: it
// is p² plus 2mδ·max{2p(1-p), (1-p²)/2}, for m canaries and p = e^ε/(1+e^ε).
func TestPValueByHand(t *testing.T) {
	const canaries, delta = 7, 1e-3
	for _, epsilon := range []float64{0, 0.5, 2} {
		p := math.Exp(epsilon) / (1 + math.Exp(epsilon))
		want := p*p + 2*canaries*delta*max(2*p*(1-p), (1-p*p)/2)
		near(t, "p-value", OneRun{canaries, 2, 2}.pValue(epsilon, delta), want, 1e-12)
	}
	if got := (OneRun{10, 4, 0}).pValue(1, 0); math.Abs(got-1) > 1e-12 {
		t.Errorf("no right guess or more has the probability %v, want 1", got)
	}
}

// If all r guesses are right, ε is refuted if (e^ε/(1+e^ε))^r is at most the level.
func TestEpsilonOfGuesses(t *testing.T) {
	const made, level = 50, 1e-3
	p := math.Pow(level, 1./made)
	got, err := OneRun{made, made, made}.epsilon(0, level)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ε", got, math.Log(p/(1-p)), 1e-6)
	for _, g := range []OneRun{{made, made, made / 2}, {made, made, 0}, {made, made, 34}} {
		if got, err := g.epsilon(0, level); err != nil || got != 0 {
			t.Errorf("%+v: ε = %v, %v, want 0: guessing does as well", g, got, err)
		}
	}
	if got, err := (OneRun{made, made, made}).epsilon(1, level); err != nil || got != 0 {
		t.Errorf("δ = 1: ε = %v, %v, want 0", got, err)
	}
}

func TestGuess(t *testing.T) {
	scores := []float32{-2, 0.1, 3, 0, -1, 2}
	absent := []bool{true, false, false, true, false, true}
	// Guessed out: 0 (right) and 4; in: 2 (right) and 5.
	if got, want := guess(scores, absent, 4), (OneRun{6, 4, 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
