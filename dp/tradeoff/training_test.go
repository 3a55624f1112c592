package tradeoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
)

func event(q, sigma float64, rounds int) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: q, Count: rounds}
}

func training(t *testing.T, a dp.Accountant, p Profile, events ...dp.Event) Curves {
	t.Helper()
	curves, err := Training(t.Context(), a, events, p, alphas(t, 201))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range curves {
		if err := c.check(); err != nil {
			t.Error(err)
		}
	}
	return curves
}

// Full batches compose to G_μ, μ² = Σ 1/σ² (Corollary 3.3): its lower and upper
// curve are around it, and nearer with more ε.
func TestTrainingOfFullBatchesIsGaussian(t *testing.T) {
	events := []dp.Event{event(1, 5, 9), event(1, 2.5, 4)} // μ = 1
	exact := Sample(Label{Name: "G_1"}, func(a float64) float64 { return Gaussian(1, a) }, alphas(t, 201))
	for _, tt := range []struct {
		n            int
		lower, upper float64
	}{{20, 0.008, 0.2}, {2000, 1e-6, 0.002}} {
		curves := training(t, gdp.Accountant{}, Profile{1e-9, tt.n}, events...)
		if len(curves) != 2 || curves[0].Side != Lower || curves[1].Side != Upper {
			t.Fatalf("curves %v", curves)
		}
		lower, upper := curves[0], curves[1]
		atLeast(t, exact, lower, 1e-13)
		atLeast(t, upper, exact, 1e-13)
		atLeast(t, lower, exact, tt.lower)
		atLeast(t, exact, upper, tt.upper)
		if want := (Label{"gdp lower", Lower, "gdp", dp.AddOrRemove, dp.Poisson}); lower.Label != want {
			t.Errorf("label %+v, want %+v", lower.Label, want)
		}
	}
}

// The central limit theorem's curve is an approximation and says so.
func TestTrainingOfSampledRoundsIsAnApproximation(t *testing.T) {
	curves := training(t, gdp.Accountant{}, Profile{1e-9, 500}, event(0.0026, 19.29962, 1923))
	if len(curves) != 1 || curves[0].Side != Approximation {
		t.Fatalf("curves %v", curves)
	}
	mu, err := gdp.MuPoisson(0.0026, 19.29962, 1923)
	if err != nil {
		t.Fatal(err)
	}
	exact := Sample(Label{Name: "G_μ"}, func(a float64) float64 { return Gaussian(mu, a) }, alphas(t, 201))
	atLeast(t, exact, curves[0], 1e-13)
	atLeast(t, curves[0], exact, 1e-6)
}

// An upper bound on ε gives a lower curve only, below the approximation here;
// ε for which the theorem has no δ are left out.
func TestTrainingOfClosedForm(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 19.29962, SampleSize: 26,
		DatasetSize: 10000, Count: 1923}
	closed := training(t, closedform.Accountant{}, Profile{1e-12, 50}, e)
	if len(closed) != 1 || closed[0].Side != Lower {
		t.Fatalf("curves %v", closed)
	}
	if closed[0].Points[0].Beta < 0.99 {
		t.Errorf("f(0) = %v", closed[0].Points[0].Beta)
	}
	clt := training(t, gdp.Accountant{}, Profile{1e-12, 50}, e)
	atLeast(t, clt[0], closed[0], 0)
}

// Only the interval of δ counts: the answers of an accountant that knows δ to a
// factor lie around the true curve.
type factor struct{ gdp.Accountant }

func (f factor) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	b, err := f.Accountant.Epsilon(ctx, events, delta)
	b.Kind = dp.Interval
	return b, err
}

func (f factor) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	b, err := f.Accountant.Delta(ctx, events, epsilon)
	b.Kind, b.DeltaLower, b.DeltaUpper = dp.Interval, b.Delta/4, b.Delta*4
	return b, err
}

func TestTrainingOfIntervals(t *testing.T) {
	curves := training(t, factor{}, Profile{1e-6, 300}, event(1, 0.5, 1)) // 4·δ(0) > 1
	exact := Sample(Label{Name: "G_2"}, func(a float64) float64 { return Gaussian(2, a) }, alphas(t, 201))
	if len(curves) != 2 {
		t.Fatalf("curves %v", curves)
	}
	atLeast(t, exact, curves[0], 0)
	atLeast(t, curves[1], exact, 0)
	if gap, _, err := curves[0].leastGap(exact); err != nil || gap > -0.01 {
		t.Errorf("the factor 4 is not seen: gap %v, %v", gap, err)
	}
}

