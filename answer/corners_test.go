package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"proactivedp/internal/testkit"
	"proactivedp/plan"
)

// corners are the numbers at the ends of what a field may hold, and beyond.
var (
	countCorners = []int{math.MinInt, -1, 0, 1, 2, 3, 100, 60_000, 1e9, 1e9 + 1, math.MaxInt32, math.MaxInt32 + 1,
		1<<53 - 1, 1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt}
	numberCorners = []float64{-math.MaxFloat64, -1, 0, 5e-324, 1e-300, 1e-100, 1e-12, 1e-9, 1e-8, 1e-6, 1e-5, 0.05, 0.5,
		math.Nextafter(1, 0), 1, math.Sqrt2, 1.4142136, 3, 1e3, 1e4, 1e6, 1e9, 1 << 53, 1e18, 1 << 63,
		1e300, math.MaxFloat64}
)

// likely draws a corner, mostly one that the field may have.
func likely[T any](r *rand.Rand, all []T, first, last int) T {
	if r.IntN(8) == 0 {
		return all[r.IntN(len(all))]
	}
	return all[first+r.IntN(last-first)]
}

func someCount(r *rand.Rand) int { return likely(r, countCorners, 2, 14) }

// sometimes is a count that may also not be given.
func sometimes(r *rand.Rand) int {
	if r.IntN(2) == 0 {
		return 0
	}
	return someCount(r)
}

func someNumber(r *rand.Rand, first, last int) float64 {
	if r.IntN(3) == 0 {
		return 0
	}
	return likely(r, numberCorners, first, last)
}

// cornerQuestion draws a question.
func cornerQuestion(r *rand.Rand) Question {
	epsilon, delta, sigma := someNumber(r, 8, 20), someNumber(r, 5, 14), someNumber(r, 11, 21)
	sampling := []string{"", "poisson", "fixed"}[r.IntN(3)]
	adjacency := []string{"", "", "add-or-remove", "replace-one"}[r.IntN(4)]
	var fields map[string]any
	event := func() map[string]any {
		e := map[string]any{"noise_multiplier": sigma, "count": someCount(r), "sampling": sampling,
			"adjacency": adjacency}
		if r.IntN(2) == 0 {
			e["sample_rate"] = someNumber(r, 6, 15)
		} else {
			e["sample_size"], e["dataset_size"] = someCount(r), someCount(r)
		}
		return e
	}
	kind := []string{"plan", "plan", "plan", "account", "calibrate", "tradeoff"}[r.IntN(6)]
	switch kind {
	case "plan":
		fields = map[string]any{"n": someCount(r), "epochs": someNumber(r, 9, 22), "sample_size": sometimes(r),
			"rounds": sometimes(r), "sigma": sigma, "epsilon": epsilon, "delta": delta,
			"theta":     []float64{0, 1, 1.5, 1e6, 1e7, -1}[r.IntN(6)],
			"clients":   []int{0, 1, 7, 1e6, 1e6 + 1, -1}[r.IntN(6)],
			"shared":    r.IntN(2) == 0,
			"method":    []string{"", "closed-form", "rdp", "pld", "paper", "closed-form-printed"}[r.IntN(6)],
			"adjacency": adjacency, "tight": r.IntN(2) == 0, "points": []int{0, 3}[r.IntN(2)], "code": r.IntN(2) == 0}
	case "calibrate":
		fields = map[string]any{"epsilon": epsilon, "delta": delta, "sigma": sigma, "sample_rate": someNumber(r, 6, 15),
			"steps": sometimes(r), "sample_size": sometimes(r), "dataset_size": sometimes(r), "sampling": sampling,
			"adjacency": adjacency, "accountant": []string{"", "pld", "rdp", "gdp", "closed-form"}[r.IntN(5)]}
	case "account":
		fields = map[string]any{"events": []any{event(), event()}[:1+r.IntN(2)], "delta": delta}
		if r.IntN(3) == 0 {
			fields["epsilon"] = epsilon
		}
	default:
		fields = map[string]any{"events": []any{event(), event()}[:1+r.IntN(2)], "delta": delta, "points": 3,
			"epsilons": 2}
	}
	text, err := json.Marshal(map[string]any{kind: fields})
	if err != nil {
		panic(err)
	}
	var q Question
	if err := json.Unmarshal(text, &q); err != nil {
		panic(err)
	}
	return q
}

