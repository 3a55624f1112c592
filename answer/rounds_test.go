package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
)

// A file of rounds needs a column of noise multipliers, one of counts, and one of sample rates. Columns of
// sizes may replace the sample rates.
func TestColumnsOfRounds(t *testing.T) {
	for header, want := range map[string]string{
		"noise_multiplier,sample_rate,count":              "",
		"noise_multiplier,sample_size,dataset_size,count": "",
		"noise_multiplier,sample_size,count":              "no column sample_rate, nor sample_size and dataset_size",
		"noise_multiplier,dataset_size,count":             "no column sample_rate, nor sample_size and dataset_size",
		"sample_rate,count":                               "no column noise_multiplier",
		"noise_multiplier,sample_rate":                    "no column count",
		"sigma,sample_rate,noise_multiplier,count":        `column "noise_multiplier" is there twice`,
		"noise_multiplier,sample_rate,sigma,count":        `column "noise_multiplier" is there twice`,
	} {
		row := strings.Repeat(",1", strings.Count(header, ","))
		_, err := parseEvents([]byte(header+"\n1"+row+"\n"), dp.Poisson, dp.AddOrRemove)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", header, err, want)
		}
	}
}

// A field may be empty if another column has the same information. Fields after an empty one are still
// read. An empty noise multiplier is refused, because it would mean 0.
func TestEmptyFieldsOfRounds(t *testing.T) {
	const header = "sample_rate,noise_multiplier,sample_size,dataset_size,count\n"
	events, err := parseEvents([]byte(header+",2,10,1000,7\n0.01,3,,,5\n"), dp.Poisson, dp.AddOrRemove)
	if err != nil || len(events) != 2 || events[0].NoiseMultiplier != 2 || events[0].SampleSize != 10 ||
		events[0].DatasetSize != 1000 || events[0].Count != 7 || events[1].Rate != 0.01 || events[1].Count != 5 {
		t.Errorf("%+v, %v", events, err)
	}
	if _, err := parseEvents([]byte(header+"0.01,,,,5\n"), dp.Poisson, dp.AddOrRemove); err == nil ||
		!strings.Contains(err.Error(), "row 2: noise_multiplier is missing") {
		t.Errorf("no noise: %v", err)
	}
}