// refuses answers δ with an error from some ε on.
type refuses struct {
	gdp.Accountant
	from float64
	err  error
}

func (r refuses) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	if epsilon >= r.from {
		return dp.Bound{}, r.err
	}
	return r.Accountant.Delta(ctx, events, epsilon)
}

// What is not covered is left out of the curve, which stays safe; any other
// error ends it.
func TestTrainingWithGaps(t *testing.T) {
	uncovered, broken := fmt.Errorf("here: %w", dp.ErrNotCovered), errors.New("broken")
	some := training(t, refuses{from: 1, err: uncovered}, Profile{1e-6, 300}, event(1, 1, 1))
	exact := Sample(Label{Name: "G_1"}, func(a float64) float64 { return Gaussian(1, a) }, alphas(t, 201))
	atLeast(t, exact, some[0], 1e-13)
	atLeast(t, some[1], exact, 1e-13)
	near(t, "f(0) from ε up to 1", some[0].Points[0].Beta, 1-gdp.Delta(1, 1), 0.01)
	for _, r := range []refuses{{from: 0, err: uncovered}, {from: 1, err: broken}} {
		if _, err := Training(t.Context(), r, []dp.Event{event(1, 1, 1)}, Profile{1e-6, 300},
			alphas(t, 11)); !errors.Is(err, r.err) {
			t.Errorf("%v, want %v", err, r.err)
		}
	}
}

// together is an accountant that answers for many ε together.
type together struct {
	gdp.Accountant
	t *testing.T
}

func (a together) Delta(context.Context, []dp.Event, float64) (dp.Bound, error) {
	a.t.Error("asked for one ε")
	return dp.Bound{}, errors.New("one ε")
}

func (a together) Profile(ctx context.Context, events []dp.Event, epsilons []float64) ([]dp.Bound, error) {
	return deltas(ctx, a.Accountant, events, epsilons)
}

// An accountant that answers for many ε together is asked for all of them at once.
func TestTrainingAsksForAllTogether(t *testing.T) {
	got := training(t, together{t: t}, Profile{1e-6, 300}, event(1, 1, 1))
	want := training(t, gdp.Accountant{}, Profile{1e-6, 300}, event(1, 1, 1))
	for i, c := range got {
		if !slices.Equal(c.Points, want[i].Points) {
			t.Errorf("curve %s differs", c.Name)
		}
	}
}

// unasked is an accountant that must not be asked.
type unasked struct {
	gdp.Accountant
	t *testing.T
}

func (c unasked) Epsilon(context.Context, []dp.Event, float64) (dp.Bound, error) {
	c.t.Error("the accountant was asked")
	return dp.Bound{}, errors.New("asked")
}

func TestTrainingErrors(t *testing.T) {
	grid := alphas(t, 11)
	for _, n := range []int{math.MinInt, 1, MaxGuarantees + 1, math.MaxInt} {
		_, err := Training(t.Context(), unasked{t: t}, []dp.Event{event(1, 1, 1)}, Profile{1e-5, n}, grid)
		if want := fmt.Sprintf("number of epsilons = %d, must be in [2, %d]", n, MaxGuarantees); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Training(t.Context(), gdp.Accountant{}, nil, Profile{1e-5, 9}, grid); !errors.Is(err,
		dp.ErrNotCovered) {
		t.Errorf("no events: %v", err)
	}
	if _, err := Training(t.Context(), gdp.Accountant{}, []dp.Event{event(1, 1, 1)}, Profile{math.NaN(), 9},
		grid); err == nil || errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("δ = NaN: %v", err)
	}
}

// unbounded is an accountant that has no upper end of ε.
type unbounded struct{ gdp.Accountant }

func (unbounded) Epsilon(context.Context, []dp.Event, float64) (dp.Bound, error) {
	return dp.Bound{EpsilonLower: 1, Epsilon: math.Inf(1), EpsilonUpper: math.Inf(1), Kind: dp.Interval}, nil
}

// Where no ε is proved there is none to ask at, and that is not the caller's fault.
func TestTrainingWithoutAnUpperEnd(t *testing.T) {
	_, err := Training(t.Context(), unbounded{}, []dp.Event{event(1, 1, 1)}, Profile{1e-6, 9}, alphas(t, 11))
	if !errors.Is(err, dp.ErrNotCovered) {
		t.Error(err)
	}
}
