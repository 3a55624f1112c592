package plan

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/rng"
)

// fromRun returns rounds of the run given; root "" names nothing.
func fromRun(root string, run uint64) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 10, SampleSize: 20,
		DatasetSize: 10_000, Count: 300, Noise: wholeRun(rng.Name{Root: root, Run: run})}
}

// Further rounds get a run number that the past does not have, of the given root or of the past's last
// seed. The planner cannot draw from a secret root, so it uses one only if asked.
func TestNextLegIsARunOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		past []dp.Event
		root string
		want rng.Name
	}{
		{[]dp.Event{fromRun("", 0)}, "", rng.Name{}},
		{[]dp.Event{fromRun("", 0)}, "seed:3", rng.Name{Root: "seed:3"}},
		{[]dp.Event{fromRun("seed:1", 0)}, "", rng.Name{Root: "seed:1", Run: 1}},
		{[]dp.Event{fromRun("seed:1", 5), fromRun("seed:1", 2), fromRun("", 0)}, "", rng.Name{Root: "seed:1", Run: 6}},
		{[]dp.Event{fromRun("seed:1", 5), fromRun("seed:2", 0)}, "", rng.Name{Root: "seed:2", Run: 1}},
		{[]dp.Event{fromRun("seed:1", 5), fromRun("seed:2", 0)}, "seed:1", rng.Name{Root: "seed:1", Run: 6}},
		{[]dp.Event{fromRun("secret:a", 0)}, "", rng.Name{}},
		{[]dp.Event{fromRun("secret:a", 0)}, "secret:a", rng.Name{Root: "secret:a", Run: 1}},
	} {
		r := NextRequest{Past: c.past, Delta: 1e-4, Epochs: 0.5, Epsilon: 3, Sigma: 10, Root: c.root}
		p, err := Replan(t.Context(), r, pld.Accountant{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Noise != c.want {
			t.Errorf("after %v, root %q: %v, want %v", c.past, c.root, p.Noise, c.want)
		}
		if _, err := dp.Compose(c.past, []dp.Event{p.Event()}); err != nil {
			t.Errorf("after %v: %v", c.past, err)
		}
		if assumed := strings.Contains(p.Statement(), "assumed to be independent"); assumed == (c.want.Known() &&
			c.past[0].Noise.Known() &&
			!slices.ContainsFunc(c.past, func(e dp.Event) bool { return !e.Noise.Known() })) {
			t.Errorf("after %v: %s", c.past, p.Statement())
		}
	}
	shared := fromRun("seed:1", 0)
	shared.NoiseMultiplier = 20
	for want, r := range map[string]NextRequest{
		"share their noise":          {Past: []dp.Event{fromRun("seed:1", 0), shared}},
		"has no run after":           {Past: []dp.Event{fromRun("seed:1", math.MaxUint64)}},
		`root = "seed:x", must have`: {Past: []dp.Event{fromRun("", 0)}, Root: "seed:x"},
	} {
		r.Epochs, r.Epsilon = 1, 1
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A history is read back as written, with names. Other keys of a report are not read.
func TestHistoryKeepsNames(t *testing.T) {
	h := History{Events: []dp.Event{fromRun("seed:1", 0), fromRun("seed:1", math.MaxUint64), fromRun("", 0)}}
	var file strings.Builder
	if err := h.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	report := strings.Replace(file.String(), "{", `{"seconds": 3, "filter": {"epsilon": 1, "delta": 1e-5, `+
		`"orders": [40], "recorded": false, "used_by_past": 0.5},`, 1)
	recorded := strings.Replace(report, `"recorded": false, `, "", 1)
	for name, text := range map[string]string{"a history": file.String(), "a report": report, "a record": recorded} {
		got, err := ReadHistory(strings.NewReader(text), dp.FixedSize, "")
		if err != nil || !slices.Equal(got.Events, h.Events) || (got.Filter != nil) != (name != "a history") ||
			got.Late != (name == "a report") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for want, text := range map[string]string{
		"share their noise":       strings.ReplaceAll(file.String(), "18446744073709551615", "0"),
		"a run = 1.5, must be":    strings.ReplaceAll(file.String(), "18446744073709551615", "1.5"),
		`"releases" occurs twice`: strings.Replace(file.String(), "{", `{"releases": [],`, 1),
		`unknown field "filte"`:   `{"filte": 3, "events": []}`,
		// Among a report's keys, which are not read, a filter is not lost, nor what it says.
		`the key "fliter"`:  strings.Replace(recorded, `"filter"`, `"fliter"`, 1),
		`the key "filters"`: strings.Replace(recorded, `"filter"`, `"filters"`, 1),
		// Nor are rounds lost that stand next to the releases.
		`the key "events" is next to`: strings.Replace(report, "{", `{"events": [{"sigma": 1, "sample_rate": 1, "steps": 9}],`, 1),
		`the key "Events" is next to`: strings.Replace(report, "{", `{"Events": [],`, 1),
		`the key "release"`:           strings.Replace(report, "{", `{"release": [],`, 1),
		`unknown field "recordd"`:     strings.Replace(report, `"recorded"`, `"recordd"`, 1),
		"line 4: ":                    "{\"a\": 1,\n\"releases\": [{\n\"events\": [\n{\"sigma\": \"2\"}]}]}",
	} {
		_, err := ReadHistory(strings.NewReader(text), dp.Poisson, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := fixedEvents(strings.NewReader(recorded), dp.Poisson, ""); err == nil ||
		errors.Is(err, dp.ErrSharedNoise) {
		t.Errorf("a filter is composed: %v", err)
	}
}

// The digest of a recorded filter detects every change of content, but not of layout. Without the digest,
// anybody may have edited the file.
func TestRecordsHaveADigest(t *testing.T) {
	h := History{
		Filter: &rdp.Limits{Epsilon: 0.2, Delta: 1e-5, Orders: []float64{40, 60}},
		Events: []dp.Event{fromRun("seed:1", 0), fromRun("", 0)}, Notes: []string{"the data are SYNTHETIC"},
	}
	var file strings.Builder
	if err := h.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	for from, to := range map[string]string{
		"0.2,": "0.3,", `"count": 300`: `"count": 301`, "60": "61", `"run": 0`: `"run": 1`, "SYNTHETIC": "real",
		"seed:1":           "seed:2",
		`"delta": 0.00001`: `"delta": 0.0001`, `"orders"`: `"recorded": false, "orders"`,
	} {
		changed := strings.Replace(text, from, to, 1)
		if changed == text {
			t.Fatalf("there is no %s in %s", from, text)
		}
		if _, err := ReadHistory(strings.NewReader(changed), dp.Poisson, ""); err == nil ||
			!strings.Contains(err.Error(), "its sha256 does not match its content") {
			t.Errorf("%s for %s: %v", to, from, err)
		}
		edited := regexp.MustCompile(`,\s*"sha256": "[0-9a-f]{64}"`).ReplaceAllString(changed, "")
		if _, err := ReadHistory(strings.NewReader(edited), dp.Poisson, ""); err != nil {
			t.Errorf("%s for %s, without the digest: %v", to, from, err)
		}
	}
	for _, same := range []string{text, strings.ReplaceAll(text, "\n", " "), strings.Replace(text, "0.2,", "2e-1,",
		1)} {
		got, err := ReadHistory(strings.NewReader(same), dp.Poisson, "")
		if err != nil || !slices.Equal(got.Events, h.Events) || !slices.Equal(got.Notes, h.Notes) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A plan with a named root is run 0 of this root.
func TestPlanNamesItsRoot(t *testing.T) {
	p, err := Solve(t.Context(), Request{Method: ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 1, Epsilon: 0.1, Root: "seed:4"})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Events()[0].Noise
	if got != wholeRun(rng.New(4).Name()) || !strings.Contains(p.Statement(), "seed 4, run 0") {
		t.Errorf("%v: %s", got, p.Statement())
	}
	_, err = Solve(t.Context(), Request{Method: ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 1, Epsilon: 0.1, Root: "seed:"})
	if err == nil || !strings.Contains(err.Error(), `root = "seed:"`) {
		t.Error(err)
	}
}

// The cost of a release other than training depends on the adjacency. So a file must name the adjacency,
// unless it is add-or-remove.
func TestOtherReleasesNameTheirAdjacency(t *testing.T) {
	const laplace = `[{"mechanism": "laplace", "noise_multiplier": 10}]`
	for _, sampling := range []dp.Sampling{dp.FixedSize, dp.Shuffle} {
		if _, err := ReadHistory(strings.NewReader(laplace), sampling, ""); err == nil ||
			!strings.Contains(err.Error(), "adjacency is missing") {
			t.Errorf("%s: %v", sampling, err)
		}
	}
	for _, c := range []struct {
		sampling  dp.Sampling
		adjacency dp.Adjacency
	}{{dp.Poisson, ""}, {dp.FixedSize, dp.ReplaceOne}} {
		if _, err := ReadHistory(strings.NewReader(laplace), c.sampling, c.adjacency); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, name := range []string{"laplace", "gaussian"} {
		_, err := ReadHistory(strings.NewReader(`[{"mechanism": "`+name+`"}]`), dp.Poisson, "")
		if err == nil || strings.Count(err.Error(), "noise") != 1 || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%s without noise: %v", name, err)
		}
	}
}

// A report of a training with private bounds lists them among its releases. Reports of older programs do
// not, and are refused.
func TestReportsListPrivateBounds(t *testing.T) {
	const rounds = `{"sampling": "poisson", "noise_multiplier": 2, "sample_rate": 0.01, "count": 10}`
	const bounds = `{"sampling": "none", "noise_multiplier": 0, "count": 1, "mechanism": "pure", "epsilon": 0.5}`
	report := func(events string) string {
		return `{"config": {"bounds_epsilon": 0.5}, "releases": [{"events": [` + events + `]}]}`
	}
	h, err := ReadHistory(strings.NewReader(report(rounds+`, `+bounds)), dp.Poisson, "")
	if err != nil || len(h.Events) != 2 || h.Events[1].Epsilon != 0.5 || h.Events[1].Adjacency != dp.AddOrRemove {
		t.Errorf("%+v, %v", h.Events, err)
	}
	less := strings.Replace(bounds, "0.5", "0.01", 1) // another release, which does not pay for the bounds
	replaced := strings.Replace(bounds, `"count"`, `"adjacency": "replace-one", "count"`, 1)
	for _, events := range []string{rounds, rounds + `, ` + less, rounds + `, ` + replaced} {
		if _, err := ReadHistory(strings.NewReader(report(events)), dp.Poisson, ""); err == nil ||
			!strings.Contains(err.Error(), "bounds_epsilon = 0.5: the bounds of the columns cost this") {
			t.Error(err)
		}
	}
}

// An unknown ε of private bounds is an error, and not counted as 0.
func TestBoundsEpsilonIsANumber(t *testing.T) {
	for _, epsilon := range []string{"null", `"1"`} {
		r := report{Config: []byte(`{"bounds_epsilon": ` + epsilon + `}`)}
		if err := r.checkBounds(nil); err == nil || !strings.Contains(err.Error(), "bounds_epsilon = "+epsilon) {
			t.Errorf("%s: %v", epsilon, err)
		}
	}
}
