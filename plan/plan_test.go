package plan

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/testkit"
)

func solve(t *testing.T, r Request) *Plan {
	t.Helper()
	p, err := Solve(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return p
}

func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(r.Float64()*math.Log(hi/lo))
}

// The settings of tables tbl:accountant_comparison_ICML_table_2, _3 and _4,
// Theorem simpleF solved exactly with the corrected γ.
func TestSolvePaperSettings(t *testing.T) {
	tests := []struct {
		n                         int
		k, sigma                  float64
		eps, gamma, printed, size float64
		asym                      int // as the tables print it
		mainHolds                 bool
	}{
		{10000, 5, 19.29962, 0.04972, 3.13103, 3.12524, 31.76, 198, true},
		{60000, 6, 12.10881, 0.15215, 3.68599, 3.66788, 412.78, 3042, true},
		{50000, 7, 6.572, 0.52534, 4.68855, 4.62462, 800.35, 7504, false}, // ε ≥ 0.5
	}
	for _, tt := range tests {
		p := solve(t, Request{Method: ClosedForm, N: tt.n, Delta: 1 / float64(tt.n), Epochs: tt.k, Sigma: tt.sigma})
		near := func(what string, got, want, tol float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tol) {
				t.Errorf("N = %d: %s = %v, want %v", tt.n, what, got, want)
			}
		}
		near("ε", p.Epsilon, tt.eps, 5e-6)
		near("γ", *p.Gamma, tt.gamma, 5e-6)
		near("printed γ", *p.GammaPrinted, tt.printed, 5e-6)
		near("s", *p.SMaxReal, tt.size, 5e-3)
		near("T·s/K", (*p.TMinReal)*(*p.SMaxReal)/(tt.k*float64(tt.n)), 1, 1e-12)
		s, k := int(tt.size), int(tt.k)*tt.n
		if tt.n == 50000 {
			s-- // 800 in whole rounds computes too much for the theorem
		}
		rounds := roundsOf(k, s)
		want := Run{s, s, 0, rounds, rounds * s, 0, float64(s) / float64(tt.n)}
		if p.Run == nil || *p.Run != want {
			t.Errorf("N = %d: run %+v, want %+v", tt.n, p.Run, want)
		}
		if !p.Feasible || p.SMax != int(tt.size) || p.TMin != int(math.Ceil(*p.TMinReal)) || *p.SMaxAsym != tt.asym ||
			p.Binding != "treq3" || p.Theta != 1 || p.Delta != 1/float64(tt.n) {
			t.Errorf("N = %d: %+v", tt.n, p)
		}
		if closedform.Holds(p.Conditions, closedform.Main) != tt.mainHolds {
			t.Errorf("N = %d: Theorem Main: %+v", tt.n, p.Conditions)
		}
	}
}

// With ε given, σ is σ_eq, rounded up. Solving for this σ gives ε back.
func TestSolveForEpsilonAndBack(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 10000, Epochs: 5, Epsilon: 2, Delta: 1e-4})
	if math.Abs(p.Sigma-3.34818) > 5e-6 { // the paper prints 3.032, of √(2 ln(1/δ)/ε)
		t.Errorf("σ = %v", p.Sigma)
	}
	back := solve(t, Request{Method: ClosedForm, N: 10000, Epochs: 5, Sigma: p.Sigma, Delta: 1e-4})
	if math.Abs(back.Epsilon/2-1) > 1e-13 || back.SMax != p.SMax {
		t.Errorf("ε = %v, s = %d, want 2, %d", back.Epsilon, back.SMax, p.SMax)
	}
}

