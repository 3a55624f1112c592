package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/rdp"
)

// Tables tbl:accountant_comparison_ICML_table_2, _3 and _4: s_max as printed is
// that of one update of γ from 2; the printed γ, converged, allows more.
func TestMethodsOfThePaper(t *testing.T) {
	for _, tt := range []struct {
		n             int
		k, sigma      float64
		asRun         float64 // γ after one update
		printed       int     // s_max in the tables
		gamma, exact  float64 // of the printed γ, converged
		tableEpsilon  float64
		tableTimesMax float64 // s_max as run, real-valued
	}{
		{10000, 5, 19.29962, 3.8149, 26, 3.12524, 31.82, 0.0497, 26.07},
		{60000, 6, 12.10881, 5.2811, 288, 3.66788, 414.81, 0.1521, 288.10},
		{50000, 7, 6.572, 9.2253, 406, 4.62462, 811.41, 0.5253, 406.76},
	} {
		near := func(what string, got, want, tol float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tol) {
				t.Errorf("N = %d: %s = %v, want %v", tt.n, what, got, want)
			}
		}
		p := solve(t, Request{N: tt.n, Delta: 1 / float64(tt.n), Epochs: tt.k, Sigma: tt.sigma, Method: Paper})
		near("γ as run", *p.Gamma, tt.asRun, 5.1e-5)
		near("s as run", *p.SMaxReal, tt.tableTimesMax, 5.1e-3)
		near("ε", p.Epsilon, tt.tableEpsilon, 1e-4)
		if !p.Feasible || p.SMax != tt.printed || p.Run.SampleSize != tt.printed {
			t.Errorf("N = %d: as run %+v", tt.n, p)
		}
		q := solve(t, Request{N: tt.n, Delta: 1 / float64(tt.n), Epochs: tt.k, Sigma: tt.sigma, Method: Printed})
		near("γ printed", *q.Gamma, tt.gamma, 5.1e-6)
		near("s for the printed γ", *q.SMaxReal, tt.exact, 5.1e-3)
		for _, p := range []*Plan{p, q} {
			if p.Kind != dp.Approximation || p.PerRecord.Kind != dp.Approximation ||
				!math.IsInf(p.PerRecord.EpsilonUpper, 1) || !strings.Contains(p.Statement(), "not a guarantee") {
				t.Errorf("%s is claimed as a guarantee: %+v, %+v", p.Method, p, p.PerRecord)
			}
		}
	}
}

// For any two of (k, s, T) and σ there is an ε; for that ε, every other unknown
// comes back, on the side of privacy, and what is run stays within the target.
func TestEveryUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for i := range 40 {
		m := []Method{ClosedForm, RDP}[i%2]
		given := Request{N: int(logUniform(r, 1e4, 1e6)), Sigma: logUniform(r, 4, 30), Method: m, Theta: 1}
		if r.IntN(2) == 0 {
			given.Theta = 1.5
		}
		if r.IntN(3) == 0 {
			given.Clients, given.Shared = 3, true
		}
		given.SampleSize, given.Rounds = int(logUniform(r, 10, float64(given.N)/500)), int(logUniform(r, 100, 5000))
		p := solve(t, given)
		if !p.Feasible || p.Epochs != float64(given.SampleSize)*float64(given.Rounds)/float64(given.N) ||
			p.Run.Remainder != 0 {
			t.Fatalf("%+v: %+v", given, p)
		}
		target := p.Epsilon * (1 + 1e-6)
		check := func(what string, got *Plan) {
			t.Helper()
			if !got.Feasible || got.Epsilon > target || got.Epsilon < target*(1-1e-3) ||
				got.PerRecord.EpsilonUpper > target || got.TargetEpsilon != target ||
				got.PerClient.EpsilonUpper > got.PerRecord.EpsilonUpper {
				t.Errorf("%s of %+v at ε = %v: %+v", what, given, target, got)
			}
		}

		q := given
		q.Sigma, q.Epsilon = 0, target
		got := solve(t, q)
		check("σ", got)
		if got.Sigma > given.Sigma*(1+2e-4) {
			t.Errorf("%+v: σ = %v", given, got.Sigma)
		}
		q = given
		q.Rounds, q.Epsilon = 0, target
		got = solve(t, q)
		if check("T", got); got.Run.Rounds < given.Rounds {
			t.Errorf("%+v: T = %d", given, got.Run.Rounds)
		}
		q = given
		q.SampleSize, q.Epsilon = 0, target
		got = solve(t, q)
		if got.Run == nil || got.Run.SampleSize < given.SampleSize || got.Epsilon > target {
			t.Errorf("%+v: %+v", given, got)
		}
		// k in the place of s or of T.
		for _, with := range []func(*Request){func(q *Request) { q.Rounds = 0 },
			func(q *Request) { q.SampleSize = 0 }} {
			q = given
			q.Epochs = p.Epochs
			with(&q)
			if got := solve(t, q); got.Epsilon != p.Epsilon || *got.Run != *p.Run {
				t.Errorf("%+v: %+v, %+v, want %+v", q, got, got.Run, p.Run)
			}
		}
	}
}