// wrongNumber finds what no count, rate or bound may be: infinite, none or below 0.
var wrongNumber = regexp.MustCompile(`(?i)\bnan\b|[+-]?\binf(inity)?\b|(^|[ =(,[])-[0-9][0-9.e+]*`)

// checkNumbers reports a number of an answer that is below 0, and a count that is none.
func checkNumbers(t *testing.T, question []byte, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			checkNumbers(t, question, path+"."+key, inner)
		}
	case []any:
		for _, inner := range v {
			checkNumbers(t, question, path+"[]", inner)
		}
	case float64:
		// The gap of a condition may have either sign.
		if v < 0 && !strings.Contains(path, ".conditions") {
			t.Errorf("%s:\n%s = %v", question, path, v)
		}
	case string:
		checkText(t, question, path, v)
	}
}

// checkText is checkNumbers for text. A number of the question may stand there, and the gap of a
// condition.
func checkText(t *testing.T, question []byte, path, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		for _, at := range wrongNumber.FindAllString(line, -1) {
			number := strings.Trim(at, " =(,[")
			ours := strings.Contains(string(question), ":"+number) || strings.Contains(line, "jnp.where") ||
				strings.Contains(line, " met")
			if !ours {
				t.Errorf("%s:\n%s says %q: %s", question, path, number, line)
			}
		}
	}
}

// checkCorner asks one question and looks at every number of the answer, in JSON and in text.
func checkCorner(t *testing.T, q Question) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	question, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	a := ask(ctx, question)
	text, err := json.Marshal(a)
	if err != nil {
		t.Errorf("%s: %v", question, err)
		return
	}
	if a.Error != nil && (a.Error.Kind == Fault || strings.TrimSpace(a.Error.Error()) == "") {
		t.Errorf("%s: %+v", question, a.Error)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, question, "", all)
	for _, w := range texts(a) {
		var out bytes.Buffer
		if err := w.WriteText(&out); err != nil {
			t.Errorf("%s: %v", question, err)
		}
		checkText(t, question, "the text", out.String())
	}
}

type writesText interface{ WriteText(w io.Writer) error }

// texts are the answers that are also written as text.
func texts(a Answer) (all []writesText) {
	if a.Plan != nil {
		all = append(all, a.Plan.Plan)
		if a.Plan.Frontier != nil {
			all = append(all, a.Plan.Frontier)
		}
	}
	if a.Calibrate != nil {
		all = append(all, a.Calibrate)
	}
	if a.Tradeoff != nil {
		all = append(all, a.Tradeoff)
	}
	return all
}

// If an int cannot hold the whole part of k·N, the plan is refused. An earlier version printed
// -9223372036854775808.
func TestHugePlansAreRefusedByName(t *testing.T) {
	for _, r := range []plan.Request{
		{N: 1 << 53, Epochs: 1e6, Epsilon: 3, Delta: 1e-5},
		{N: 1 << 53, Epochs: 1e9, SampleSize: 1, Sigma: 2, Delta: 1e-5},
		{N: 1 << 53, Epochs: 2000, Rounds: 1, Epsilon: 3, Delta: 1e-5, Clients: 1e6, Shared: true},
		{N: 100, SampleSize: 100, Rounds: 1 << 53, Sigma: 2, Delta: 1e-5},
	} {
		err := r.Validate()
		if err == nil || !strings.Contains(err.Error(), "2^53") ||
			strings.Contains(err.Error(), "-9223372036854775808") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// No question at the ends of the ranges gets an answer with a count that overflowed.
func TestCorners(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 4))
	for range 75 * testkit.Sweeps(t) {
		checkCorner(t, cornerQuestion(r))
	}
}

func FuzzCorners(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkCorner(t, cornerQuestion(rand.New(rand.NewPCG(35, seed)))) })
}