func TestPlanJSON(t *testing.T) {
	text, err := json.Marshal(solve(t, Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	keys := func(m map[string]any) string {
		var ks []string
		for k := range m {
			ks = append(ks, k)
		}
		slices.Sort(ks)
		return strings.Join(ks, " ")
	}
	if got, want := keys(got), "accountant adjacency binding clients conditions delta epochs epsilon feasible gamma "+
		"gamma_printed kind method n per_client per_record run s_max s_max_asym s_max_real sampling shared sigma "+
		"signal t_min t_min_asym t_min_real theta"; got != want {
		t.Errorf("keys %s\nwant %s", got, want)
	}
	if got, want := keys(got["run"].(map[string]any)), "grad_computations max_sample_size remainder rounds "+
		"sample_rate sample_size"; got != want {
		t.Errorf("keys of run %s, want %s", got, want)
	}
	conditions := got["conditions"].([]any)
	if got, want := keys(conditions[0].(map[string]any)), "margin met name theorem"; got != want ||
		len(conditions) != 11 {
		t.Errorf("%d conditions with keys %s, want 11 with %s", len(conditions), got, want)
	}
	if got["adjacency"] != "add-or-remove" || got["sampling"] != "poisson" || got["kind"] != "upper" ||
		got["accountant"] != "closed-form" {
		t.Errorf("statement: %v", got)
	}

	var r Request
	if err := json.Unmarshal([]byte(`{"n": 10000, "epochs": 5, "epsilon": 1, "theta": 2}`), &r); err != nil ||
		r != (Request{N: 10000, Epochs: 5, Epsilon: 1, Theta: 2}) {
		t.Errorf("request %+v, %v", r, err)
	}
}

func TestRequestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Request{Method: ClosedForm, N: 10000, Epochs: 5, Sigma: 10}
	tests := []struct {
		set  func(*Request)
		want []string
	}{
		{func(r *Request) { *r = Request{} }, []string{"N = 0", "k = 0", "both missing"}},
		{func(r *Request) {
			*r = Request{Method: ClosedForm, N: -1, Epochs: nan, Sigma: 1, Epsilon: nan, Delta: 2, Theta: 0.5}
		},
			[]string{"N = -1", "k = NaN", "sigma = 1,", "epsilon = NaN", "delta = 2", "theta = 0.5"}},
		{func(r *Request) { r.Epochs = inf }, []string{"k = +Inf"}},
		{func(r *Request) { r.N, r.Epochs = 1e10, 1e6 }, []string{"2^53"}},
		{func(r *Request) { r.N, r.Epochs, r.SampleSize, r.Rounds, r.Clients = 1e9, 0, 1e6, 1e9, 10 },
			[]string{"must be at most 2^53 gradient computations (of 10 clients)"}},
		{func(r *Request) { r.Sigma = math.Sqrt2 },
			[]string{"sigma = 1.4142135623730951, must be in [1.4142136, 1e+06]: the theorem needs more than √2"}},
		{func(r *Request) { r.Sigma = -5 }, []string{"sigma = -5"}},
		{func(r *Request) { r.Sigma = inf }, []string{"sigma = +Inf"}},
		{func(r *Request) { r.Sigma, r.Epsilon = 0, -1 }, []string{"epsilon = -1"}},
		{func(r *Request) { r.Delta = 1 }, []string{"delta = 1"}},
		{func(r *Request) { r.Delta = -0.1 }, []string{"delta = -0.1"}},
		{func(r *Request) { r.Delta = nan }, []string{"delta = NaN"}},
		{func(r *Request) { r.N = 1 }, []string{"delta is missing, must be given for N = 1: it has a default for N ≥ 100"}},
		{func(r *Request) { r.N = 99 }, []string{"delta is missing, must be given for N = 99"}},
		{func(r *Request) { r.Theta = nan }, []string{"theta = NaN"}},
		{func(r *Request) { r.Theta = inf }, []string{"theta = +Inf"}},
		{func(r *Request) { r.Sigma, r.Epsilon = 0, 1e300 }, []string{"epsilon = 1e+300, must be in [1e-08, 10000]"}},
		{func(r *Request) { r.Sigma, r.Epsilon = 0, 1e-308 }, []string{"epsilon = 1e-308, must be in [1e-08, 10000]"}},
		{func(r *Request) { r.Sigma, r.Epsilon = 0, inf }, []string{"epsilon = +Inf, must be in"}},
		{func(r *Request) { r.Epochs = 1e-300 }, []string{"k = 1e-300, must be in [1e-06, 1e+09]"}},
		{func(r *Request) { r.Epochs = 1e15 }, []string{"k = 1e+15, must be in [1e-06, 1e+09]"}},
		{func(r *Request) { r.Theta = 1e300 }, []string{"theta = 1e+300, must be in [1, 1e+06]"}},
		{func(r *Request) { r.Sigma = 1e308 }, []string{"sigma = 1e+308, must be in [1.4142136, 1e+06]"}},
		{func(r *Request) { r.Delta = 1e-320 }, []string{"delta = 1e-320, must be in [1e-300, 1)"}},
		{func(r *Request) { r.Delta = inf }, []string{"delta = +Inf, must be in [1e-300, 1)"}},
		{func(r *Request) { r.N = 1<<53 + 1 }, []string{"N = 9007199254740993, must be in [1, 2^53 = " +
			"9007199254740992]"}},
	}
	for i, tt := range tests {
		r := good
		tt.set(&r)
		p, err := Solve(t.Context(), r)
		for _, want := range tt.want {
			if err == nil || p != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("test %d: want an error with %q, got %v", i, want, err)
			}
		}
	}
	if p := solve(t, Request{Method: ClosedForm, N: 1, Epochs: 0.5, Sigma: 10, Delta: 0.1}); p.Feasible ||
		!strings.Contains(p.Reason, "gradient computation") {
		t.Errorf("%+v", p)
	}
}

