package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// reply is an answer as a reader of JSON sees it.
type reply struct {
	Plan      map[string]any   `json:"plan"`
	Account   []map[string]any `json:"account"`
	Calibrate map[string]any   `json:"calibrate"`
	Tradeoff  map[string]any   `json:"tradeoff"`
	Error     *struct {
		Kind     string           `json:"kind"`
		Problems []string         `json:"problems"`
		Remedies []map[string]any `json:"remedies"`
	} `json:"error"`
}

func put(t *testing.T, ctx context.Context, question string) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal(JSON(ctx, []byte(question)), &r); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return r
}

// An answer can be read from its JSON with its bound. If the JSON has no bound, the answer gets one that
// promises nothing.
func TestAnswersReadBack(t *testing.T) {
	text := JSON(t.Context(), []byte(`{"account": {"delta": 1e-5,
		"events": [{"noise_multiplier": 1, "sample_rate": 0.01, "count": 100}]}}`))
	var got Answer
	if err := json.Unmarshal(text, &got); err != nil || len(got.Account) != len(AccountantNames()) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, a := range got.Account {
		if covered := a.Reason == ""; covered != (a.Bound.Kind != "") || covered && !(a.Bound.Epsilon > 0) ||
			!(a.Bound.EpsilonUpper >= a.Bound.Epsilon) {
			t.Errorf("%+v", a.Bound)
		}
	}
}

// The answer to each question is in the field with the question's name, and no other field is set.
func TestQuestionsHaveAnswers(t *testing.T) {
	r := put(t, t.Context(),
		`{"plan": {"n": 10000, "epochs": 5, "sigma": 19.29962, "method": "closed-form", "tight": true, "points": 4, "code": true}}`)
	if r.Error != nil || r.Plan["feasible"] != true || len(r.Plan["frontier"].(map[string]any)["rows"].([]any)) < 4 ||
		len(r.Plan["code"].([]any)) != 6 {
		t.Errorf("%+v", r)
	}
	r = put(t, t.Context(), `{"account": {"events": [{"noise_multiplier": 1.1, "sample_rate": 0.004, "count": 10000}],
		"delta": 1e-5}}`)
	if len(r.Account) != 5 || r.Account[0]["accountant"] != "pld" || r.Account[0]["epsilon_upper"].(float64) > 1.8416 {
		t.Errorf("account: %+v", r)
	}
	r = put(t, t.Context(), `{"account": {"events": [{"noise_multiplier": 1.1, "sample_rate": 0.004, "count": 10000}],
		"epsilon": 2, "accountant": "rdp"}}`)
	if len(r.Account) != 1 || r.Account[0]["delta_upper"].(float64) > 1.2e-5 {
		t.Errorf("account for δ: %+v", r)
	}
	r = put(t, t.Context(), `{"calibrate": {"epsilon": 2, "delta": 1e-5, "sample_rate": 0.01, "steps": 10000}}`)
	if sigma, _ := r.Calibrate["sigma"].(float64); sigma < 2.12 || sigma > 2.13 {
		t.Errorf("calibrate: %+v", r)
	}
	r = put(t, t.Context(), `{"tradeoff": {"events": [{"noise_multiplier": 2, "sample_rate": 0.01, "count": 100}],
		"delta": 1e-5, "points": 11, "accuracy": 0.01}}`)
	if lines,
		_ := r.Tradeoff["lines"].([]any); len(lines) < 3 || len(lines[0].(map[string]any)["points"].([]any)) != 12 {
		t.Errorf("%+v", r)
	}
}

// An invalid question gets an answer that says why it is invalid, and which kind of error it is.
func TestWrongQuestionsAreTold(t *testing.T) {
	for question, want := range map[string][2]string{
		``:   {Wrong, "it is empty, must be a JSON value"},
		`{}`: {Wrong, "0 questions"},
		`{"plan": {"n": 10, "epochs": 1, "epsilon": 1}, "account": {"events": []}}`: {Wrong,
			"2 questions"},
		`{"plan": {"n": 10000, "epoch": 5}}`: {Wrong,
			`unknown field "epoch"`},
		`{"plan": {"n": 10000, "epochs": 5, "n": 1}}`: {Wrong,
			"occurs twice"},
		`{"plan": {"n": 1e30, "epochs": 5}}`: {Wrong,
			"must be a whole number"},
		`{"plan": {"n": 10000, "epochs": 5, "sigma": 20, "points": 1, "accuracy": 9}}`: {Wrong,
			"points = 1"},
		`{"plan": {"n": 10000, "epochs": 5, "epsilon": 1, "method": "closed-form", "adjacency": "replace-one"}}`: {NotCovered,
			"must be"},
		`{"calibrate": {"epsilon": 1e-3, "delta": 1e-9, "sigma": 0.5, "sample_rate": 0.5}}`: {Infeasible,
			"no steps"},
		`{"calibrate": {"epsilon": 1, "delta": 1e-9, "sigma": 1, "steps": 9, "accountant": "pdl"}}`: {Wrong,
			"did you mean pld"},
		`{"account": {"events": [], "delta": 2}}`: {Wrong,
			"delta = 2"},
		`{"account": {"events": [{"noise_multiplier": 1}], "epsilon": 1}}`: {Wrong, "event 0"},
		`{"account": {"events": [{"noise_multiplier": 1}], "epsilon": 1, "delta": 0.1}}`: {Wrong,
			"only one"},
		`{"tradeoff": {"events": [{"noise_multiplier": 1}], "delta": 0.1, "points": 1e5}}`: {Wrong, "points"},
		`{"plan": {"n": 10000, "epochs": 5, "epsilon": 1}} x`: {Wrong,
			"more text after"},
		`[` + strings.Repeat(`[`, 20000): {Wrong, "JSON"},
		`"` + strings.Repeat(`x`, MaxQuestionBytes) + `"`: {Wrong,
			"must be at most"},
	} {
		r := put(t, t.Context(), question)
		if r.Error == nil || r.Error.Kind != want[0] || !strings.Contains(strings.Join(r.Error.Problems, "\n"),
			want[1]) {
			t.Errorf("%.90s: %+v, want %s with %q", question, r.Error, want[0], want[1])
		}
	}
	r := put(t, t.Context(), `{"calibrate": {"epsilon": 1e-3, "delta": 1e-9, "sigma": 0.5, "sample_rate": 0.5}}`)
	first := r.Error.Remedies[0]
	if len(r.Error.Remedies) != 2 || first["change"] != "sigma" || first["to"].(float64) < 0.5 {
		t.Errorf("remedies %+v", r.Error.Remedies)
	}
}

