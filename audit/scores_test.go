package audit

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/rng"
)

// With two canaries and two right guesses, the recursion has two steps: q_1 = τ + 2Φ(Φ⁻¹(τ) - μ) and q_0 =
// (τ + q_1)/2 + Φ(Φ⁻¹((q_1 + τ)/2) - μ). Here τ is the level, Φ the distribution function of the standard
// normal, and μ the parameter of the Gaussian mechanism. Values computed by hand:
//
//   - For μ = 0, q_0 is 4τ, because two fair coins are guessed with probability 1/4.
//   - For μ = 1 and τ = 1/2, Φ(-1) = 0.158655 gives q_1 = 0.817311. With Φ⁻¹(0.658655) = 0.408796,
//     q_0 = 0.658655 + Φ(-0.591204) = 0.935847.
//   - For μ = 1 and τ = 0.55, Φ⁻¹(0.55) = 0.125661 gives q_1 = 0.55 + 2·Φ(-0.874339) = 0.931934. With
//     Φ⁻¹(0.740967) = 0.646329, q_0 = 0.740967 + Φ(-0.353671) = 1.102760.
func TestGaussianByHand(t *testing.T) {
	two := OneRun{2, 2, 2}
	for _, c := range []struct {
		mu, level float64
		want      bool
	}{{0, 0.2499, false}, {0, 0.2501, true}, {1, 0.5, false}, {1, 0.55, true}} {
		if got := two.refutesGaussian(c.mu, c.level); got != c.want {
			t.Errorf("μ = %v at level %v refuted: %v, want %v", c.mu, c.level, got, c.want)
		}
	}
	const all = 10 // all of ten fair coins
	for factor, want := range map[float64]bool{0.999: false, 1.001: true} {
		if got := (OneRun{all, all, all}).refutesGaussian(0, factor*0x1p-10); got != want {
			t.Errorf("perfect privacy at %v of the probability refuted: %v, want %v", factor, got, want)
		}
	}
}

// The oracle has the formulas of _epsilon_one_run and _epsilon_one_run_fdp in jax_privacy/auditing.py
// (github.com/google-deepmind/jax_privacy, commit 3740a65), computed with exact binomial coefficients and
// Python's statistics.NormalDist. Results for whole score files are not compared, because that library
// works differently there: it only guesses members, and corrects for thresholds on the convex hull of the
// ROC curve, which depend on the coins.
func TestAgainstJAXPrivacy(t *testing.T) {
	for _, c := range []struct {
		g                                OneRun
		level, delta, epsilon, mu, gauss float64
	}{
		{OneRun{1000, 100, 90}, 0.05, 1e-5, 1.626143481, 0.602503607, 2.456404893},
		{OneRun{1000, 1000, 600}, 0.05, 1e-5, 0.297226954, 0.163849808, 0.583540473},
		{OneRun{500, 250, 200}, 0.01, 1e-6, 1.017589167, 0.411367466, 1.820465259},
		{OneRun{100, 10, 10}, 0.05, 1e-5, 1.048237059, 0.416410055, 1.625892132},
		{OneRun{10000, 200, 196}, 1e-3, 1e-7, 2.544235432, 0.682270466, 3.497642616},
	} {
		e, err := c.g.epsilon(c.delta, c.level)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "ε", e, c.epsilon, 1e-7)
		near(t, "μ", c.g.mu(0, c.level), c.mu, 2e-6)
		gauss, err := gdp.Epsilon(c.g.mu(0, c.level), c.delta)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "ε of μ", gauss, c.gauss, 5e-6)
	}
}