// A question may contain the text of a file, of each kind that account --events reads. Its answer is the
// same as for the same events in the question. The sample rate of an Opacus file is rounded up.
func TestQuestionHasAFile(t *testing.T) {
	ask := func(account map[string]any) string {
		text, err := json.Marshal(map[string]any{"account": account})
		if err != nil {
			t.Fatal(err)
		}
		var a Answer
		if err := json.Unmarshal(JSON(context.Background(), text), &a); err != nil {
			t.Fatal(err)
		}
		if a.Error != nil {
			return a.Error.Kind + ": " + a.Error.Error()
		}
		return a.Account[0].Statement
	}
	base := func(with string, value any) map[string]any {
		return map[string]any{with: value, "delta": 1e-5, "accountant": "rdp"}
	}
	want := ask(base("events", []map[string]any{{"noise_multiplier": 1.5, "sample_rate": 0.01, "count": 100}}))
	cost := "noise multiplier σ = 1.5. For one record, in all rounds of all clients that hold it, this is (ε, δ)-" +
		"differentially private with ε ≤ 0.46496 at δ = 1e-05"
	if !strings.Contains(want, cost) {
		t.Fatal(want)
	}
	for name, file := range map[string]string{
		"Opacus": `{"history": [[1.5, 0.01, 100]], "mechanism": "rdp"}`,
		"DpEvent": "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, " +
			"event=GaussianDpEvent(noise_multiplier=1.5)), count=100)",
		"rounds":    `[{"sigma": 1.5, "sample_rate": 0.01, "steps": 100}]`,
		"one round": `{"sigma": 1.5, "sample_rate": 0.01, "steps": 100}`,
		"CSV":       "\uFEFFsigma,sample_rate,steps\r\n1.5,0.01,100\r\n",
	} {
		if got := ask(base("file", file)); !strings.Contains(got, cost) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	for file, says := range map[string]string{
		"a model":                           "wrong: ",
		`{"history": []}`:                   "history is empty",
		`{"proposals": [], "frontier": []}`: "this is what propose --json prints",
		`{"sigma": 2, "sample_rate": 0.01, "steps": 9, "target_epsilon": 1, "delta": 1e-5, "epsilon_lower": 0.9, "epsilon_upper": 1, ` +
			`"accountant": "pld", "kind": "interval"}`: "this is what calibrate --json prints",
		`{"filter": {"epsilon": 1, "delta": 1e-5, "orders": [30]}, "events": [{"sigma": 8, "sample_rate": 0.01, "steps": 5}]}`: "file: events: " +
			"a filter is recorded, so rounds may depend on earlier results",
		"sigma,sample_rate,steps\n1.5,0.01,100x": "row 2: count",
		"[" + strings.Repeat(`{"sigma": 1.5, "sample_rate": 0.01, "steps": 1},`, MostEvents) +
			`{"sigma": 1.5, "sample_rate": 0.01, "steps": 1}]`: "501 events, must be from 1 to 500",
	} {
		if got := ask(base("file", file)); !strings.Contains(got, says) {
			t.Errorf("%.40s: %s, want %q", file, got, says)
		}
	}
	q := AccountQuestion{File: `{"releases": [{"events": [{"sigma": 8, "sample_rate": 0.01, "steps": 5}]}], "notes": ["of the file"]}`,
		Notes: []string{"of the question"}}
	if err := q.read(); err != nil || !slices.Equal(q.Notes, []string{"of the question", "of the file"}) {
		t.Errorf("%q, %v", q.Notes, err)
	}
	both := base("file", "x")
	both["events"] = []map[string]any{{"noise_multiplier": 1.5, "sample_rate": 0.01, "count": 1}}
	if got := ask(both); !strings.Contains(got, "only one may be given") {
		t.Errorf("both: %s", got)
	}
}

// Rounds behind a bracket that closes nothing are not left out: the file is refused.
func TestNoRoundIsLeftOutOfJSONLines(t *testing.T) {
	round := `{"sigma": 1, "sample_rate": 0.1, "steps": 10}`
	for _, between := range []string{"}\n", "\n]\n", "]", "\n}", ",", "\x00", "\n/* */"} {
		for _, text := range []string{round + "\n" + round + between + round, round + "\n" + round + between, round + between + round} {
			if h, err := ReadRounds([]byte(text), dp.Poisson, ""); err == nil {
				t.Errorf("%q is read as %d events", text, len(h.Events))
			}
		}
	}
}

// Text that Python prints, such as with single quotes, is read as the same JSON. An error names mechanisms
// that are not Gaussian.
func TestRoundsAsPythonPrintsThem(t *testing.T) {
	read := func(text string) (string, error) {
		h, err := ReadRounds([]byte(text), dp.Poisson, "")
		return fmt.Sprint(h.Events), err
	}
	for printed, written := range map[string]string{
		"{'history': [(1.1, 0.004, 10000)], 'mechanism': 'rdp'}":                `{"history": [[1.1, 0.004, 10000]], "mechanism": "rdp"}`,
		`{"mechanism": "pure", "epsilon": 0.5}`:                                 `[{"mechanism": "pure", "epsilon": 0.5}]`,
		"[(1.1, 0.004, 10000)]":                                                 `[[1.1, 0.004, 10000]]`,
		"{'sigma': 1.1, 'sample_rate': np.float64(0.01), 'steps': np.int32(5)}": `{"sigma": 1.1, "sample_rate": 0.01, "steps": 5}`,
		"{\"sigma\": 1, \"sample_rate\": 0.1, \"steps\": 10}\n{\"sigma\": 2, \"sample_rate\": 0.1, \"steps\": 9}\n": `[{"sigma": 1,
			"sample_rate": 0.1, "steps": 10}, {"sigma": 2, "sample_rate": 0.1, "steps": 9}]`, // JSON Lines
		"[{'sigma': 1.1, 'sample_rate': 0.01, 'steps': 5}]": `[{"sigma": 1.1, "sample_rate": 0.01, "steps": 5}]`,
	} {
		got, err := read(printed)
		want, err2 := read(written)
		if err != nil || err2 != nil || got != want {
			t.Errorf("%s: %s, %v, want %s, %v", printed, got, err, want, err2)
		}
	}
	for text, want := range map[string]string{
		"BudgetAccountant(epsilon=1.0, delta=0, spent_budget=[(0.5, 0)])":                               `"adjacency": "replace-one"`,
		`[{"sigma": 1, "batch_size": 256, "n": 60000, "epochs": 10}]`:                                   `"batch_size"; rounds have adjacency, count`,
		"{\"sigma\": 1, \"sample_rate\": 0.1, \"steps\": 10}\n{\"epsilon\": 2, \"other\": 3, \"x\": 1}": `unknown field "other"`,
		"sigma;sample_rate;steps\n1,1;0,004;100\n":                                                      "CSV with commas between its fields",
		"{'history': [(tensor(1.1), 0.004, 10)]}":                                                       "this is what Python prints, at \"tensor(1.1)",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %q", text, err, want)
		}
	}
	if _, err := read(`{"mechanism": "laplace", "scale": 10}`); err == nil || !strings.Contains(err.Error(), `"scale"`) {
		t.Errorf("%v, must name the wrong key", err)
	}
	acc, err := accountant(Opacus, 0)
	if err != nil || acc.Name() != "pld" {
		t.Errorf("prv is %v, %v, want pld", acc, err)
	}
}