// Within the ranges there is always a plan. Half the numbers are ends of the
// ranges, or next to the pole at √2 and to δ = 1.
func TestSolveNeverFailsWithinTheRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	pick := func(lo, hi float64) float64 {
		switch r.IntN(4) {
		case 0:
			return lo
		case 1:
			return hi
		}
		return min(max(logUniform(r, lo, hi), lo), hi)
	}
	feasible, saturated := 0, 0
	sweeps := testkit.Sweeps(t)
	for range 8000 * sweeps {
		req := Request{Method: ClosedForm, N: int(pick(1, maxCount)), Theta: pick(1, maxTheta)}
		req.Epochs = min(pick(minEpochs, maxEpochs), maxCount/float64(req.N))
		switch r.IntN(4) {
		case 0:
			req.Sigma = pick(closedform.MinSigma, closedform.MaxSigma)
		case 1:
			req.Sigma = math.Sqrt2 + pick(4e-8, 1)
		default:
			req.Epsilon = pick(minEpsilon, maxEpsilon)
		}
		switch r.IntN(3) {
		case 0:
			req.Delta = pick(closedform.MinDelta, math.Nextafter(1, 0))
		case 1:
			req.Delta = 1 - pick(0x1p-53, 0.5)
		default:
			if req.N < minDefaultN {
				req.Delta = 0.5
			}
		}
		p := solve(t, req)
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		if p.Feasible != (p.SMax >= 1) || p.Feasible != (p.Reason == "") || p.Feasible &&
			!closedform.Holds(p.Conditions, closedform.SimpleF) {
			t.Fatalf("%+v: %+v", req, p)
		}
		if p.Feasible {
			feasible++
		}
		if *p.TMinReal > maxCount {
			if saturated++; p.TMin != maxCount || p.Feasible {
				t.Fatalf("%+v: %+v", req, p)
			}
		}
	}
	if feasible < 800*sweeps || saturated < 250*sweeps {
		t.Errorf("%d feasible, %d of more than 2^53 rounds: not the variety wanted", feasible, saturated)
	}
}