// The closed form is checked by its own conditions for every unknown: simpleF holds at the claimed ε.
func TestClosedFormConditionsHoldForEveryUnknown(t *testing.T) {
	for _, r := range []Request{
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 20, Rounds: 1000, Sigma: 19.3},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 20, Rounds: 1000, Epsilon: 0.1},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 20, Sigma: 19.3, Epsilon: 0.1},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Rounds: 1000, Sigma: 19.3, Epsilon: 0.1},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, SampleSize: 20, Epsilon: 0.1, Theta: 1.3},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Rounds: 3000, Sigma: 19.3, Theta: 2},
	} {
		p := solve(t, r)
		if !p.Feasible || !closedform.Holds(p.Conditions, closedform.SimpleF) || len(p.Conditions) != 11 ||
			p.Gamma == nil || p.Kind != dp.Upper {
			t.Errorf("%+v: %+v", r, p)
		}
	}
	// σ is that of (treq4) if ε is what is asked for.
	p := solve(t, Request{Method: ClosedForm, N: 10000, SampleSize: 20, Rounds: 1000, Epsilon: 2, Delta: 1e-4})
	if math.Abs(p.Sigma-3.34818) > 1e-5 {
		t.Errorf("σ = %v, want σ_eq = 3.34818", p.Sigma)
	}
}

// A record that n clients hold pays for n·T rounds, and the target is for it.
func TestSharedRecordsPayForAll(t *testing.T) {
	alone := Request{N: 60000, Delta: 1. / 60000, Epochs: 6, SampleSize: 300, Sigma: 4, Method: PLD}
	shared := alone
	shared.Clients, shared.Shared = 5, true
	a, s := solve(t, alone), solve(t, shared)
	many := alone
	many.Epochs *= 5
	m := solve(t, many)
	if *s.PerClient != *a.PerRecord || *s.PerRecord != *m.PerRecord || s.Epsilon != m.Epsilon ||
		s.Run.Rounds != a.Run.Rounds {
		t.Errorf("per client %+v, alone %+v; per record %+v, all rounds %+v", s.PerClient, a.PerRecord, s.PerRecord,
			m.PerRecord)
	}
	two := alone
	two.Clients, two.Shared = 2, true
	if p := solve(t, two); *p.PerClient != *a.PerRecord || !(p.PerRecord.EpsilonUpper > p.PerClient.EpsilonUpper) {
		t.Errorf("two clients: %+v per client, %+v per record", p.PerClient, p.PerRecord)
	}
	// Disjoint data: clients do not matter.
	disjoint := alone
	disjoint.Clients = 5
	if d := solve(t, disjoint); *d.PerRecord != *d.PerClient || *d.PerRecord != *a.PerRecord {
		t.Errorf("disjoint: %+v, %+v", d.PerClient, d.PerRecord)
	}
	// By the closed form: the sample size of n times the epochs, the rounds of one.
	joint := solve(t, Request{Method: ClosedForm, N: 60000, Delta: 1. / 60000, Epochs: 6, Epsilon: 0.5, Clients: 5, Shared: true})
	whole := solve(t, Request{Method: ClosedForm, N: 60000, Delta: 1. / 60000, Epochs: 30, Epsilon: 0.5})
	if joint.SMax != whole.SMax || joint.Run.Rounds != roundsOf(360000, joint.Run.SampleSize) || !joint.Feasible ||
		joint.PerRecord.EpsilonUpper != 0.5 {
		t.Errorf("%+v, %+v", joint, whole)
	}
}