// If a question causes a panic, the panic becomes its answer, and the next question is answered as usual.
func TestPanicsAreAnswers(t *testing.T) {
	a := recovered(func() Answer { panic("planted") })
	if a.Error == nil || a.Error.Kind != Fault || !strings.Contains(a.Error.Problems[0], "planted") {
		t.Errorf("%+v, want a fault", a)
	}
}

// A question whose time is up gets an answer that says so, long before it would be answered.
func TestQuestionsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	r := put(t, ctx,
		`{"plan": {"n": 100000000, "epochs": 500, "epsilon": 3, "method": "pld", "tight": true, "points": 1000}}`)
	if r.Error == nil || r.Error.Kind != Ended || time.Since(start) > time.Minute {
		t.Errorf("after %v: %+v, want %s", time.Since(start), r.Error, Ended)
	}
}

// The curves of any rounds take only seconds. For small sample rates and little noise, they once took 48 s
// of processor time, because each of 200 values of ε needed its own integration path.
func TestCurvesOfRareSamplesEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	r := put(t, ctx, `{"tradeoff": {"delta": 1e-5,
		"events": [{"noise_multiplier": 0.5, "sample_rate": 1e-6, "count": 1000}]}}`)
	if r.Error != nil {
		t.Error(r.Error.Problems)
	}
}

// The attacker's success is bounded by e^ε·α + δ (Dong, Roth, Su 2022, Proposition 2.5), with the ε and δ
// that were asked for, or with the certified ε if that is smaller.
func TestOdds(t *testing.T) {
	o := odds(dp.Bound{EpsilonUpper: 0.5, DeltaUpper: 1e-5, Accountant: "x"})
	if want := math.Exp(0.5)*0.05 + 1e-5; math.Abs(o.TruePositive-want) > 1e-12 {
		t.Errorf("odds %v, want %v", o.TruePositive, want)
	}
	if odds(dp.Bound{EpsilonUpper: math.Inf(1)}) != nil {
		t.Error("odds without a guarantee")
	}
	loose := put(t, t.Context(), `{"plan": {"n": 10000, "epochs": 5, "epsilon": 0.5, "method": "closed-form"}}`).Plan["odds"].(map[string]any)
	tight := put(t, t.Context(),
		`{"plan": {"n": 10000, "epochs": 5, "epsilon": 0.5, "method": "closed-form", "tight": true}}`).Plan["odds"].(map[string]any)
	if loose["by"] != "closed-form" || tight["by"] != "pld" ||
		!(tight["true_positive"].(float64) < loose["true_positive"].(float64)) {
		t.Errorf("odds %v and certified %v", loose, tight)
	}
}

// An accountant that certifies no ε makes no certified curves.
func TestCurvesNeedAnUpperEnd(t *testing.T) {
	rounds := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2,
		Rate: 0.01, Count: 100}}
	q := TradeoffQuestion{Events: rounds, Delta: 1e-5}
	if _, err := q.curves(t.Context(), gdp.Accountant{}, []float64{0, 0.5, 1}); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("curves by an approximation: %v", err)
	}
}

// Any text gets an answer in JSON, which has exactly one field.
func FuzzJSON(f *testing.F) {
	for _, q := range []string{
		`{"plan": {"n": 10000, "epochs": 5, "sigma": 19.3}}`,
		`{"account": {"events": [{"noise_multiplier": 1}], "delta": 0.1}}`,
		`{"calibrate": {"epsilon": 2, "delta": 1e-5, "sample_rate": 0.01, "steps": 10}}`, `{"tradeoff": null}`,
		`{"plan":{}}`,
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, question string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var fields map[string]json.RawMessage
		text := JSON(ctx, []byte(question))
		if err := json.Unmarshal(text, &fields); err != nil || len(fields) != 1 {
			t.Errorf("%q is answered by %s: %v", question, text, err)
		}
		if strings.Contains(string(text), fmt.Sprintf("%q", Fault)) {
			t.Errorf("%q: %s", question, text)
		}
	})
}