// If s_max < 1, the answer is infeasible, with the reason and the conditions at the real values.
func TestNotFeasible(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 0.01})
	if p.Feasible || p.Run != nil || p.SMax != 0 || !(*p.SMaxReal < 1) ||
		!strings.Contains(p.Reason, "less than one record") {
		t.Errorf("%+v", p)
	}
	if !closedform.Holds(p.Conditions, closedform.SimpleF) {
		t.Errorf("the real-valued setting does not meet its own conditions: %+v", p.Conditions)
	}
	text, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(text), `"feasible":false,"reason":"the largest`) ||
		strings.Contains(string(text), `"run"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// K = kN is not lost to rounding: 0.07·100 is 7.000000000000001 in float64,
// 0.29·100 is 28.999999999999996.
func TestComputations(t *testing.T) {
	for _, tt := range []struct {
		n    int
		k    float64
		want int
	}{{100, 0.07, 7}, {100, 0.29, 29}, {3, 1. / 3, 1}, {10, 0.19999, 2}, {10000, 5, 50000}, {10, 0.05, 1}, {49,
		1. / 49 * 3, 3}} {
		if got := epochsCount(tt.k, tt.n); got != tt.want {
			t.Errorf("K of k = %v, N = %d is %d, want %d", tt.k, tt.n, got, tt.want)
		}
	}
}

// For any request, a feasible run meets all conditions of simpleF, and the accountant agrees. A batch size
// larger by one, with all of K, breaks the binding condition.
func TestPlanProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	feasible, treq1 := 0, 0
	for range 20000 {
		req := Request{Method: ClosedForm, N: int(logUniform(r, 2, 1e8)), Epochs: logUniform(r, 1e-3, 1e4)}
		if r.IntN(2) == 0 {
			req.Sigma = math.Sqrt2 + logUniform(r, 1e-3, 1e3)
		} else {
			req.Epsilon = logUniform(r, 1e-4, 1e2)
		}
		if req.N < minDefaultN || r.IntN(2) == 0 {
			req.Delta = logUniform(r, 1e-20, 0.9)
		}
		if r.IntN(2) == 0 {
			req.Theta = 1 + r.ExpFloat64()
		}
		p := solve(t, req)
		if p.Feasible != (p.SMax >= 1) || p.Feasible != (p.Run != nil) || p.Feasible != (p.Reason == "") {
			t.Fatalf("%+v: %+v", req, p)
		}
		if float64(p.TMin) < *p.TMinReal || float64(p.SMax) > *p.SMaxReal || p.Sigma <= math.Sqrt2 {
			t.Fatalf("%+v: rounded to the wrong side: %+v", req, p)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		if !p.Feasible {
			continue
		}
		feasible++
		run := p.Run
		if !closedform.Holds(p.Conditions, closedform.SimpleF) || run.Computations != run.Rounds*run.SampleSize ||
			run.Remainder != 0 || run.Rounds < 1 || run.MaxSampleSize > p.N {
			t.Fatalf("%+v: %+v, %+v", req, p, run)
		}
		if p.Theta == 1 {
			b, err := closedform.Accountant{}.Epsilon(t.Context(), []dp.Event{{
				Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: p.Sigma,
				SampleSize: run.SampleSize, DatasetSize: p.N, Count: run.Rounds,
			}}, p.Delta)
			if errors.Is(err, dp.ErrNotCovered) || err != nil || b.Epsilon > p.Epsilon*(1+1e-7) {
				t.Fatalf("%+v: planned for ε = %v, the accountant says %v, %v", req, p.Epsilon, b.Epsilon, err)
			}
		}
		k := req.Epochs * float64(p.N)
		more := float64(int(*p.SMaxReal) + 1)
		if more > k || p.Theta*more > float64(p.N) {
			continue
		}
		cs, err := closedform.Conditions(closedform.Corrected, closedform.Setting{
			N: p.N, Rounds: k / more, Computed: k, MaxSize: p.Theta * more, Sigma: p.Sigma, Epsilon: p.Epsilon,
			Delta: p.Delta,
		})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(cs, func(c closedform.Condition) bool {
			return c.Theorem == closedform.SimpleF && c.Name == p.Binding
		})
		if cs[i].Met {
			t.Fatalf("%+v: s = %v meets (%s) too", req, more, p.Binding)
		}
		if p.Binding == "treq1" {
			treq1++
		}
	}
	if feasible < 5000 || treq1 < 200 {
		t.Errorf("%d feasible, %d with (treq1) binding: not the variety wanted", feasible, treq1)
	}
}

// Less budget, more epochs or less even sizes never allow larger samples.
func TestPlanIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	for range 5000 {
		req := Request{Method: ClosedForm, N: int(logUniform(r, 1e3, 1e8)), Epochs: logUniform(r, 1, 1e3), Epsilon: logUniform(r, 1e-3, 2)}
		size := *solve(t, req).SMaxReal
		more, uneven := req, req
		more.Epochs *= 1.1
		uneven.Theta = 1.1
		for _, harder := range []Request{more, uneven} {
			if s := *solve(t, harder).SMaxReal; s > size*(1+1e-12) {
				t.Fatalf("%+v: s = %v, %+v: %v", req, size, harder, s)
			}
		}
	}
}

func TestWriteText(t *testing.T) {
	text := func(r Request) string {
		t.Helper()
		var b strings.Builder
		p := solve(t, r)
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String() + p.Statement()
	}
	got := text(Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962})
	if verdict := "Feasible: 1613 rounds of s = 31 with σ = 19.29962 cost a record ε ≤ 0.049722 (closed-form) at " +
		"δ = 0.0001.\n"; !strings.HasPrefix(got, verdict) || strings.Contains(got, "at least T") {
		t.Errorf("the plan does not begin with its verdict, or names another T than the one run:\n%s", got)
	}
	for _, want := range []string{
		"N = 10000, k = 5 epochs\n", "ε = 0.049722, δ = 0.0001", "σ = 19.29962\n",
		"3.13104 (as the paper prints it 3.12525)",
		"1613 rounds of s = 31, rate 0.0031: 50003 gradient computations, 3 more than the epochs", "not a bound",
		"add-or-remove adjacency", "Poisson sampling", "upper bound", "closed-form accountant", "δ = 0.0001",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, name := range []string{"sigma", "delta", "epsilon", "N", "theta", "minK", "minT", "treq1", "treq2", "treq3",
		"treq4"} {
		if !slices.ContainsFunc(strings.Split(got, "\n"), func(line string) bool {
			f := strings.Fields(line)
			return len(f) == 5 && f[1] == name && f[2] == "met"
		}) {
			t.Errorf("condition %s is not shown as met in\n%s", name, got)
		}
	}
	if got := text(Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962, Theta: 2}); !strings.Contains(got, ", mean") ||
		!strings.Contains(got, "up to θs = 14") {
		t.Errorf("θ > 1 is not explained in\n%s", got)
	}
	got = text(Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 0.01})
	if !strings.Contains(got, "No guarantee") || !strings.Contains(got, "not met") ||
		strings.Contains(got, "Privacy,") ||
		!strings.HasPrefix(got, "Not feasible: no run costs at most ε = 0.01 at δ = 0.01") {
		t.Errorf("an infeasible plan reads\n%s", got)
	}
	got = text(Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 1e8, Epsilon: 1e-8, Theta: 10})
	if !strings.Contains(got, "at least T = 2.00001e+26\n") || !strings.Contains(got, "T ≥ 2^53") ||
		strings.Contains(got, "9007199254740992") {
		t.Errorf("more rounds than can be counted read\n%s", got)
	}
	if err := solve(t, Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 1}).WriteText(broken{}); err == nil {
		t.Error("the writer's error is lost")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestUpIsNeverBelow(t *testing.T) {
	for v, want := range map[float64]string{0.04972174: "0.049722", 19.29962: "19.3", 0.1: "0.1", 9.99999: "10",
		1. / 60000: "1.6667e-05", 123456.7: "1.2346e+05"} {
		if got := up(v, 5); got != want {
			t.Errorf("up(%v) = %s, want %s", v, got, want)
		}
	}
	r := rand.New(rand.NewPCG(9, 3))
	for range 20000 {
		v := math.Exp(1300 * (r.Float64() - 0.5))
		var back float64
		if err := json.Unmarshal([]byte(up(v, 5)), &back); err != nil || back < v || back > v*(1+2e-4) {
			t.Fatalf("up(%v) = %v, %v", v, back, err)
		}
	}
}

// The text never shows an allowed ε below a cost that was rounded up.
func TestAllowedIsNotBelowTheCost(t *testing.T) {
	p := solve(t, Request{N: 3000, Delta: 1. / 3000, Epochs: 5, Epsilon: 0.123456, Method: RDP})
	for cost, want := range map[float64]bool{0.1: true, 0.12344: true, 0.123449: false, 0.1234559: false} {
		p.Epsilon = cost
		var text strings.Builder
		if err := p.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "ε = 0.12345, of which the run uses"); got != want {
			t.Errorf("ε = %v: what is allowed is said: %v, want %v", cost, got, want)
		}
	}
}