// θ does not determine the batch sizes, so an accountant counts every round at the largest size.
func TestUnevenSizesAreAccountedAtTheLargest(t *testing.T) {
	uneven := solve(t, Request{N: 10000, Delta: 1e-4, SampleSize: 50, Rounds: 500, Sigma: 5, Theta: 2, Method: PLD})
	large := solve(t, Request{N: 10000, Delta: 1e-4, SampleSize: 100, Rounds: 500, Sigma: 5, Method: PLD})
	if *uneven.PerRecord != *large.PerRecord || uneven.Run.MaxSampleSize != 100 || uneven.Run.Computations != 25000 {
		t.Errorf("%+v, %+v", uneven.PerRecord, large.PerRecord)
	}
}

// Given k, σ and ε, every method finds the largest batch size. A tight accountant finds larger ones, and
// replace-one adjacency costs more.
func TestJointPlanByEveryMethod(t *testing.T) {
	size := map[Method]int{}
	for _, m := range []Method{ClosedForm, RDP, PLD} {
		p := solve(t, Request{N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962, Epsilon: 0.0497218, Method: m})
		if !p.Feasible || p.Epsilon > 0.0497218 || p.Accountant != string(m) || p.SMax != p.Run.SampleSize {
			t.Errorf("%s: %+v", m, p)
		}
		size[m] = p.SMax
	}
	if !(size[ClosedForm] < size[RDP] && size[RDP] < size[PLD]) {
		t.Errorf("sample sizes %v", size)
	}
	p := solve(t, Request{N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962, Epsilon: 0.0497218, Adjacency: dp.ReplaceOne})
	if !p.Feasible || p.PerRecord.Adjacency != dp.ReplaceOne || p.SMax >= size[PLD]/2 {
		t.Errorf("%+v", p)
	}
}

func TestCombinationsRefused(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Sigma: 5}, "epochs k = 0, sample size = 0 and rounds = 0, one or two of them must be given"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 1, SampleSize: 10, Rounds: 10, Sigma: 5},
			"epochs k = 1, sample size = 10 and rounds = 10, only two may be given"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: 10}, "sigma and epsilon are both missing"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: 10, Sigma: 5, Epsilon: 1},
			"sigma = 5 and epsilon = 1, only one may be given if two of"},
		{Request{N: 100, Delta: 0.01, Epochs: 1, Sigma: 5, Epsilon: 1, Method: Paper},
			"sigma = 5 and epsilon = 1, only one may be given if method"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Sigma: 5}, "sample size = 10 is not enough: give epochs or steps too"},
		{Request{N: 100, Delta: 0.01, Batches: 10, Sampling: dp.Allocation, Redraw: dp.EachEpoch, Epsilon: 5},
			"batches = 10 is not enough: give epochs or steps too"},
		{Request{N: 100, Delta: 0.01, Rounds: 10, Epsilon: 5}, "rounds = 10 is not enough: give epochs or a batch size too"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 60, Rounds: 10, Sigma: 5, Theta: 2}, "sample size = 60, must be in [1, N/θ = 50]"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: -1, Rounds: 10, Sigma: 5}, "sample size = -1"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: -1, Sigma: 5}, "rounds = -1, must be in [1, "},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 0.05, SampleSize: 10, Sigma: 5}, "sample size = 10, must be at most K = kN = 5"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 0.05, Rounds: 6, Sigma: 5}, "rounds = 6, must be at most K = kN = 5"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Rounds: 3, Sigma: 5},
			"rounds = 3, must be more: then s = K/T = 166 is at most N/θ = 100"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: math.MaxInt / 100, Sigma: 5}, "rounds = 92233720368547758, must be in [1, 9007199254740992]"},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 1, Sigma: 5, Clients: -1}, "clients = -1, must be in [1, 1000000]"},
		{Request{N: 100, Delta: 0.01, Epochs: 1, Sigma: 5, Method: "exact"}, `method = "exact", must be "closed-form"`},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 1, Sigma: 5, Adjacency: "near"}, `adjacency = "near"`},
		{Request{N: 100, Delta: 0.01, Epochs: 1, SampleSize: 10, Sigma: 5, Method: Paper}, `must not be given if method = "paper"`},
		{Request{N: 100, Delta: 0.01, Epochs: 1, Sigma: 1, Method: ClosedForm}, "sigma = 1, must be in [1.4142136"},
		{Request{N: 100, Delta: 0.01, Epochs: 1, Sigma: 1}, "are not enough: give batch size or steps"},
	} {
		if p, err := Solve(t.Context(), tt.r); p != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: want %q, got %v", tt.r, tt.want, err)
		}
	}
	if _, err := Solve(t.Context(), Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 1, Sigma: 5, Adjacency: dp.ReplaceOne}); !errors.Is(err,
		dp.ErrNotCovered) {
		t.Errorf("replace-one by the closed form: %v", err)
	}
}