// The commands of a plan have every setting that is not the usual one, so that they print the same plan and its cost.
func TestCommandsHaveEverySetting(t *testing.T) {
	q := PlanQuestion{Accuracy: 0.5, Request: plan.Request{N: 100, Epochs: 2, SampleSize: 3, Rounds: 4, Sigma: 5, Epsilon: 6, Delta: 0.1,
		Theta: 7, Method: plan.RDP, Adjacency: dp.ReplaceOne, Sampling: dp.Allocation, Batches: 8, Redraw: dp.Once, Group: 9, Clients: 10,
		Shared: true, Root: "seed:1"}}
	const all = "proactivedp plan --n 100 --epochs 2 --batch-size 3 --steps 4 --noise-multiplier 5 --target-epsilon 6 --delta 0.1 " +
		"--theta 7 --method rdp --adjacency replace-one --sampling allocation --batches 8 --redraw once --group 9 --clients 10 --shared " +
		"--root seed:1 --accuracy 0.5"
	if got := strings.Join(strings.Fields(strings.ReplaceAll(q.planCommand(), "\\\n", "")), " "); got != all {
		t.Errorf("%s\nwant %s", got, all)
	}
	round := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, SampleSize: 5, DatasetSize: 50, Count: 7}
	replaced, fixed, group, allocated := round, round, round, round
	replaced.Adjacency, group.Group = dp.ReplaceOne, 3
	fixed.Sampling, fixed.Adjacency = dp.FixedSize, dp.ReplaceOne
	allocated.Sampling, allocated.Redraw, allocated.Rate, allocated.SampleSize = dp.Allocation, dp.Once, 0.1, 0
	for want, e := range map[string]dp.Event{
		" --batch-size 5 --n 50 --steps 7 --delta 0.001":                            round,
		" --batch-size 5 --n 50 --steps 7 --delta 0.001 --adjacency replace-one":    replaced,
		" --batch-size 5 --n 50 --steps 7 --delta 0.001 --sampling fixed":           fixed,
		" --batch-size 5 --n 50 --steps 7 --delta 0.001 --group 3":                  group,
		" --batches 10 --steps 7 --delta 0.001 --sampling allocation --redraw once": allocated,
	} {
		for accuracy, end := range map[float64]string{0: "", pld.DefaultAccuracy: "", 1.5 * pld.DefaultAccuracy: " --accuracy 0.0015"} {
			q := PlanQuestion{Accuracy: accuracy}
			got := strings.Join(strings.Fields(strings.ReplaceAll(q.accountCommand(e, 0.001), "\\\n", "")), " ")
			if want := "proactivedp account --noise-multiplier 2" + want + end; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	}
}

// The commands of a plan say what they are for, even if the plan is not feasible and there is nothing to
// run.
func TestCommandsOfAPlanThatIsNotFeasible(t *testing.T) {
	for epsilon, feasible := range map[float64]bool{0.5: true, 1e-6: false} {
		a, err := Solve(t.Context(), PlanQuestion{Code: true,
			Request: plan.Request{N: 10000, Epochs: 5, Epsilon: epsilon, Root: "my root's", Method: plan.ClosedForm}})
		if err != nil || a.Feasible != feasible {
			t.Fatalf("%+v, %v", a, err)
		}
		c := a.Code[0]
		caveats := strings.Join(c.Caveats, " ")
		for what, said := range map[string]bool{
			"the cost": strings.Contains(caveats, "the cost of its run"), "train": strings.Contains(caveats, "train"),
			"account": strings.Contains(c.Text, "proactivedp account"),
		} {
			if said != feasible {
				t.Errorf("feasible: %v, and of %s it says: %v", feasible, what, said)
			}
		}
		if !strings.Contains(c.Text, `--root 'my root'\''s'`) {
			t.Errorf("%q lacks the root of the question", c.Text)
		}
	}
}

// A question may ask for δ at ε = 0, but not at an ε that is negative or not finite.
func TestEpsilonOfAnAccountQuestion(t *testing.T) {
	events := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.01, Count: 10}}
	for eps, good := range map[float64]bool{
		0: true, 1: true, -1e-300: false, -1: false, math.Inf(1): false, math.NaN(): false,
	} {
		all, err := Account(t.Context(), AccountQuestion{Events: events, Epsilon: &eps})
		if !good {
			if want := fmt.Sprintf("epsilon = %v, must be finite and not negative", eps); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("ε = %v: error %v, want %q", eps, err, want)
			}
			continue
		}
		if err != nil || !(all[0].Bound.DeltaUpper > 0) {
			t.Errorf("ε = %v: %+v, %v", eps, all, err)
		}
	}
}