// The bounds grow with the number of right guesses and with the level.
func TestBoundsOfScoresAreMonotone(t *testing.T) {
	last, lastMu := 0.0, 0.0
	for right := 40; right <= 60; right++ {
		g := OneRun{300, 60, right}
		e, err := g.epsilon(1e-6, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		strict, err := g.epsilon(1e-6, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		mu := g.mu(0, 0.05)
		if e < last || mu < lastMu || strict > e || g.mu(0, 0.01) > mu {
			t.Errorf("%d right: ε = %v after %v, %v at a lower level; μ = %v after %v", right, e, last, strict, mu, lastMu)
		}
		last, lastMu = e, mu
	}
	if last < 2 || lastMu < 0.5 {
		t.Errorf("all right: ε = %v, μ = %v are too small", last, lastMu)
	}
}

// drawn returns scores of n canaries, drawn by an attack that sees the coin of each canary.
func drawn(n int, draws *rng.Stream, score func(member bool) float64) Scores {
	var s Scores
	for range n {
		s.Member = append(s.Member, draws.IntN(2) == 1)
		s.Score = append(s.Score, score(s.Member[len(s.Member)-1]))
	}
	return s
}

// Bounds from scores must not exceed the true ε of two known mechanisms:
//
//   - Randomized response publishes each coin, but the wrong side with probability 1/(1+e^ε). It is (ε, 0)-DP, and for no
//     smaller ε.
//   - Scores from N(μ, 1) for members and N(0, 1) for others are the output of a Gaussian mechanism, whose ε at δ is known.
//
// At 90 % confidence, at most a tenth of the bounds may exceed it. If each does so with probability 0.1,
// more than 25 of 100 do so with probability 6e-6.
func TestScoresDoNotExceedTheTruth(t *testing.T) {
	const epsilon, mu, runs, allowed = 1.0, 1.0, 100, 25
	draws := rng.New(11).Stream(rng.Synthetic, 0, 0)
	o := ScoresOptions{Delta: 1e-5, Confidence: 0.9}
	audited := func(score func(bool) float64) *ScoresReport {
		o.Seed++
		r, err := drawn(200, draws, score).Audit(o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	flip := 1 / (1 + math.Exp(epsilon))
	above, aboveMu := 0, 0
	sum, sumMu := 0.0, 0.0
	for range runs {
		r := audited(func(member bool) float64 {
			if (draws.Float64() < flip) != member {
				return 1
			}
			return 0
		})
		sum += r.EpsilonLowerBound / runs
		if r.EpsilonLowerBound > epsilon {
			above++
		}
		r = audited(func(member bool) float64 {
			if member {
				return draws.Normal() + mu
			}
			return draws.Normal()
		})
		sumMu += r.Gaussian.Mu / runs
		if r.Gaussian.Mu > mu {
			aboveMu++
		}
		if r.Gaussian.EpsilonLowerBound < r.Gaussian.Mu {
			t.Errorf("μ = %v: ε = %v at δ = %v", r.Gaussian.Mu, r.Gaussian.EpsilonLowerBound, o.Delta)
		}
	}
	t.Logf("ε above the truth in %d of %d, μ in %d; means %.3f and %.3f", above, runs, aboveMu, sum, sumMu)
	if above > allowed || aboveMu > allowed {
		t.Errorf("ε is above the truth in %d of %d, μ in %d", above, runs, aboveMu)
	}
	if sum < 0.4*epsilon || sumMu < 0.2*mu {
		t.Errorf("the bounds %v of ε = %v and %v of μ = %v say little", sum, epsilon, sumMu, mu)
	}
}

// A file may list all members first. If all scores are equal, no order of the lines gives any evidence.
func TestOrderOfTheFileSaysNothing(t *testing.T) {
	for _, first := range []bool{false, true} {
		s := Scores{Score: make([]float64, 400)}
		for i := range s.Score {
			s.Member = append(s.Member, i < 200 == first)
		}
		r, err := s.Audit(ScoresOptions{Delta: 1e-5, Confidence: 0.99})
		if err != nil {
			t.Fatal(err)
		}
		if r.EpsilonLowerBound != 0 || r.Gaussian.Mu != 0 || r.Attack.AUC != 0.5 {
			t.Errorf("equal scores, members first = %v: ε = %v, μ = %v, AUC = %v", first, r.EpsilonLowerBound,
				r.Gaussian.Mu, r.Attack.AUC)
		}
	}
}

// The reported bounds are the largest over all choices of the number of guesses. Each choice gets its part
// of the level.
func TestChoicesShareTheLevel(t *testing.T) {
	draws := rng.New(5).Stream(rng.Synthetic, 0, 0)
	s := drawn(300, draws, func(member bool) float64 {
		if member {
			return draws.Normal() + 2
		}
		return draws.Normal()
	})
	r, err := s.Audit(ScoresOptions{Delta: 1e-6, Confidence: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	epsilon, mu, all := 0.0, 0.0, choices(300)
	for _, c := range all {
		g := counted(c, s.ranked(0))
		e, err := g.epsilon(1e-6, 0.05/float64(len(all)))
		if err != nil {
			t.Fatal(err)
		}
		epsilon, mu = max(epsilon, e), max(mu, g.mu(0, 0.05/float64(len(all))))
	}
	near(t, "ε", r.EpsilonLowerBound, epsilon, 1e-12)
	near(t, "μ", r.Gaussian.Mu, mu, 1e-8)
	if r.Tests != len(all) || epsilon < 0.5 {
		t.Errorf("%d tests of %d choices, ε = %v", r.Tests, len(all), epsilon)
	}
}

// The choices depend only on the number of canaries. No choice guesses a canary twice.
func TestChoices(t *testing.T) {
	for _, n := range []int{MinCanaries, 21, 1000, MaxCanaries} {
		all := choices(n)
		if len(all) == 0 || len(all) > 40 {
			t.Errorf("%d canaries: %d choices", n, len(all))
		}
		for _, c := range all {
			if c.high < 0 || c.low < 0 || c.high+c.low > n || c.high+c.low < 10 {
				t.Errorf("%d canaries: %+v", n, c)
			}
		}
	}
}

// Members have the scores 4, 3 and 1, others 2, 1 and 0. Against the three others, the members win 3, 3
// and 1½ pairs.
func TestAttackByHand(t *testing.T) {
	s := Scores{Member: []bool{true, false, true, false, true, false}, Score: []float64{4, 2, 3, 1, 1, 0}}
	a := s.attack(0.05)
	near(t, "AUC", a.AUC, 7.5/9, 1e-15)
	if len(a.Curve) != 5 {
		t.Fatalf("%d thresholds, want 5", len(a.Curve))
	}
	for _, r := range a.Rates {
		if r.FalsePositives != 0 || r.TruePositives != 2 || *r.Threshold != 3 || r.TPRHigh < r.TPR || r.TPRLow > r.TPR {
			t.Errorf("%+v, want two members of three at the threshold 3", r)
		}
	}
	// The ends at which exp(-k·KL) is the level: for a mean of 1 this is p^k.
	low, high := hoeffding(1, 20, 0.025)
	near(t, "low", low, math.Pow(0.025, 1./20), 1e-9)
	if high != 1 {
		t.Errorf("high = %v, want 1", high)
	}
	low, high = hoeffding(0, 20, 0.025)
	near(t, "high", high, 1-math.Pow(0.025, 1./20), 1e-9)
	if low != 0 {
		t.Errorf("low = %v, want 0", low)
	}
	low, high = hoeffding(0.5, 50, 0.025)
	near(t, "symmetric ends", low+high, 1, 1e-9)
	near(t, "divergence", 50*divergence(0.5, high), -math.Log(0.025), 1e-9)
}

// scoresText returns a file of n canaries, every second a member, with a line changed.
func scoresText(n int, changed map[int]string) string {
	text := "id,member,score\n"
	for i := range n {
		line, ok := changed[i]
		if !ok {
			line = fmt.Sprintf("%d,%d,%d.5", i, i%2, i)
		}
		text += line + "\n"
	}
	return text
}

func TestReadScores(t *testing.T) {
	s, err := ReadScores(strings.NewReader("\uFEFF" + scoresText(20, map[int]string{3: ` 3 , 1 , "-1e-3"`})))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Score) != 20 || !s.Member[3] || s.Member[4] || s.Score[3] != -1e-3 || s.Score[4] != 4.5 {
		t.Errorf("%+v", s)
	}
	all := map[int]string{}
	for i := range 100 {
		all[i] = fmt.Sprintf("%d,1,0.5", i)
	}
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"member\n1\n", "must have the column score"},
		{"id,score\n1,1\n", "must have the column member"},
		{"member,score,member\n1,1,1\n", "the column member twice"},
		{scoresText(20, map[int]string{3: "3,2,1"}), `scores:5: member = "2", must be 0 or 1`},
		{scoresText(20, map[int]string{3: "3,true,1"}), `member = "true"`},
		{scoresText(20, map[int]string{3: "3,1,NaN"}), `scores:5: score = "NaN", must be a finite number`},
		{scoresText(20, map[int]string{3: "3,1,-inf"}), `score = "-inf"`},
		{scoresText(20, map[int]string{3: "3,1,1e999"}), `score = "1e999"`},
		{scoresText(20, map[int]string{3: "3,1,"}), `score = ""`},
		{scoresText(20, map[int]string{3: "3,1"}), "wrong number of fields"},
		{scoresText(20, map[int]string{3: `3,1,"1`}), "extraneous or missing"},
		{scoresText(20, map[int]string{3: "3,x,1", 9: "9,1,y"}), `scores:11: score = "y"`},
		{scoresText(20, map[int]string{3: "3,1,1", 9: " 3 ,1,1"}), `scores:11: id = "3", must not be that of line 5`},
		{scoresText(19, nil), "canaries = 19, must be in [20, 100000]"},
		{scoresText(100, all), "all 100 canaries have the same member"},
		{scoresText(100, halfOf(all)), "100 canaries are members, must be about half"},
		{strings.Repeat(" ", MaxScoresBytes+1), "too large"},
	} {
		if _, err := ReadScores(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	_, err = ReadScores(strings.NewReader("member,score\n" + strings.Repeat("2,1\n", 1000)))
	if n := strings.Count(err.Error(), "\n"); n != maxScoreErrors-1 {
		t.Errorf("%d bad lines are reported, want %d", n+1, maxScoreErrors)
	}
}

// halfOf leaves out half of the changed lines, so that three of four canaries are members.
func halfOf(changed map[int]string) map[int]string {
	half := map[int]string{}
	for i, line := range changed {
		if i < 60 {
			half[i] = line
		}
	}
	return half
}

func TestScoresOptions(t *testing.T) {
	s, err := ReadScores(strings.NewReader(scoresText(20, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    ScoresOptions
		want string
	}{
		{ScoresOptions{Confidence: 0.9}, "delta = 0"},
		{ScoresOptions{Delta: math.NaN(), Confidence: 0.9}, "delta = NaN"},
		{ScoresOptions{Delta: 1e-5, Confidence: 1}, "confidence = 1"},
		{ScoresOptions{Delta: 1e-5, Confidence: math.NaN()}, "confidence = NaN"},
		{ScoresOptions{Delta: 1e-5, Confidence: 0.9, Guesses: 3}, "guesses = 3, must be even"},
		{ScoresOptions{Delta: 1e-5, Confidence: 0.9, Guesses: -2}, "guesses = -2"},
		{ScoresOptions{Delta: 1e-5, Confidence: 0.9, Guesses: 22}, "guesses = 22, must be at most the 20 canaries"},
	} {
		if _, err := s.Audit(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	r, err := s.Audit(ScoresOptions{Delta: 1e-5, Confidence: 0.9, Guesses: 10})
	if err != nil || r.Tests != 1 || r.OneRun.Guesses != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The file from DrawCanaries has a fair coin for each canary. ReadScores reads this file after a column of
// scores is added.
func TestDrawCanaries(t *testing.T) {
	var text bytes.Buffer
	if err := DrawCanaries(&text, 1000, rng.New(1)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), ",1\n"); n < 420 || n > 580 { // five standard deviations
		t.Errorf("%d of 1000 coins show a member", n)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	scored := strings.Join(lines, ",1\n") + ",1"
	s, err := ReadScores(strings.NewReader(strings.Replace(scored, "id,member,1", "id,member,score", 1)))
	if err != nil || len(s.Member) != 1000 || lines[1000][:4] != "999," {
		t.Errorf("%d canaries, %v", len(s.Member), err)
	}
	for _, n := range []int{-1, 0, MinCanaries - 1, MaxCanaries + 1} {
		if err := DrawCanaries(&text, n, rng.New(1)); err == nil {
			t.Errorf("%d canaries are drawn", n)
		}
	}
}

func FuzzReadScores(f *testing.F) {
	f.Add([]byte(scoresText(20, nil)))
	f.Add([]byte("score,member\n\"1\",0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadScores(bytes.NewReader(text))
		if err != nil {
			return
		}
		r, err := s.Audit(ScoresOptions{Delta: 1e-5, Confidence: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		if !(r.EpsilonLowerBound >= 0 && r.EpsilonLowerBound < 40 && r.Attack.AUCLow <= r.Attack.AUC && r.Attack.AUC <= r.Attack.AUCHigh) {
			t.Errorf("%+v", r)
		}
		if err := r.WriteText(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}