func TestMethodAccountants(t *testing.T) {
	for m, covered := range map[Method]bool{ClosedForm: true, RDP: true, PLD: true, Printed: false, Paper: false} {
		acc, err := m.Accountant()
		if covered && (err != nil || acc.Name() != string(m)) || !covered && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: %v, %v", m, acc, err)
		}
		if parsed, err := ParseMethod(string(m)); parsed != m || err != nil {
			t.Errorf("%s: %s, %v", m, parsed, err)
		}
	}
}

// The change that a reason suggests makes the plan feasible.
func TestReasonsNameRemedies(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want []string
	}{
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 0.01},
			[]string{"less than one record (treq3): allow ε = ", ", that is σ = ", ", or lower k to "}},
		{Request{N: 100, Delta: 0.01, Epochs: 5, Sigma: 5, Epsilon: 0.01, Method: PLD},
			[]string{"even s = 1 in 500 rounds, for k = 5 epochs, costs ε = ", ", above 0.01: raise σ to ",
				", or lower T to "}},
		{Request{N: 100, Delta: 0.01, SampleSize: 50, Sigma: 2, Epsilon: 0.1, Method: RDP},
			[]string{"even one round of s = 50 costs ε = ", "raise σ to ", "or lower s to "}},
		{Request{N: 1000, Batches: 7, Sigma: 1, Epsilon: 2, Delta: 1e-5, Sampling: dp.Allocation, Redraw: dp.EachEpoch},
			[]string{"even one epoch of t = 7 batches costs ε = 2.5", ", above 2"}},
		{Request{N: 100, Delta: 0.01, Rounds: 1000000, Sigma: 2, Epsilon: 0.1, Method: RDP},
			[]string{"even s = 1 in 1000000 rounds costs ε = ", "raise σ to ", "or lower T to "}},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 50, Rounds: 10, Sigma: 2},
			[]string{"the run of 10 rounds of s = 50 with σ = 2 has no ε", "not covered"}},
		{Request{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: 1000, Epsilon: 0.1},
			[]string{"even σ = 1e+06 has no ε: no epsilon: (treq3)"}},
		{Request{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 100, Rounds: 1000, Epsilon: 0.1},
			[]string{"even σ = 1e+06 costs ε = ", ", by (treq3): lower T to ", ", or lower s to "}},
		{Request{Method: ClosedForm, N: 10000, SampleSize: 150, Rounds: 1, Epsilon: 0.01, Delta: 1e-5},
			[]string{"even σ = 1e+06 costs ε = ", ", by (treq1): lower s to "}}, // (treq3) is met
		{Request{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 1, Sigma: 5, Epsilon: 0.1},
			[]string{"even one round of s = 1 costs ε = ", ", by (treq4): raise σ to 13.6"}},
		{Request{N: 100, Delta: 0.01, Epochs: 0.005, Sigma: 2, Epsilon: 0.1, Method: RDP},
			[]string{"k·N = 0.5 is less than one gradient computation"}},
		{Request{Method: ClosedForm, N: 1000, Delta: 1e-3, Epochs: 0.00099999, Epsilon: 0.1},
			[]string{"k·N = 0.999 is less than one gradient computation"}},
	} {
		p := solve(t, tt.r)
		if p.Feasible || p.Run != nil || p.PerRecord != nil {
			t.Errorf("%+v: %+v", tt.r, p)
		}
		for _, want := range tt.want {
			if !strings.Contains(p.Reason, want) {
				t.Errorf("%+v: no %q in %q", tt.r, want, p.Reason)
			}
		}
		if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"feasible":false`) {
			t.Errorf("%+v: %s, %v", tt.r, text, err)
		}
		if !strings.Contains(p.Statement(), "No guarantee") {
			t.Errorf("%+v: %s", tt.r, p.Statement())
		}
	}
	// The closed form's two, tried.
	p := solve(t, Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 0.01})
	eps, sigma, k := after(t, p.Reason, "allow ε = "), after(t, p.Reason, "σ = "), after(t, p.Reason, "lower k to ")
	for _, r := range []Request{{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: eps},
		{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Sigma: sigma * (1 - 1e-6)},
		{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: k, Epsilon: 0.01}} {
		if q := solve(t, r); !q.Feasible || q.Run.SampleSize != 1 {
			t.Errorf("%q, but %+v: %+v", p.Reason, r, q)
		}
	}
	r := Request{N: 100, Delta: 0.01, Epochs: 5, Sigma: 5, Epsilon: 0.01, Method: PLD}
	p = solve(t, r)
	r.Sigma = after(t, p.Reason, "raise σ to ")
	if q := solve(t, r); !q.Feasible {
		t.Errorf("%q, but %+v", p.Reason, q)
	}
}

// If the closed form has no answer, or one above the target, and RDP meets the target, the reason says so.
func TestReasonsNameASharperMethod(t *testing.T) {
	for _, r := range []Request{
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 9000, Rounds: 10, Sigma: 5},             // rates too large: (treq1), θ²s̄/N = 0.9
		{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 10, Rounds: 1000, Epsilon: 0.1},           // no σ
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 1, Sigma: 5, Epsilon: 0.1},              // no T, by (treq4)
		{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 1000, Rounds: 10, Epsilon: 1, Theta: 2}, // no σ, uneven sizes
		{Method: ClosedForm, N: 100, Rounds: 100000, Sigma: 5, Epsilon: 3, Delta: 1e-2},                 // no s, by (treq3)
		{N: 10000, Delta: 1e-4, SampleSize: 9000, Rounds: 10, Sigma: 5, Method: Printed},                // none in this form either
	} {
		p := solve(t, r)
		if p.Feasible || !strings.Contains(p.Reason, `use method "rdp"`) || !strings.Contains(p.Reason, `or "pld"`) {
			t.Errorf("%+v: %v, %q", r, p.Feasible, p.Reason)
			continue
		}
		// Where σ is what there is none of, that of the largest one says nothing.
		eps := math.Inf(1)
		if r.Sigma == 0 {
			if !strings.Contains(p.Reason, `use method "rdp", which has a σ for this`) {
				t.Errorf("%+v: %q", r, p.Reason)
			}
		} else {
			eps = after(t, p.Reason, `use method "rdp", by which this costs ε = `)
		}
		for _, r.Method = range []Method{RDP, PLD} {
			if q := solve(t, r); !q.Feasible || r.Epsilon == 0 && q.Epsilon > eps {
				t.Errorf("%q, but %+v", p.Reason, q)
			}
		}
	}
	for _, r := range []Request{
		{N: 10000, Delta: 1e-4, SampleSize: 5000, Sigma: 2, Epsilon: 0.01, Method: RDP},
		{Method: ClosedForm, N: 10, Theta: 100, Rounds: 5, Sigma: 5, Epsilon: 1, Delta: 0.01}, // uneven beyond the data
		{Method: ClosedForm, N: 100, Delta: 0.01, SampleSize: 50, Sigma: 2, Epsilon: 0.01},    // too dear for RDP too
	} {
		if p := solve(t, r); strings.Contains(p.Reason, "use method") {
			t.Errorf("%+v: %q", r, p.Reason)
		}
	}
}

// The method Paper suggests no changes: γ as the paper computed it is not a solution, so nothing can be
// promised.
func TestPaperHasNoRemedies(t *testing.T) {
	p := solve(t, Request{N: 1000, Delta: 1e-3, Epochs: 100, Epsilon: 0.1, Method: Paper})
	if p.Feasible || !strings.Contains(p.Reason, "less than one record") || strings.Contains(p.Reason, ":") {
		t.Errorf("%v, %q", p.Feasible, p.Reason)
	}
	for _, m := range []Method{ClosedForm, Printed} {
		r := Request{N: 1000, Delta: 1e-3, Epochs: 100, Epsilon: 0.1, Method: m}
		r.Epochs = after(t, solve(t, r).Reason, "lower k to ")
		if p := solve(t, r); !p.Feasible {
			t.Errorf("%s: %+v: %q", m, r, p.Reason)
		}
	}
}

// If the paper's iteration leaves the range of γ, its method has no plan. The request is not at fault.
func TestPaperDoesNotCoverAll(t *testing.T) {
	r := Request{N: 1000, Epochs: 0.1, Epsilon: 10, Delta: 1e-5, Method: Paper}
	if _, err := Solve(t.Context(), r); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("error %v, want ErrNotCovered", err)
	}
}

// Sizes that grow evenly from 0 to twice their mean, θ = 2, cost RDP no more
// than the plan's events, and more than rounds of the mean size.
func TestEventsBoundUnevenSizes(t *testing.T) {
	p := solve(t, Request{N: 10000, Delta: 1e-4, Epochs: 20, Epsilon: 1, Theta: 2, Method: RDP})
	var grows dp.Ledger
	computed := 0
	for i := range p.Run.Rounds {
		e := leg(max(p.Run.MaxSampleSize*(i+1)/p.Run.Rounds, 1), p.N, 1, p.Sigma)
		computed += e.SampleSize
		grows.Record(e)
	}
	if mean := float64(computed) / float64(p.Run.Rounds); math.Abs(mean/float64(p.Run.SampleSize)-1) > 0.01 {
		t.Fatalf("mean size %v, want %d", mean, p.Run.SampleSize)
	}
	cost := func(events []dp.Event) float64 {
		t.Helper()
		b, err := rdp.Accountant{}.Epsilon(t.Context(), events, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		return b.EpsilonUpper
	}
	uneven, mean := cost(grows.Events()), cost([]dp.Event{leg(p.Run.SampleSize, p.N, p.Run.Rounds, p.Sigma)})
	if planned := cost(p.Events()); planned < uneven || planned != p.PerRecord.EpsilonUpper || uneven <= mean {
		t.Errorf("the plan's events cost %v, of PerRecord %v; uneven sizes %v, their mean %v", planned,
			p.PerRecord.EpsilonUpper, uneven, mean)
	}
	if !strings.Contains(p.Statement(), fmt.Sprintf("(s = %d of N = 10000)", p.Run.SampleSize)) {
		t.Errorf("not the mean size: %s", p.Statement())
	}
}

// Every request, including extreme ones, gets an answer within the target, or a reason.
func TestEveryCombinationHasAnAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	pick := func(lo, hi float64) float64 {
		return []float64{lo, hi, logUniform(r, lo, hi), logUniform(r, lo, hi)}[r.IntN(4)]
	}
	feasible := map[Method]int{}
	for range 600 {
		q := Request{N: int(pick(2, 1e7)), Delta: pick(1e-12, 0.1),
			Method: []Method{ClosedForm, Printed, RDP}[r.IntN(3)]}
		if r.IntN(3) == 0 {
			q.Theta = pick(1, 100)
		}
		if r.IntN(3) == 0 {
			q.Clients, q.Shared = int(pick(1, 100)), true
		}
		if r.IntN(4) > 0 {
			q.Sigma = pick(1.5, 100)
		}
		if q.Sigma == 0 || r.IntN(3) == 0 {
			q.Epsilon = pick(1e-3, 100)
		}
		if r.IntN(2) == 0 {
			q.Epochs = pick(1e-3, 100)
		}
		if r.IntN(2) == 0 {
			q.SampleSize = int(pick(1, float64(q.N)))
		}
		if r.IntN(2) == 0 {
			q.Rounds = int(pick(1, 1e6))
		}
		p, err := Solve(t.Context(), q)
		if q.Validate() != nil {
			if err == nil || p != nil {
				t.Fatalf("%+v: %+v, %v", q, p, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if p.Feasible != (p.Reason == "") || p.Feasible != (p.Run != nil) || p.Feasible != (p.PerRecord != nil) {
			t.Fatalf("%+v: %+v", q, p)
		}
		if !p.Feasible {
			continue
		}
		feasible[q.Method]++
		run := *p.Run
		if (q.SampleSize != 0 || q.Rounds != 0) && (p.SMax < run.SampleSize || p.TMin > run.Rounds) {
			t.Errorf("%+v: %+v is beyond %+v", q, run, p)
		}
		if q.Epsilon != 0 && p.Epsilon > q.Epsilon || q.Sigma != 0 && p.Sigma != q.Sigma || q.SampleSize != 0 &&
			run.SampleSize != q.SampleSize || run.MaxSampleSize > q.N ||
			run.Rounds < 1 || run.Remainder < 0 || p.PerClient.Epsilon > p.PerRecord.Epsilon ||
			p.PerRecord.Epsilon > p.Epsilon {
			t.Errorf("%+v: %+v, %+v", q, p, run)
		}
	}
	for _, m := range []Method{ClosedForm, Printed, RDP} {
		if feasible[m] < 15 {
			t.Errorf("feasible: %v", feasible)
		}
	}
}

// Batch sizes so uneven that their mean would be below one record.
func TestUnevenBeyondTheData(t *testing.T) {
	p := solve(t, Request{N: 10, Theta: 100, Rounds: 5, Sigma: 5, Epsilon: 1, Delta: 0.01, Method: RDP})
	if p.Feasible || !strings.Contains(p.Reason, "theta = 100 is above N = 10") {
		t.Errorf("%+v", p)
	}
	p = solve(t, Request{Method: ClosedForm, N: 10, Theta: 100, Epochs: 5, Epsilon: 1, Delta: 0.01})
	if err := p.Tighten(t.Context(), clt{}); err != nil || p.Feasible || p.Tight.AddOrRemove.LargestSample != nil ||
		p.Tight.ReplaceOne.Reason == "" {
		t.Errorf("%+v, %v", p.Tight, err)
	}
	if f, err := p.Frontier(t.Context(), clt{}, 5); err == nil {
		t.Errorf("%+v", f)
	}
}

func TestWriteTextOfEveryKindOfPlan(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want []string
		not  string
	}{
		{Request{N: 60000, Delta: 1. / 60000, Epochs: 6, SampleSize: 600, Sigma: 1.1, Method: PLD, Clients: 5, Shared: true},
			[]string{"Plan by the PLD accountant", "per client  ε in [", "per record  ε in [",
				"held by 5 clients: 3000 rounds", "certified"}, "γ"},
		{Request{N: 60000, Delta: 1. / 60000, Rounds: 600, Sigma: 3, Epsilon: 2, Theta: 2, Method: RDP},
			[]string{"Plan by the RDP accountant", "θ = 2", "a round may sample up to θs = ",
				"none of which is above"}, "γ"},
		{Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Rounds: 1000, Sigma: 30, Epsilon: 0.1},
			[]string{"γ", "ε = 0.1, of which the run uses ", "simpleF  treq3      met"}, "APPROX"},
		{Request{N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962, Method: Printed, Clients: 2, Shared: true},
			[]string{"NOT a guarantee", "per client           ε about 0.049722 (no guarantee)"}, "≤"},
		{Request{N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962, Method: Paper},
			[]string{"NOT a guarantee", "s = 26", "3.81", "about 0.049722", "APPROX"}, "≤"},
		{Request{Method: ClosedForm, N: 10000, Delta: 1e-4, SampleSize: 5000, Rounds: 10, Sigma: 2},
			[]string{"budget  δ = 0.0001\n", "has no ε", "No guarantee"}, "ε = 0"},
		{Request{N: 10000, Delta: 1e-4, SampleSize: 5000, Epsilon: 0.01, Sigma: 2, Method: RDP},
			[]string{"N = 10000\n", "even one round of s = 5000 costs"}, "epochs"},
	} {
		var b strings.Builder
		p := solve(t, tt.r)
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString(p.Statement())
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
		}
		if strings.Contains(b.String(), tt.not) {
			t.Errorf("%q in\n%s", tt.not, b.String())
		}
	}
}

// after reads the number that follows what in text.
func after(t *testing.T, text, what string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, what)
	var v float64
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&v); !ok || err != nil {
		t.Fatalf("no number after %q in %q", what, text)
	}
	return v
}
